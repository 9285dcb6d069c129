/*
 * The parts of Hydra that the fuzzed or separately tested files of the proxy use, so that nothing
 * of MPICH is needed.
 */

#ifndef HYDRA_H_INCLUDED
#define HYDRA_H_INCLUDED

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef enum { HYD_SUCCESS, HYD_NO_MEM, HYD_SOCK_ERROR, HYD_INTERNAL_ERROR } HYD_status;
typedef unsigned short HYD_event_t;
#define HYD_POLLIN 1
#define HYD_POLLOUT 2
#define HYD_POLLHUP 4

#define ATTRIBUTE(list) __attribute__(list)
#define MPL_MEM_PM 0
#define MPL_malloc(bytes, class) malloc(bytes)
#define MPL_calloc(n, bytes, class) calloc(n, bytes)
#define MPL_realloc(old, bytes, class) realloc(old, bytes)
#define MPL_strdup strdup
#define MPL_free free
#define MPL_snprintf snprintf
#define MPL_strerror strerror

#define MPL_strncpy(to, from, bytes) snprintf(to, bytes, "%s", from)
int MPL_env2str(const char *name, const char **value);

#define HYDU_dump(file, ...) ((void) 0)
#define HYDU_error_printf(...) ((void) 0)
#define HYDU_ERR_POP(status, ...) do { if (status) goto fn_fail; } while (0)
#define HYDU_ERR_CHKANDJUMP(status, wrong, code, ...) \
    do { if (wrong) { status = code; goto fn_fail; } } while (0)
#define HYDU_ERR_SETANDJUMP(status, code, ...) HYDU_ERR_CHKANDJUMP(status, 1, code, __VA_ARGS__)
#define HYDU_MALLOC_OR_JUMP(p, type, bytes, status) \
    do { p = (type) malloc(bytes); HYDU_ERR_CHKANDJUMP(status, !p, HYD_NO_MEM, ""); } while (0)
#define HYDU_REALLOC_OR_JUMP(p, type, bytes, status) \
    do { type grown = (type) realloc(p, bytes); \
        HYDU_ERR_CHKANDJUMP(status, !grown, HYD_NO_MEM, ""); p = grown; } while (0)

HYD_status HYDU_sock_listen(int *listen_fd, char *port_range, uint16_t * port);
HYD_status HYDU_sock_cloexec(int fd);

#endif
