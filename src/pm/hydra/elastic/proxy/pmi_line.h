/* A line of PMI: its tokens, and its sender. */

#ifndef PROXY_PMI_LINE_H_INCLUDED
#define PROXY_PMI_LINE_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

/* The value of token `key`, NULL if it is missing; valid as long as args. */
const char *HYD_pmi_line_argument(char *args[], const char *key);
/* The number from 0 to max that token `key` is, or -1. */
int64_t HYD_pmi_line_number(char *args[], const char *key, int64_t max);
/* Returns the number of written bytes, or -1 if the text is not an even number of hexadecimal
 * digits, or is too long. */
int HYD_pmi_line_decode_hex(const char *hex, unsigned char *bytes, size_t bytes_max);
/* The rank of the process at a PMI connection, -1 if there is none or no board. */
int HYD_pmi_line_rank(int fd);

#endif /* PROXY_PMI_LINE_H_INCLUDED */
