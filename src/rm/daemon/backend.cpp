/* See backend.h: the kinds of back end that there are. */

#include "daemon/backend.h"

#include "daemon/hosts_backend.h"
#include "daemon/local_backend.h"
#include "daemon/slurm_backend.h"

namespace elastic::rm {

namespace {

/* What backend.kind may be is said in config.cpp; a kind without a line here is not built. */
struct Kind {
    const char *name;
    std::unique_ptr<Backend> (*make)(const Settings &settings, Loop &loop);
};

template <class Each> std::unique_ptr<Backend> make(const Settings &settings, Loop &loop)
{
    if constexpr (std::is_constructible_v<Each, const Settings &, Loop &>)
        return std::make_unique<Each>(settings, loop);
    else
        return std::make_unique<Each>(settings);
}

constexpr Kind KINDS[] = {
    {"local", make<LocalBackend>},
    {"hosts", make<HostsBackend>},
    {"slurm", make<SlurmBackend>},
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
    return Error{"backend.kind is \"" + settings.backend + "\", which this elasticd is built without; it has: " + built};
}

}  // namespace elastic::rm
