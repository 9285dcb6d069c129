/* Fuzzes texts of Slurm: no crash, no access out of bounds, and parsed data are equal after writing
 * and parsing again. */

#include <cstdlib>

#include "backend/slurm/slurm_launch.h"
#include "backend/slurm/slurm_text.h"

using namespace elastic::rm;

namespace {

void require(bool condition)
{
    if (!condition)
        abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string_view text(reinterpret_cast<const char *>(data), size);
    auto jobs = parse_jobs(text, "m");
    for (const SlurmJob &job : jobs ? jobs.value() : std::vector<SlurmJob>()) {
        if (job.tag)
            require(parse_tag(format_tag(*job.tag)) == job.tag);
    }
    auto nodes = parse_nodes(text, "m");
    for (const SlurmNode &node : nodes ? nodes.value() : std::vector<SlurmNode>())
        require(!node.name.empty() && node.cores > 0);
    if (auto tag = parse_tag(text))
        require(parse_tag(format_tag(*tag)) == tag);
    parse_config(text);
    find_slurm_job(text, "h1");
    return 0;
}
