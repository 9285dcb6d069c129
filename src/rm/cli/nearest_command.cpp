/* See nearest_command.h. */

#include "cli/nearest_command.h"

#include <algorithm>

namespace elastic {

namespace {

constexpr int SLIPS_MAX = 2;

constexpr std::pair<const char *, const char *> OTHER_NAMES[] = {
    {"srun", "run"},       {"sbatch", "submit"},   {"salloc", "alloc"},   {"scancel", "cancel"},
    {"squeue", "queue"},   {"sinfo", "nodes"},     {"sacct", "history"},  {"sattach", "attach"},
    {"scontrol", "show"},  {"sprio", "queue"},     {"sstat", "loops"},    {"sreport", "report"},
    {"smap", "top"},       {"kill", "cancel"},     {"list", "queue"},     {"status", "queue"},
    {"jobs", "queue"},     {"qsub", "submit"},     {"qstat", "queue"},    {"qdel", "cancel"},
    {"ls", "queue"},       {"stat", "show"},       {"info", "show"},      {"stop", "cancel"},
    {"delete", "cancel"},  {"rm", "cancel"},       {"start", "run"},      {"exec", "run"},
    {"help", "--help"},    {"shell", "alloc"},     {"ping", "version"},   {"stats", "report"},
    {"bsub", "submit"},    {"log", "events"},      {"logs", "attach"},    {"node", "nodes"},
};

}  // namespace

int edit_distance(const std::string &x, const std::string &y)
{
    /* rows[i][j]: for the first i letters of x and the first j of y */
    std::vector<std::vector<int>> rows(x.size() + 1, std::vector<int>(y.size() + 1));
    for (size_t i = 0; i <= x.size(); i++) {
        for (size_t j = 0; j <= y.size(); j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = static_cast<int>(i + j);
                continue;
            }
            rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1,
                                   rows[i - 1][j - 1] + (x[i - 1] != y[j - 1])});
            if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
                rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
        }
    }
    return rows[x.size()][y.size()];
}

std::string nearest_command(const std::string &word, const std::vector<std::string> &commands)
{
    constexpr size_t WORD_MAX = 20;
    for (const auto &[other, command] : OTHER_NAMES) {
        if (word == other)
            return command;
    }
    std::string nearest;
    int fewest = SLIPS_MAX + 1;
    for (const std::string &command : commands) {
        int slips = word.size() <= WORD_MAX ? edit_distance(word, command) : fewest;
        if (slips < fewest && static_cast<size_t>(slips) < command.size() - 1) {
            fewest = slips;
            nearest = command;
        }
    }
    return nearest;
}

}  // namespace elastic
