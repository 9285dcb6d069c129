/*
 * Commands of the step manager to many proxies at once, through a tree of them.  mpiexec sends a
 * *relay* to a few proxies: the command, and the list of those that it is for, the receiver first.
 * Each receiver cuts the rest of the list into parts, sends every part to its first member, and
 * answers when all of its parts have answered, naming the proxies that could not be reached;
 * mpiexec notifies these itself.  The immediate reply of proxies to STEP_FREEZE goes with that, so
 * that the agreement takes the tree both ways; their later reports go up the path by which the last
 * command came (proxy/upward.h).  Repetitions and paths of different length do no harm: commands to
 * one proxy are numbered, and carried out once and in order.
 *
 * A relay goes over the control connection (mpiexec to proxy: kind HYD_ADAPT_RELAY, the answer is
 * HYD_ADAPT_RELAYED) or over a connection between proxies: the key, then relays one way, answers
 * and reports the other.  Proxies listen when mpiexec requests it (HYD_ADAPT_LISTEN: key, then text
 * of a port range, may be empty), and report the port (HYD_ADAPT_LISTENS: u16; 0: they cannot).
 * The bytes are the machine's own, but addresses and ports are in network order.
 * doc/developer/decisions/proxy-tree.md.
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
    uint32_t id;                /* of the relay, for its answer; mpiexec never uses one twice */
    uint32_t kind, epoch;       /* of the command */
    uint32_t targets;           /* entries of the list, which follows */
    uint64_t bytes;             /* of the command's payload, which follows the list */
    uint32_t fanout;            /* parts at most */
    uint32_t unused;
};

struct HYD_relay_target {
    uint32_t number;            /* mpiexec's, for the answer */
    uint32_t sequence;          /* of the command for this proxy */
    uint32_t address;           /* IPv4 */
    uint16_t port;
    uint16_t unused;
};

struct HYD_relay_answer {
    uint32_t id;
    uint32_t frozen;            /* entries of HYD_relay_frozen that follow */
    uint32_t failed;            /* and then numbers of targets that were not reached, u32 each */
    uint32_t unused;
};

struct HYD_relay_frozen {       /* REPORT_FROZEN of a target */
    uint32_t number;
    uint32_t sequence;          /* of the command that it answers; 0: none */
    uint64_t ceiling;
};

/* Reports that go the same way as answers, but later.  To mpiexec: the entries alone,
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
    /* its sequence is the number of the report among its proxy's, from 1 */
    struct HYD_adapt_message message;
};

/* Whether a head can be true. */
static inline int HYD_relay_head_holds(const struct HYD_relay_head *head)
{
    return head->targets >= 1 && head->targets <= HYD_RELAY_TARGETS_MAX && head->fanout >= 2 &&
        head->fanout <= HYD_RELAY_FANOUT_MAX && head->bytes <= HYD_ADAPT_MESSAGE_MAX;
}

/* Bytes of a relay with a true head. */
static inline size_t HYD_relay_bytes(const struct HYD_relay_head *head)
{
    return sizeof(*head) + head->targets * sizeof(struct HYD_relay_target) + (size_t) head->bytes;
}

/* Whether the head of an answer can be true, of a part of n targets. */
static inline int HYD_relay_answer_holds(const struct HYD_relay_answer *head, uint32_t n)
{
    return head->frozen <= n && head->failed <= n;
}

static inline size_t HYD_relay_answer_bytes(const struct HYD_relay_answer *head)
{
    return sizeof(*head) + head->frozen * sizeof(struct HYD_relay_frozen) +
        head->failed * sizeof(uint32_t);
}

/* The reports that go up the tree. */
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

/* Members of each part but the last one when `n` are cut into at most `parts`. */
static inline uint32_t HYD_relay_part(uint32_t n, uint32_t parts)
{
    return (n + parts - 1) / parts;
}

#endif /* WIRE_TREE_H_INCLUDED */
