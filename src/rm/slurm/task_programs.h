/*
 * The file of srun --multi-prog: a line for each program, with the ranks that run it, such as
 *
 *     0-2,5   ./server --rank %t      # %t: the rank, %o: its position in this list
 *     *       ./worker                # all others: the last line
 *
 * Quotes keep blanks in a word, single ones also % and #; a backslash at the end of a line joins
 * it with the next one.  Pure.
 */

#ifndef ELASTIC_RM_SLURM_TASK_PROGRAMS_H_INCLUDED
#define ELASTIC_RM_SLURM_TASK_PROGRAMS_H_INCLUDED

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace elastic::rm {

/* The words of mpiexec carry the file to each process. */
constexpr size_t TASK_PROGRAMS_BYTES_MAX = 64 * 1024;

class TaskPrograms {
  public:
    /* An error names the line. */
    static Result<TaskPrograms> parse(const std::string &text);

    /* The program of this rank and its arguments; empty: no line has it. */
    std::vector<std::string> words_of(int rank) const;
    /* The first of so many ranks without a program; -1: each has one. */
    int first_without(int ranks) const;

  private:
    /* A % in single quotes is stored as QUOTED_PERCENT. */
    static constexpr char QUOTED_PERCENT = '\1';
    struct Line {
        std::vector<int> ranks;         /* empty: all others */
        std::vector<std::string> words;
    };
    static Result<Line> parse_line(const std::string &text);
    const Line *line_of(int rank) const;

    std::vector<Line> lines_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_TASK_PROGRAMS_H_INCLUDED */
