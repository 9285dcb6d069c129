/* See job_secret.h. */

#include "job_secret.h"
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>

#define HALVES 2
#define SECRET_BYTES (HALVES * HYD_SECRET_HALF_BYTES)
#define DIGITS (2 * SECRET_BYTES)
/* for a launcher to pass the line on: srun waits until all nodes are ready */
#define TAKE_LIMIT_MS 300000
#define FILE_VARIABLE "MPIEXEC_SECRET_FILE"
#define PLAIN_SIGNS "/._+@-"
#define PLAIN PLAIN_SIGNS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static unsigned char secret[SECRET_BYTES];
static int is_set = 0;
static const char *source = "none";

int HYD_secret_is_set(void)
{
    return is_set;
}

const char *HYD_secret_source(void)
{
    return source;
}

const unsigned char *HYD_secret_half(enum HYD_secret_half half)
{
    return secret + half * HYD_SECRET_HALF_BYTES;
}

/* Takes the same time for all bytes. */
int HYD_secret_matches(enum HYD_secret_half half, const unsigned char *bytes)
{
    unsigned char difference = 0;

    for (size_t i = 0; i < HYD_SECRET_HALF_BYTES; i++)
        difference |= (unsigned char) (bytes[i] ^ HYD_secret_half(half)[i]);
    return !difference;
}

static int digit_value(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = c ? strchr(digits, c) : NULL;

    return found ? (int) (found - digits) : -1;
}

/* Sets the secret if the text begins with one, and returns whether it does. */
static int parse(const char *text, size_t length)
{
    for (size_t i = 0; i < SECRET_BYTES; i++) {
        int high = 2 * i + 1 < length ? digit_value(text[2 * i]) : -1;
        int low = high < 0 ? -1 : digit_value(text[2 * i + 1]);
        if (low < 0)
            return 0;
        secret[i] = (unsigned char) (high * 16 + low);
    }
    is_set = 1;
    return 1;
}

static HYD_status read_file(const char *name)
{
    struct stat status_of_file;
    char text[DIGITS];
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t n = 0;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, fd < 0, HYD_INVALID_PARAM, "%s: unable to read %s (%s)\n",
                        FILE_VARIABLE, name, MPL_strerror(errno));
    HYDU_ERR_CHKANDJUMP(status, fstat(fd, &status_of_file) < 0 || !S_ISREG(status_of_file.st_mode)
                        || status_of_file.st_uid != geteuid() ||
                        (status_of_file.st_mode & 077), HYD_INVALID_PARAM,
                        "%s: %s is not a file that you own and that only you may read "
                        "(chmod 600)\n",
                        FILE_VARIABLE, name);
    n = read(fd, text, sizeof(text));
    HYDU_ERR_CHKANDJUMP(status, n < 0 || !parse(text, (size_t) n), HYD_INVALID_PARAM,
                        "%s: %s does not begin with %d hexadecimal digits in lower case\n",
                        FILE_VARIABLE, name, DIGITS);

  fn_exit:
    if (fd >= 0)
        close(fd);
    return status;

  fn_fail:
    goto fn_exit;
}

/* ---- mpiexec --------------------------------------------------------------------------------- */

/* Launchers whose standard input reaches the proxy.  Of the others, "manual" prints commands for
 * the user, "persist" uses servers that run commands of any user, and "ll" and "pbs" have no
 * standard input. */
static int carries_stdin(const char *launcher)
{
    static const char *const names[] = { "ssh", "rsh", "fork", "slurm", "lsf", "sge" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(launcher, names[i]))
            return 1;
    return 0;
}

HYD_status HYD_secret_make(const char *launcher)
{
    const char *name = NULL;
    HYD_status status = HYD_SUCCESS;

    if (MPL_env2str(FILE_VARIABLE, &name) && name[0]) {
        /* shells of other hosts read the name */
        HYDU_ERR_CHKANDJUMP(status, name[0] != '/' || name[strspn(name, PLAIN)], HYD_INVALID_PARAM,
                            "%s: %s is not an absolute path of letters, digits and " PLAIN_SIGNS
                            "\n", FILE_VARIABLE, name);
        status = read_file(name);
        HYDU_ERR_POP(status, "unable to read the job's secret from a file\n");
        source = MPL_strdup(name);
    } else if (carries_stdin(launcher)) {
        HYDU_ERR_CHKANDJUMP(status, getrandom(secret, sizeof(secret), 0) != sizeof(secret),
                            HYD_INTERNAL_ERROR, "no random numbers for the job's secret (%s)\n",
                            MPL_strerror(errno));
        is_set = 1;
        source = "stdin";
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

void HYD_secret_give(int stdin_fd)
{
    char line[DIGITS + 1];
    void (*previous) (int) = signal(SIGPIPE, SIG_IGN);    /* it may have ended already */

    for (size_t i = 0; i < SECRET_BYTES; i++)
        snprintf(line + 2 * i, 3, "%02x", secret[i]);
    line[DIGITS] = '\n';
    /* An empty pipe accepts it at once.  The proxy detects a launcher that does not pass it on. */
    if (!strcmp(source, "stdin") && write(stdin_fd, line, sizeof(line)) != (ssize_t) sizeof(line) &&
        errno != EPIPE)
        HYDU_error_printf("unable to send a launcher the job's secret (%s)\n", MPL_strerror(errno));
    close(stdin_fd);
    signal(SIGPIPE, previous);
}

/* ---- proxy ----------------------------------------------------------------------------------- */

static HYD_status read_stdin(void)
{
    char text[DIGITS];
    size_t used = 0;
    HYD_status status = HYD_SUCCESS;

    while (used < sizeof(text)) {
        struct pollfd in = {.fd = STDIN_FILENO,.events = POLLIN };
        int ready = poll(&in, 1, TAKE_LIMIT_MS);
        ssize_t n = ready > 0 ? read(STDIN_FILENO, text + used, sizeof(text) - used) : ready;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t) n;
    }
    HYDU_ERR_CHKANDJUMP(status, !parse(text, used), HYD_INTERNAL_ERROR,
                        "this proxy has not received the job's secret: mpiexec writes it to the "
                        "launcher's standard input, and the launcher (ssh -n, or a script?) did "
                        "not pass it to the proxy.  Correct the launcher, or set "
                        FILE_VARIABLE " (doc/admin/cluster.md)\n");

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_secret_take(const char *from)
{
    if (!strcmp(from, "none"))
        return HYD_SUCCESS;
    return strcmp(from, "stdin") ? read_file(from) : read_stdin();
}
