/* The command epop: SPEC-epop E1.  `epop --help` explains how. */

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "archive.h"
#include "driver.h"

enum { NO_PROGRAM = 2 };        /* exit code */

typedef struct {
    bool check, print;
} options_t;

static void help(FILE * out)
{
    fputs("usage: epop [OPTIONS] PROGRAM [ARGUMENTS]\n"
          "\n"
          "Runs an elastic-phase oriented program, usually as mpiexec -n 4 epop PROGRAM.  PROGRAM "
          "is an\n"
          "archive: the shared object PROGRAM, PROGRAM.epop or PROGRAM.so.\n"
          "\n"
          "  --check    compare the results of conditions and branches of all processes, each "
          "time, and whether\n"
          "             the array of elements remains as it is\n"
          "  --print    write the program's structure as JSON, and run nothing\n"
          "  --help     this text\n", out);
}

static options_t read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"check", no_argument, NULL, 'c'}, {"print", no_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}
    };
    options_t options = { false, false };
    int letter;

    while ((letter = getopt_long(argc, argv, "+h", known, NULL)) != -1) {
        switch (letter) {
            case 'c':
                options.check = true;
                break;
            case 'p':
                options.print = true;
                break;
            case 'h':
                help(stdout);
                exit(0);
            default:
                exit(NO_PROGRAM);
        }
    }
    return options;
}

static int refuse(const char *name, const char *why)
{
    fprintf(stderr, "epop: %s: %s\n", name, why);
    return NO_PROGRAM;
}

int main(int argc, char **argv)
{
    char path[PATH_MAX], why[PATH_MAX + 300];
    const options_t options = read_options(argc, argv);

    if (optind == argc) {
        help(stderr);
        return NO_PROGRAM;
    }
    const char *name = argv[optind];
    if (!epop_archive_find(name, path, sizeof(path)))
        return refuse(name, "there is no such file, nor one with the ending .epop or .so");
    program_t *(*get) (void) = epop_archive_open(path, why, sizeof(why));
    if (!get)
        return refuse(path, why);
    program_t *program = get();
    if (!epop_program_is_whole(program, why, sizeof(why)))
        return refuse(path, why);
    argc -= optind;
    argv += optind;
    optind = 1;         /* the program may parse its own options */
    if (options.print) {
        epop_program_print(stdout, program, program->name ? program->name : name);
        return 0;
    }
    return epop_drive(program, argc, argv, options.check);
}
