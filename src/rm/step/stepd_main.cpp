/* elastic-stepd FOLDER: supervises one step of a job (stepd.h).  elasticd starts it; it is of no
 * use by hand. */

#include <cstdio>
#include <cstring>
#include <exception>

#include "base/log.h"
#include "step/stepd.h"

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        printf("elastic-stepd %s\n", ELASTIC_VERSION);
        return 0;
    }
    if (argc != 2) {
        fprintf(stderr, "usage: elastic-stepd FOLDER (elasticd calls it)\n");
        return 2;
    }
    try {
        return elastic::rm::Stepd(argv[1]).run();
    } catch (const std::exception &exception) {
        elastic::rm::log_line(elastic::rm::LogLevel::ERROR, exception.what(),
                              {{"folder", argv[1]}});
        return 1;
    }
}
