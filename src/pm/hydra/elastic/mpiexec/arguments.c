/* See arguments.h. */

#include "arguments.h"
#include <ctype.h>
#include <ifaddrs.h>
#include "options.h"
#include "input.h"

enum form {
    NOTHING,
    TEXT,
    LIST,                       /* a text that may be empty */
    COUNT,                      /* of at least 1 */
    NUMBER,                     /* of at least 0 */
    VARIABLE,                   /* NAME VALUE, or NAME=VALUE */
    HOSTS,
    PATTERN,
    LAUNCHER,
    RMK,
    TOPOLIB,
    DEMUX,
    INTERFACE,
    UNIVERSE,
    GPUS,
    ORDER,
    READERS
};

/* As in Hydra's table of options. options.c and psets.c check our options. */
static const struct option {
    const char *name;
    enum form form;
} options[] = {
    {"genv", VARIABLE}, {"genvlist", LIST}, {"genvnone", NOTHING}, {"genvall", NOTHING},
    {"f", TEXT}, {"hostfile", TEXT}, {"machinefile", TEXT}, {"machine", HOSTS}, {"machines", HOSTS},
    {"machinelist", HOSTS}, {"host", HOSTS}, {"hosts", HOSTS}, {"hostlist", HOSTS},
    {"ppn", COUNT}, {"profile", NOTHING}, {"output-from", NUMBER}, {"prepend-rank", NOTHING},
    {"l", NOTHING},
    {"prepend-pattern", PATTERN}, {"outfile-pattern", PATTERN}, {"errfile-pattern", PATTERN},
    {"outfile", PATTERN}, {"errfile", PATTERN}, {"wdir", TEXT}, {"configfile", TEXT},
    {"env", VARIABLE}, {"envlist", LIST}, {"envnone", NOTHING}, {"envall", NOTHING}, {"n", COUNT},
    {"np", COUNT}, {"launcher", LAUNCHER}, {"launcher-exec", TEXT}, {"bootstrap", LAUNCHER},
    {"bootstrap-exec", TEXT},
    {"enable-x", NOTHING}, {"disable-x", NOTHING}, {"rmk", RMK}, {"topolib", TOPOLIB},
    {"binding", TEXT},
    {"bind-to", TEXT}, {"map-by", TEXT}, {"membind", TEXT}, {"demux", DEMUX}, {"verbose", NOTHING},
    {"v", NOTHING}, {"debug", NOTHING}, {"print-all-exitcodes", NOTHING}, {"iface", INTERFACE},
    {"nameserver", TEXT},
    {"disable-auto-cleanup", NOTHING}, {"dac", NOTHING}, {"enable-auto-cleanup", NOTHING},
    {"disable-hostname-propagation", NOTHING}, {"enable-hostname-propagation", NOTHING},
        {"order-nodes", ORDER},
    {"localhost", TEXT}, {"usize", UNIVERSE}, {"pmi-port", NOTHING}, {"skip-launch-node", NOTHING},
    {"gpus-per-proc", GPUS}, {"g", GPUS}, {"s", READERS}, {"pset", TEXT}, {"sets-log", TEXT},
        {"adapt-schedule", TEXT},
    {"adapt-policy", TEXT}, {"adapt-range", TEXT}, {"adapt-interval", TEXT}, {"adapt-log", TEXT},
    {"adapt-performance", TEXT}
};

/* ---- values ---------------------------------------------------------------------------------- */

/* -1: not a number, or too large. */
static long number_in(const char *text)
{
    char *end;

    if (!isdigit((unsigned char) text[0]))
        return -1;
    errno = 0;
    long number = strtol(text, &end, 10);
    return *end || errno || number > INT_MAX ? -1 : number;
}

static int is_order(const char *text)
{
    static const char *const orders[] =
        { "ASCENDING", "ascending", "UP", "up", "DESCENDING", "descending", "DOWN", "down"
    };

    for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
        if (!strcmp(text, orders[i]))
            return 1;
    return 0;
}

/* Hosts separated by commas, each with or without ":COUNT". */
static int are_hosts(const char *text)
{
    char *copy = MPL_strdup(text), *rest = copy, *host;
    int right = copy != NULL;

    while (right && (host = strsep(&rest, ",")) != NULL) {
        char *count = strchr(host, ':');
        right = host[0] && host != count && (!count || number_in(count + 1) > 0);
    }
    MPL_free(copy);
    return right;
}

static int is_pattern(const char *text)
{
    for (; *text; text++)
        if (*text == '%' && (!*++text || !strchr("rgpht%", *text)))
            return 0;
    return 1;
}

/* Whether the value is one of `names`, which blanks separate. */
static int is_one_of(const char *value, const char *names)
{
    size_t length = strlen(value);

    for (const char *name = names; length > 0 && (name = strstr(name, value)) != NULL;
         name += length)
        if ((name == names || name[-1] == ' ') && (name[length] == ' ' || name[length] == '\0'))
            return 1;
    return 0;
}

static int is_interface(const char *name)
{
    struct ifaddrs *all;
    int found = 0;

    if (getifaddrs(&all) != 0)
        return 1;               /* detected when it is used */
    for (const struct ifaddrs * one = all; one && !found; one = one->ifa_next)
        found = !strcmp(one->ifa_name, name);
    freeifaddrs(all);
    return found;
}

/* NULL: the value is valid; else the text of what the option needs. */
static const char *what_is_needed(enum form form, const char *value)
{
    switch (form) {
        case COUNT:
            return number_in(value) > 0 ? NULL : "a number of at least 1";
        case NUMBER:
            return number_in(value) >= 0 ? NULL : "a number of at least 0";
        case HOSTS:
            return are_hosts(value) ? NULL : "HOST[:COUNT][,HOST[:COUNT]...]";
        case PATTERN:
            return is_pattern(value) ? NULL :
                "a text in which %r, %g, %p, %h and %t are replaced, and %% is %";
        case LAUNCHER:
            return is_one_of(value, HYDRA_AVAILABLE_LAUNCHERS) ? NULL : "one of: "
                HYDRA_AVAILABLE_LAUNCHERS;
        case RMK:
            return is_one_of(value, HYDRA_AVAILABLE_RMKS) ? NULL : "one of: " HYDRA_AVAILABLE_RMKS;
        case TOPOLIB:
            return is_one_of(value,
                             HYDRA_AVAILABLE_TOPOLIBS) ? NULL : "one of: " HYDRA_AVAILABLE_TOPOLIBS;
        case DEMUX:
            return is_one_of(value,
                             HYDRA_AVAILABLE_DEMUXES) ? NULL : "one of: " HYDRA_AVAILABLE_DEMUXES;
        case INTERFACE:
            return is_interface(value) ? NULL :
                "a network interface of this host: ip link lists them";
        case UNIVERSE:
            return !strcmp(value, "SYSTEM") || !strcmp(value, "INFINITE") ||
                number_in(value) > 0 ? NULL : "SYSTEM, INFINITE or a number of at least 1";
        case GPUS:
            return !strcmp(value, "AUTO") ||
                number_in(value) >= 0 ? NULL : "AUTO or a number of at least 0";
        case ORDER:
            return is_order(value) ? NULL : "ASCENDING or DESCENDING";
        case READERS:
            return is_one_of(value, HYD_INPUT_READERS) ? NULL : "one of: " HYD_INPUT_READERS;
        case VARIABLE:
            return value[0] && value[0] != '=' ? NULL : "NAME VALUE, or NAME=VALUE";
        case TEXT:
            return value[0] ? NULL : "a text that is not empty";
        case LIST:
        case NOTHING:
            break;
    }
    return NULL;
}

/* ---- options --------------------------------------------------------------------------------- */

static const struct option *find_option(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
        if (strlen(options[i].name) == length && !strncasecmp(name, options[i].name, length))
            return &options[i];
    return NULL;
}

static int requests_help(const char *word)
{
    return !strcmp(word, "-h") || !strcmp(word, "-help") || !strcmp(word, "--help");
}

static int ends_mpiexec(const char *name)
{
    return !strcasecmp(name, "h") || !strcasecmp(name, "help") || !strcasecmp(name, "info") ||
        !strcasecmp(name, "version");
}

static void check_value(const char *word, const struct option *option, const char *value)
{
    char name[64], error[512];

    MPL_snprintf(name, sizeof(name), "%.*s", (int) strcspn(word, "="), word);
    if (!value)
        HYD_step_option_error(name, "its argument is missing: mpiexec -h lists the options");
    const char *needed = what_is_needed(option->form, value);
    if (!needed)
        return;
    MPL_snprintf(error, sizeof(error), "'%.200s' is not %s", value, needed);
    HYD_step_option_error(name, error);
}

void HYD_arguments_check(char *const argv[])
{
    while (*argv && **argv == '-') {
        const char *word = *argv++, *name = word + strspn(word, "-");
        size_t length = strcspn(name, "=");
        const struct option *option = find_option(name, length);
        int is_joined = name[length] == '=';
        if (!strcmp(name, "pmi_args"))
            /* started by a program without mpiexec; its library prints the error */
            exit(1);
        if (ends_mpiexec(name) || (*argv && !is_joined && requests_help(*argv)))
            return;
        if (!option)
            HYD_step_option_error(word, "there is no such option: mpiexec -h lists them");
        if (option->form == NOTHING && is_joined)
            HYD_step_option_error(word, "the option takes no argument");
        if (option->form == NOTHING)
            continue;
        const char *value = is_joined ? name + length + 1 : *argv;
        check_value(word, option, value);
        argv += !is_joined;
        if (option->form != VARIABLE || strchr(value, '='))
            continue;
        if (!*argv)
            check_value(word, option, NULL);
        argv++;
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

static int words_of(const struct HYD_exec *command)
{
    int n;

    for (n = 0; n < HYD_NUM_TMP_STRINGS && command->exec[n]; n++);
    return n;
}

static void end_with(const char *error)
{
    fflush(stdout);
    fprintf(stderr, "mpiexec: %s\n", error);
    exit(1);
}

void HYD_arguments_check_space(const struct HYD_exec *command)
{
    char error[512];

    if (words_of(command) < HYD_NUM_TMP_STRINGS - 2)
        return;
    MPL_snprintf(error, sizeof(error),
                 "%.200s: a program can have at most %d arguments on the command line of mpiexec: "
                 "put them into a script, and start the script", command->exec[0],
                 HYD_NUM_TMP_STRINGS - 3);
    end_with(error);
}

void HYD_arguments_check_programs(const struct HYD_exec *commands)
{
    char error[256];

    if (!commands)
        end_with("no program is given: mpiexec -h explains how");
    for (const struct HYD_exec * command = commands; command; command = command->next) {
        if (command->exec[0] && command->exec[0][0])
            continue;
        if (command == commands && !command->next)
            end_with("no program is given after the options: mpiexec -h explains how");
        MPL_snprintf(error, sizeof(error),
                     "command %d of those that are separated by ':' has no program",
                     command->appnum + 1);
        end_with(error);
    }
}

/* ---- the configuration file ------------------------------------------------------------------ */

static const char spaces[] = " \t\r\n\v\f";

static int words_in(const char *line)
{
    int n = 0;

    for (; *(line += strspn(line, spaces)); line += strcspn(line, spaces))
        n++;
    return n;
}

/* The words of a line; `*begins`: the next one begins a command. */
static void take_line(char *line, int *begins, HYD_arguments_word take)
{
    while (*(line += strspn(line, spaces)) && *line != '#') {
        size_t length = strcspn(line, spaces);
        char *next = line + length + (line[length] != '\0');
        line[length] = '\0';
        take(line, *begins, NULL);
        *begins = 0;
        line = next;
    }
}

/* Removes the \ that continues the line.  Returns whether there was one. */
static int continues(char *line)
{
    size_t length = strlen(line);

    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    if (length == 0 || line[length - 1] != '\\')
        return 0;
    line[length - 1] = '\0';
    return 1;
}

HYD_status HYD_arguments_read_config(const char *name, HYD_arguments_word take)
{
    FILE *file = fopen(name, "r");
    char *line = NULL, error[512];
    size_t space = 0;
    int begins = 1, n = 0;

    if (!file) {
        MPL_snprintf(error, sizeof(error), "unable to read %.300s (%s)", name, MPL_strerror(errno));
        HYD_step_option_error("-configfile", error);
    }
    while (getline(&line, &space, file) >= 0) {
        if (line[strspn(line, spaces)] == '#')
            continue;
        n += words_in(line) + 1;        /* and a ":" between two commands */
        if (n >= HYD_NUM_TMP_STRINGS) {
            MPL_snprintf(error, sizeof(error),
                         "%.300s has too many arguments: put them into scripts", name);
            HYD_step_option_error("-configfile", error);
        }
        int goes_on = continues(line);
        take_line(line, &begins, take);
        begins = begins || !goes_on;
    }
    free(line);
    fclose(file);
    return HYD_SUCCESS;
}
