/* See backend.h: the available kinds of back end. */

#include "backend/backend.h"

#include "backend/hosts/hosts_backend.h"
#include "backend/local/fixed_backend.h"
#include "backend/slurm/slurm_backend.h"

namespace elastic::rm {

namespace {

using Made = std::unique_ptr<Backend>;

/* setting_table.cpp lists the values of backend.kind ("nested" is selected only by --nested); a
 * kind without a line here is not built. */
struct Kind {
    const char *name;
    Made (*make)(const Settings &settings, Loop &loop);
};

constexpr Kind KINDS[] = {
    {"local", make_local_backend},
    {"nested", make_nested_backend},
    {"hosts",
     [](const Settings &settings, Loop &loop) -> Made {
         return std::make_unique<HostsBackend>(settings, loop);
     }},
    {"slurm",
     [](const Settings &settings, Loop &loop) -> Made {
         return std::make_unique<SlurmBackend>(settings, loop);
     }},
};

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(const Settings &settings, Loop &loop)
{
    std::string built;
    for (const Kind &kind : KINDS) {
        if (settings.backend == kind.name)
            return kind.make(settings, loop);
        built += (built.empty() ? "" : ", ") + std::string(kind.name);
    }
    return Error{"backend.kind is \"" + settings.backend +
                 "\", which this elasticd is built without; it has: " + built};
}

}  // namespace elastic::rm
