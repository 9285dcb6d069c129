/*
 * Commands of the step manager to many proxies at once, through a tree of them.  mpiexec sends a
 * *relay* to a few proxies: the command and the list of its targets, beginning with the receiver.
 * Each receiver divides the rest of the list into parts, and sends each part to its first member.
 * It replies when all parts have replied, with the list of unreachable proxies, to which mpiexec
 * then sends directly.  This reply contains the immediate replies of proxies to STEP_FREEZE, so
 * that the agreement uses the tree both ways.  Later reports go up the path by which the last
 * command came (proxy/upward.h).  Repetitions and paths of different length have no effect, because
 * commands to one proxy are numbered, and carried out once and in order.
 *
 * A relay is sent on the control connection (mpiexec to proxy: kind HYD_ADAPT_RELAY, the reply is
 * HYD_ADAPT_RELAYED) or on a connection between proxies: first the key, then relays in one
 * direction, replies and reports in the other.  Proxies listen when mpiexec requests it
 * (HYD_ADAPT_LISTEN: key, then text of a port range, may be empty), and report the port
 * (HYD_ADAPT_LISTENS: u16; 0: impossible).  Byte order is the machine's, except for addresses and
 * ports, which are in network order. doc/developer/decisions/proxy-tree.md.
 */

#ifndef WIRE_TREE_H_INCLUDED
#define WIRE_TREE_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "message.h"

#define HYD_RELAY_KEY_BYTES 16
#define HYD_RELAY_TARGETS_MAX (1 << 20)
#define HYD_RELAY_FANOUT_MAX 1024
#define HYD_RELAY_FANOUT_DEFAULT 32

struct HYD_relay_head {
    uint32_t id;                /* of the relay, for the reply; mpiexec uses each once */
    uint32_t kind, epoch;       /* of the command */
    uint32_t targets;           /* entries of the list, which follows */
    uint64_t bytes;             /* of the command's payload, which follows the list */
    uint32_t fanout;            /* max number of parts */
    uint32_t unused;
};

struct HYD_relay_target {
    uint32_t number;            /* chosen by mpiexec, for the reply */
    uint32_t sequence;          /* of the command for this proxy */
    uint32_t address;           /* IPv4 */
    uint16_t port;
    uint16_t unused;
};

struct HYD_relay_answer {
    uint32_t id;
    uint32_t frozen;            /* entries of HYD_relay_frozen that follow */
    uint32_t failed;            /* then numbers of targets that were not reached, u32 each */
    uint32_t unused;
};

struct HYD_relay_frozen {       /* REPORT_FROZEN of a target */
    uint32_t number;
    uint32_t sequence;          /* of the command to which it replies; 0: none */
    uint64_t ceiling;
};

/* Reports that take the same path as replies, but later.  To mpiexec: only the entries, as
 * HYD_ADAPT_GATHERED. */
struct HYD_relay_reports {
    uint32_t id;                /* 0, which no relay has */
    uint32_t unused;
    /* of the entries, which follow: HYD_relay_entry, payload, padding to 8 bytes */
    uint64_t bytes;
};

struct HYD_relay_origin {       /* the proxy that reports */
    uint32_t group, proxy;
};

struct HYD_relay_entry {
    struct HYD_relay_origin origin;
    /* its sequence is the number of the report, counted by its proxy from 1 */
    struct HYD_adapt_message message;
};

/* Whether a head is valid. */
static inline int HYD_relay_head_holds(const struct HYD_relay_head *head)
{
    return head->targets >= 1 && head->targets <= HYD_RELAY_TARGETS_MAX && head->fanout >= 2 &&
        head->fanout <= HYD_RELAY_FANOUT_MAX && head->bytes <= HYD_ADAPT_MESSAGE_MAX;
}

/* Bytes of a relay with a valid head. */
static inline size_t HYD_relay_bytes(const struct HYD_relay_head *head)
{
    return sizeof(*head) + head->targets * sizeof(struct HYD_relay_target) + (size_t) head->bytes;
}

/* Whether the head of a reply is valid for a part of n targets. */
static inline int HYD_relay_answer_holds(const struct HYD_relay_answer *head, uint32_t n)
{
    return head->frozen <= n && head->failed <= n;
}

static inline size_t HYD_relay_answer_bytes(const struct HYD_relay_answer *head)
{
    return sizeof(*head) + head->frozen * sizeof(struct HYD_relay_frozen) +
        head->failed * sizeof(uint32_t);
}

/* Whether reports of this kind go up the tree. */
static inline int HYD_goes_up(uint32_t kind)
{
    return kind == REPORT_PREPARED || kind == REPORT_GREETED || kind == REPORT_COMMITTED ||
        kind == REPORT_PERFORMANCE || kind == REPORT_LOOPS;
}

static inline size_t HYD_relay_entry_bytes(const struct HYD_relay_entry *entry)
{
    return sizeof(*entry) + ((size_t) entry->message.bytes + 7) / 8 * 8;
}

/* Whether an entry can be the next of those in `left` bytes. */
static inline int HYD_relay_entry_holds(const struct HYD_relay_entry *entry, size_t left)
{
    return HYD_goes_up(entry->message.kind) && entry->message.sequence > 0 &&
        entry->message.bytes <= HYD_ADAPT_MESSAGE_MAX && HYD_relay_entry_bytes(entry) <= left;
}

/* Number of members of each part except the last, when `n` members are divided into at most
 * `parts`. */
static inline uint32_t HYD_relay_part(uint32_t n, uint32_t parts)
{
    return (n + parts - 1) / parts;
}

#endif /* WIRE_TREE_H_INCLUDED */
