/*
 * The user's secret, which client and server of HOST:PORT share: given in a file
 * (MPIEXEC_SECRET_FILE), or made in the user's private directory.  No state.
 */

#include "dynproc_names.h"
#include <sys/random.h>
#include <sys/stat.h>

#define SECRET_DIGITS 64
#define SECRET_VARIABLE "MPIEXEC_SECRET_FILE"

static int secret_digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The key used here is derived from the secret, which mpiexec and the proxies may have as
 * well. */
static bool parse_secret(const char *text, ssize_t length, unsigned char secret[MPIR_DYNPROC_SEAL])
{
    unsigned char bytes[SECRET_DIGITS / 2];

    if (length < SECRET_DIGITS)
        return false;
    for (int i = 0; i < SECRET_DIGITS / 2; i++) {
        int high = secret_digit_of(text[2 * i]), low = secret_digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char) (high * 16 + low);
    }
    MPIR_Dynproc_seal(bytes, bytes + MPIR_DYNPROC_SEAL, MPIR_DYNPROC_SEAL, secret);
    return true;
}

static bool read_secret_file(const char *path, unsigned char secret[MPIR_DYNPROC_SEAL], char *why)
{
    struct stat status;
    char text[SECRET_DIGITS];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool is_read = false;

    if (fd < 0) {
        snprintf(why, MPIR_DYNPROC_WHY, "%.150s: %.80s", path, strerror(errno));
        return false;
    }
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & 077))
        snprintf(why, MPIR_DYNPROC_WHY,
                 "%.150s is not a file that you own and that only you may read (chmod 600)", path);
    else if (!(is_read = parse_secret(text, read(fd, text, sizeof(text)), secret)))
        snprintf(why, MPIR_DYNPROC_WHY,
                 "%.150s does not begin with %d hexadecimal digits in lower case", path,
                 SECRET_DIGITS);
    close(fd);
    return is_read;
}

/* The file is written completely under another name, then linked: a second process finds the file
 * of the first.  Returns 0 or an error. */
static int make_secret(const char *path)
{
    unsigned char bytes[SECRET_DIGITS / 2];
    char text[SECRET_DIGITS + 2], fresh[MPIR_DYNPROC_PATH + 32];
    int error = 0;

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return errno;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    text[SECRET_DIGITS] = '\n';
    snprintf(fresh, sizeof(fresh), "%s.%ld", path, (long) getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    ssize_t written = write(fd, text, SECRET_DIGITS + 1);
    if (written != SECRET_DIGITS + 1)
        error = written < 0 ? errno : ENOSPC;
    else if (link(fresh, path) != 0 && errno != EEXIST)
        error = errno;
    close(fd);
    unlink(fresh);
    return error;
}

bool MPIR_Dynproc_get_secret(unsigned char secret[MPIR_DYNPROC_SEAL], char *why)
{
    const char *given = getenv(SECRET_VARIABLE);
    char path[MPIR_DYNPROC_PATH], directory[MPIR_DYNPROC_PATH - 16];

    if (given && given[0])
        return read_secret_file(given, secret, why);
    if (!MPIR_Dynproc_private_directory(directory, sizeof(directory), why))
        return false;
    snprintf(path, sizeof(path), "%s/secret", directory);
    int error = access(path, F_OK) != 0 ? make_secret(path) : 0;
    if (error) {
        snprintf(why, MPIR_DYNPROC_WHY, "%.150s cannot be created: %.80s", path, strerror(error));
        return false;
    }
    return read_secret_file(path, secret, why);
}
