/*
 * elastic-stepd: supervises one step of a job (stepd.h).  Users do not start it.
 *
 *   elastic-stepd FOLDER       elasticd starts it; descriptor 3 listens in the step's folder
 *   elastic-stepd --service    a service manager starts it; descriptor 3 is elasticd's connection
 */

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "base/log.h"
#include "step/start_service.h"
#include "step/stepd.h"

namespace elastic::rm {
namespace {

int run_service()
{
    auto request = receive_start_request(STEPD_LISTEN_FD);
    if (!request) {
        log_line(LogLevel::ERROR, request.error());
        return 1;
    }
    dup2(request.value().listening.get(), STEPD_LISTEN_FD);
    request.value().listening.reset();
    return Stepd(request.value().folder, true).run();
}

}  // namespace
}  // namespace elastic::rm

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        printf("elastic-stepd %s\n", ELASTIC_VERSION);
        return 0;
    }
    if (argc != 2) {
        fprintf(stderr, "usage: elastic-stepd FOLDER | --service (elasticd calls it)\n");
        return 2;
    }
    try {
        return strcmp(argv[1], "--service") ? elastic::rm::Stepd(argv[1], false).run()
                                            : elastic::rm::run_service();
    } catch (const std::exception &exception) {
        elastic::rm::log_line(elastic::rm::LogLevel::ERROR, exception.what(),
                              {{"argument", argv[1]}});
        return 1;
    }
}
