/*
 * The #SBATCH lines of a script, as options of `elastic submit`: an ordinary Slurm script of a
 * rigid job is submitted unchanged.  Options without effect are reported, never dropped silently.
 * doc/user/slurm-users.md has the same as a table.  Pure.
 */

#ifndef ELASTIC_CLI_SLURM_LINES_H_INCLUDED
#define ELASTIC_CLI_SLURM_LINES_H_INCLUDED

#include <string>
#include <vector>

#include "base/result.h"

namespace elastic {

struct SlurmOptions {
    std::vector<std::string> words;     /* of `elastic submit` */
    std::vector<std::string> notes;     /* ignored options, and why; for people */
    bool any = false;                   /* the script has such lines */
};

/* Why elastic has no such option of sbatch's, such as "-A" or "--qos"; empty: sbatch has none
 * either, or elastic has one. */
std::string why_not_honoured(const std::string &option);

/* From the head of a script.  An error names the line. */
Result<SlurmOptions> slurm_options(const std::string &script);

}  // namespace elastic

#endif /* ELASTIC_CLI_SLURM_LINES_H_INCLUDED */
