/* See pmi_line.h. */

#include "state.h"
#include "pmi_line.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int HYD_pmi_line_decode_hex(const char *hex, unsigned char *bc, size_t bytes_max)
{
    size_t length = strlen(hex);

    if (length % 2 || length / 2 > bytes_max)
        return -1;
    for (size_t i = 0; i < length / 2; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return -1;
        bc[i] = (unsigned char) (high * 16 + low);
    }
    return (int) (length / 2);
}

const char *HYD_pmi_line_argument(char *args[], const char *key)
{
    size_t length = strlen(key);

    for (int i = 0; args[i]; i++)
        if (!strncmp(args[i], key, length) && args[i][length] == '=')
            return args[i] + length + 1;
    return NULL;
}

int64_t HYD_pmi_line_number(char *args[], const char *key, int64_t max)
{
    const char *text = HYD_pmi_line_argument(args, key);
    char *end = NULL;

    if (!text || *text < '0' || *text > '9')
        return -1;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0' && number <= max ? number : -1;
}

int HYD_pmi_line_rank(int fd)
{
    int i = HYD_proxy_state.board.fd < 0 ? -1 : HYD_proxy_process_of_fd(fd);

    return i < 0 ? -1 : HYD_pmcd_pmip.downstream.pmi_rank[i];
}
