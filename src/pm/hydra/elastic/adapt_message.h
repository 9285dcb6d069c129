/*
 * A message between step manager and node daemon on Hydra's control connection: a Hydra header with
 * command ADAPT whose buflen counts what follows: this head, then `bytes` of payload.  The kinds and
 * payloads are enum step_command and enum step_report of step_core.h.  Both sides are one build on
 * one architecture, so the bytes are the machine's own.
 */

#ifndef ADAPT_MESSAGE_H_INCLUDED
#define ADAPT_MESSAGE_H_INCLUDED

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/socket.h>

struct HYD_adapt_message {
    uint32_t kind;
    uint32_t epoch;
    uint64_t bytes;
    uint32_t sequence;          /* of a command of the core for this daemon: 1, 2, ...; of the one that
                                 * is answered; else 0 */
    uint32_t unused;
};

/* A report for mpiexec itself, not for the core: [u32 rank] a process has ended, or is about to, with
 * its PMI connection open.  Stock kills the processes of that proxy; the whole job has to end. */
#define HYD_ADAPT_BROKE 1000
/* The tree of daemons, adapt_relay.h. */
#define HYD_ADAPT_LISTEN 1001
#define HYD_ADAPT_LISTENS 1002
#define HYD_ADAPT_RELAY 1003
#define HYD_ADAPT_RELAYED 1004

#define HYD_ADAPT_MESSAGE_MAX (64 * 1024 * 1024)        /* of a payload */

/* A host that loses its power or its network says nothing.  Both ends of a control connection ask
 * whether the other one is there, and take it for closed after SILENCE_S without an answer (the kernel
 * answers, however busy or stopped the process is). */
#define HYD_ADAPT_SILENCE_S 30

static inline void HYD_adapt_notice_silence(int fd)
{
    const int on = 1, idle_s = HYD_ADAPT_SILENCE_S / 3, every_s = HYD_ADAPT_SILENCE_S / 6, count = 4;
    const unsigned unacknowledged_ms = HYD_ADAPT_SILENCE_S * 1000;

    /* not for local sockets, where the calls fail and nothing can be silent */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof(unacknowledged_ms));
}

#endif /* ADAPT_MESSAGE_H_INCLUDED */
