/* See options.h. */

#include "options.h"

#define SCHEDULE_BYTES_MAX (1024 * 1024)

struct HYD_step_options HYD_step_options;
int HYD_step_reading_config = 0;

void HYD_step_option_error(const char *option, const char *error)
{
    fflush(stdout);
    /* The core's messages may already begin with the option's name. */
    if (!strncmp(error, option, strlen(option)))
        fprintf(stderr, "mpiexec: %s\n", error);
    else
        fprintf(stderr, "mpiexec: %s: %s\n", option, error);
    exit(1);
}

static char *read_schedule(const char *name)
{
    char error[HYDRA_MAX_PATH + 128];
    FILE *file = fopen(name, "r");

    if (!file) {
        MPL_snprintf(error, sizeof(error), "unable to read %s (%s)", name, MPL_strerror(errno));
        HYD_step_option_error("--adapt-schedule", error);
    }
    char *text = MPL_malloc(SCHEDULE_BYTES_MAX + 1, MPL_MEM_PM);
    size_t length = text ? fread(text, 1, SCHEDULE_BYTES_MAX + 1, file) : 0;
    if (!text || ferror(file) || length > SCHEDULE_BYTES_MAX) {
        MPL_snprintf(error, sizeof(error), "%s: %s", name, length > SCHEDULE_BYTES_MAX ?
                     "longer than 1 MiB" : "unable to read it");
        HYD_step_option_error("--adapt-schedule", error);
    }
    fclose(file);
    text[length] = '\0';
    return text;
}

static char **variable_of(const char *arg)
{
    static const struct {
        const char *name;
        char **variable;
    } options[] = {
        {"adapt-schedule", &HYD_step_options.schedule},
        {"adapt-policy", &HYD_step_options.policy},
        {"adapt-range", &HYD_step_options.range},
        {"adapt-interval", &HYD_step_options.interval},
        {"adapt-log", &HYD_step_options.log},
        {"sets-log", &HYD_step_options.sets_log},
        {"adapt-performance", &HYD_step_options.performance}
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (!strcasecmp(arg, options[i].name))
            return options[i].variable;
    return NULL;
}

int HYD_step_options_given(void)
{
    const struct HYD_step_options *o = &HYD_step_options;

    return o->schedule || o->policy || o->range || o->interval || o->log || o->sets_log ||
        o->performance;
}

HYD_status HYD_step_option_fn(char *arg, char ***argv)
{
    char **variable = variable_of(arg), option[64];
    const char *value = **argv;

    MPL_snprintf(option, sizeof(option), "--%s", arg);
    if (!value)
        HYD_step_option_error(option, "a value is missing");
    if (*variable && !HYD_step_reading_config)
        HYD_step_option_error(option, "given twice");
    if (!*variable)
        *variable = variable == &HYD_step_options.schedule && value[0] == '@' ?
            read_schedule(value + 1) : MPL_strdup(value);
    (*argv)++;
    return HYD_SUCCESS;
}

void HYD_step_options_usage(void)
{
    printf("    -s {0|all|none}                  readers of standard input: rank 0 (default), each "
           "process, none\n");
    printf("\n");
    printf("  Process sets (programs that use MPI Sessions):\n");
    printf("    -pset {name}                     process set of the processes of this "
           "executable\n");
    printf("    -sets-log {file}                 process and state of each slot, a line for each "
           "event\n");
    printf("\n");
    printf("  Adaptation options (programs that use MPI_Init_adapt):\n");
    printf("    -adapt-schedule {list|@file}     world sizes, one after the other, for example "
           "4,2,6\n");
    printf("    -adapt-policy {policy}           increase-decrease or "
           "random[:seed[:deviation[:probability]]]\n");
    printf("    -adapt-range {min:max}           world sizes that a policy or a request may "
           "choose\n");
    printf("    -adapt-interval {time}           time between two offers of the policy (default "
           "1s)\n");
    printf("    -adapt-log {file}                one JSON line for each event\n");
    printf("    -adapt-performance {file}        one JSON line for each sample of the program's "
           "speed\n");
}

void HYD_step_option_help_fn(void)
{
    printf("\n");
    printf("-adapt-schedule: World sizes, each offered as soon as the one before is committed\n");
    printf("   4,2,6            three sizes\n");
    printf("   2s:4,5s:1        not before these times after launch\n");
    printf("   3/leave=[0,2]    size 3; of the ranks before the change, 0 and 2 leave "
           "(also: 0+2)\n");
    printf("   8/hosts=[a,b]    joining processes are started on these hosts (also: a+b)\n");
    printf("   8/program=1      joining processes run the second of several programs\n");
    printf("   @FILE            the list is in a file\n");
    printf("-adapt-policy: Sizes are chosen by mpiexec\n");
    printf("   increase-decrease   one more each time up to the maximum, then one fewer\n");
    printf("   random[:SEED[:DEVIATION[:PROBABILITY]]]\n");
    printf("                       normally distributed differences, each made with this "
           "probability\n");
    printf("-adapt-range MIN:MAX: Sizes that a policy chooses from; without a policy, the\n");
    printf("   sizes for which requests (elastic resize) and size requests of the program are "
           "granted\n");
    printf("-adapt-interval TIME: How long a policy waits between two offers (default 1s;\n");
    printf("   0: the next one at once)\n");
    printf("-adapt-log FILE: One JSON line for each event, with times\n");
    printf("-sets-log FILE: A line for each event: a letter for each slot of the range, I idle,\n");
    printf("   P reserved, R running, S to leave, A to leave and accepted (also: "
           "MPIDYNRES_STATELOG=FILE)\n");
    printf("-adapt-performance FILE: One JSON line every 10 s: the speed of the program, and\n");
    printf("   the part of its time in MPI, for each loop\n\n");
    printf("Notes:\n");
    printf("  * A running step can be resized at any time: see the command elastic\n");
    printf("  * If several programs are launched together, joining processes run the first,\n");
    printf("    unless another one is requested\n");
    printf("  * MPIEXEC_ADAPT_BEHIND=TIME: report which ranks have not reached the agreed\n");
    printf("    probe after this time (default 30s, 0: never)\n");
    printf("  * MPIEXEC_ADAPT_FANOUT=N: with more proxies, commands go through a tree\n");
    printf("    of them in which each notifies N others (default 32, 0: never)\n");
    printf("  * MPIEXEC_ADAPT_KILL=TIME: how long an adaptive program may take to end after\n");
    printf("    SIGTERM, SIGINT or SIGQUIT to mpiexec (default 5s, 0: no limit)\n");
    printf("  * MPIEXEC_ADAPT_LAUNCH=TIME: how long the proxies of joining or spawned\n");
    printf("    processes may take to start and connect (default 120s, 0: no limit)\n");
    printf("  * MPIEXEC_ADAPT_MARGIN=N: probes between the largest count and the agreed\n");
    printf("    probe (default: as many as the program makes in 2 ms, 1 to 8)\n");
    printf("  * MPIEXEC_ADAPT_PREPARE=TIME: how long an adaptation waits for processes that\n");
    printf("    prepare for it in probes, before the agreement (default 50ms)\n");
    printf("  * MPIEXEC_ADAPT_SAMPLE=TIME: time between two samples of -adapt-performance,\n");
    printf("    1s to 3600s (default 10s)\n\n");
}
