/*
 * The extended PMI: the interface between a proxy (hydra_pmi_proxy), the step manager (mpiexec) and
 * an MPI process.  SPEC P1-P8, I1-I3; the wire commands are described in doc/developer/pmi.md.
 *
 * Three things are defined here, each once:
 *   - the environment variable PMI_ADAPT, which shows a process that its proxy has the extension;
 *   - the adapt board, memory that one proxy shares with the processes it started (control words
 *     are written by the proxy only, each slot by one process only);
 *   - the plan, a table of everything that begin needs, built by the step manager and written to
 *     every board before the application is notified of the adaptation.
 *
 * Plain C11/C++20, no other header of the project: it is compiled into libmpi, Hydra and the tests.
 * All integers are in the byte order of the machine (one job, one architecture).
 */

#ifndef PMI_ADAPT_H_INCLUDED
#define PMI_ADAPT_H_INCLUDED

#include <stdint.h>

/* ---- environment ---------------------------------------------------------------------------- */

/* PMI_ADAPT="version=14 fd=9 slot=0 uid=3 epoch=2 pre=4 local_pre=2 modify=0"
 *   version    of this interface
 *   fd         descriptor of the board (a memfd inherited from the proxy)
 *   slot       index of this process' slot on that board
 *   uid        number of this process, unique in the job for ever; processes of the launch have
 *              uid == rank
 *   epoch      0 for a process of the launch (status NEW); else the epoch that it joins in
 *              (JOINING)
 *   pre        number of pre-existing processes (joining only, else 0)
 *   local_pre  how many of those are on this host (joining only, else 0)
 *   modify     1: MPIX_Comm_modify creates the process (joining only, else 0)
 * Processes made by MPI_Comm_spawn do not get it.  A process checks that the board's group name is
 * the name of its own PMI key-value space, so that a variable inherited by accident is ignored. */
#define PMI_ADAPT_ENV "PMI_ADAPT"
/* "0": mpiexec ends no process because another one has ended */
#define PMI_CLEANUP_ENV "PMI_AUTO_CLEANUP"
/* inode of /proc/self/ns/pid of the proxy; 0: not known */
#define PMI_PID_NAMESPACE_ENV "PMI_PID_NAMESPACE"
#define PMI_ADAPT_VERSION 14

/* ---- wire commands, process to proxy (PMI-1 lines) ------------------------------------------ */
/* None of them gets a reply on the connection; a result, if there is one, appears on the board.
 *   cmd=adapt_init mode=rigid
 *   cmd=adapt_init mode=adaptive pidns=<inode> card=<hex>
 *                                      pid namespace and network addresses of this process
 *   cmd=adapt_init mode=modify pidns=<inode> card=<hex>
 *                                      the same of one that does not adapt, in its first
 *                                      MPIX_Comm_modify, and of one that this creates
 *   cmd=adapt_ready epoch=E [segment=<pid>:<fd>:<bytes>:<device>:<inode>:<nonce>]
 *                                      a joining process waits in begin; the lowest joining rank of
 *                                      each host names the shared segment that it made for the
 *                                      processes on the host after the commit (others open
 *                                      /proc/<pid>/fd/<fd> and check that it is that file)
 *   cmd=adapt_unable epoch=E why=<hex> this process cannot prepare for the plan, for this reason
 *   cmd=adapt_prepared epoch=E         sent by the last process of its board that prepares for the
 *                                      plan.  A joining process must prepare, so that others may
 *                                      send to it; a pre-existing one prepares if it probes early
 *                                      enough
 *   cmd=adapt_greeted epoch=E          the same, when all processes of other hosts that preconnect
 *                                      are connected to all joining processes of a board
 *   cmd=adapt_committed epoch=E        the proxy shall count this process as committed: it has sent
 *                                      something that must arrive before the commit.  The others
 *                                      count themselves on the board
 *   cmd=adapt_wish ..., cmd=adapt_wish_withdraw ...                    pmi_adapt_request.h
 *   cmd=adapt_set_call ..., cmd=adapt_set_fetch ...                    pmi_adapt_set.h
 */

/* ---- board ----------------------------------------------------------------------------------- */

#define PMI_ADAPT_MAGIC 0x3154504144414d50ull   /* "PMADAPT1" */
#define PMI_ADAPT_LINE 64
#define PMI_ADAPT_GROUP_MAX 256
#define PMI_ADAPT_REASON_MAX 64

/* gate: nothing pending; limit: every probe returns FALSE */
#define PMI_ADAPT_GATE_OPEN UINT64_MAX
/* gate: read limit; limit: counts are being read, wait for the ceiling */
#define PMI_ADAPT_GATE_SHUT 0

/* A probe with number n (1, 2, ... since start or last commit) is, on the process' side:
 *   store n in my slot; full fence; load gate; n < gate: answer FALSE.
 * Otherwise, again and again until there is an answer, each load with acquire order:
 *   epoch < my last committed epoch: FALSE  (committed here, limit is still the last target);
 *   load agreed, then limit; n < limit: FALSE;  agreed == my last committed epoch + 1: TRUE;
 *   else wait on `wake`.
 * On the proxy's side (step 4):
 *   write:    plan_epoch = 0; plan_serial + 1; full fence; the plan's bytes at an offset that no
 *             slot names; plan_offset; plan_bytes; plan_epoch = epoch; gate = SHUT; wake all
 *   freeze:   limit = SHUT; gate = SHUT; full fence; read counts; limit = ceiling; wake all
 *   target T: limit = T; then agreed = epoch; wake all    (T >= ceiling of every board, same T for
 *                                                         all)
 *   thaw:     limit = OPEN; plan_epoch = 0; wake all      (withdrawn before agreement; gate stays
 *             SHUT until the next release, so that processes poll and release what they have
 *             prepared)
 *   release:  limit = gate = OPEN; then epoch = E; released = E; plan_epoch = 0; wake all
 *             (committed everywhere)
 * The proxy stores with release order.
 * While the gate is shut a process that gets FALSE may read the plan and prepare for it.
 *
 * Processes read the plan in the board.  The proxy does not write to its memory as long as a slot
 * has its serial number, even if the plan is withdrawn or over meanwhile.  So a process loads
 * plan_serial, plan_epoch, plan_offset and plan_bytes (acquire), and stores the serial number in
 * its slot; full fence.  If serial number and epoch are still the same, it maps the plan for
 * reading; else, and when it has unmapped the plan, it sets its slot's number to 0.  The file is
 * sealed against shrinking.
 * `wake` is a futex word, incremented after every change. */
struct pmi_adapt_control {
    /* read by each probe; changes only in an adaptation */
    uint64_t gate;              /* OPEN or SHUT */
    uint64_t limit;             /* OPEN, SHUT, ceiling or target */
    /* epoch to which the target in `limit` belongs; else the last such epoch */
    uint32_t agreed;
    uint32_t wake;
    uint32_t epoch;             /* last epoch that is committed everywhere */
    uint32_t plan_epoch;        /* epoch of the plan on the board, 0: none */
    /* from the start of the board, page aligned; within the file */
    uint64_t plan_bytes, plan_offset;
    uint32_t released;          /* leaving processes of this epoch may end (C7) */
    uint32_t participants;      /* processes of this board that take part in plan_epoch */
    uint32_t plan_serial;       /* of the plan on the board; changes before its bytes */
    char pad0[PMI_ADAPT_LINE - 60];

    /* written by processes */
    uint32_t committed;         /* processes of this board that have committed plan_epoch; nobody is
                                 * woken up for it */
    /* number that have prepared for the plan, plus 65536 * number that are greeted */
    uint32_t prepared;
    char pad1[PMI_ADAPT_LINE - 8];

    /* constant after creation */
    uint64_t magic;
    uint32_t version;
    uint32_t slots;             /* number of slots */
    uint64_t slots_offset;      /* bytes from the start of the board */
    char group[PMI_ADAPT_GROUP_MAX];    /* PMI key-value space name of the process group */
    uint64_t perf_offset;       /* of the graph of slot 0 (pmi_adapt_measured.h); page aligned */
    /* of the ends of slot 0's size requests; those of the other slots follow
     * (pmi_adapt_request.h) */
    uint64_t requests_offset;
    /* of the entries of slot 0 for texts of process sets (pmi_adapt_set.h) */
    uint64_t bcasts_offset;
    /* of the entries of slot 0 for answers to its calls (pmi_adapt_set.h) */
    uint64_t answers_offset;
    /* of the numbers of communicators that slot 0 makes (u64, PMI_SET_CREATIONS_MAX) */
    uint64_t creations_offset;
    uint32_t perf_stride;       /* bytes from one graph to the next; 0: there are no graphs */

    /* written by the proxy */
    /* interval at which a process writes its graph; 0: nothing is measured */
    uint32_t perf_interval_ms;
    /* tag of a change through process sets that waits for a query of a process; 0: none */
    uint32_t offer;
    /* data of sets that a process received while this number was different is invalid
     * (pmi_adapt_set.h) */
    uint32_t invalidations;
};

enum pmi_adapt_phase {
    PMI_ADAPT_PHASE_NONE = 0,   /* not (yet) an adaptive MPI process, or ended */
    PMI_ADAPT_PHASE_RUNNING = 1,
    PMI_ADAPT_PHASE_WAITING = 2,        /* in a probe, at the ceiling */
    PMI_ADAPT_PHASE_TOLD = 3,   /* got TRUE, has not called begin */
    PMI_ADAPT_PHASE_WINDOW = 4, /* between begin and commit */
    PMI_ADAPT_PHASE_JOINING = 5,        /* joining, has not called begin */
    PMI_ADAPT_PHASE_BEGIN = 6,
    PMI_ADAPT_PHASE_COMMIT = 7,
    PMI_ADAPT_PHASE_IGNORED = 8,        /* got TRUE and called MPI_Finalize */
    PMI_ADAPT_PHASE_INIT = 9    /* with PMI_AUTO_CLEANUP=0: in MPI_Init, adaptive or not */
};

struct pmi_adapt_slot {
    uint64_t count;             /* probes since start or last commit */
    uint32_t phase;             /* enum pmi_adapt_phase */
    uint32_t pid;
    /* begin of the phase, if it is TOLD or later: CLOCK_MONOTONIC */
    uint64_t since_ms;
    uint64_t perf_iterations, perf_loop_ns, perf_mpi_ns;        /* pmi_adapt_measured.h */
    uint32_t perf_seq, perf_every;
    uint32_t plan_serial;       /* of the plan that the process reads; 0: none */
    /* by the proxy: number of replies to its calls (pmi_adapt_set.h); a futex word */
    uint32_t answered;
};

/* ---- plan ------------------------------------------------------------------------------------ */

#define PMI_ADAPT_MEMBER_LEAVING 1u
#define PMI_ADAPT_MEMBER_JOINING 2u

/* Layout: header, members[pre + joining] (old world order, then joining in their own order),
 * hosts[n_hosts], then business cards.  Offsets are bytes from the start of the header.  Each
 * reader first checks the plan (pmi_adapt_plan.h). */
struct pmi_adapt_plan {
    uint64_t magic;             /* PMI_ADAPT_MAGIC */
    uint64_t bytes;             /* of the whole plan */
    uint32_t epoch;
    uint32_t pre, joining, leaving;     /* staying = pre - leaving; new size = staying + joining */
    uint32_t n_hosts;
    uint32_t universe_size;     /* of the new world; 0: not set */
    uint32_t modify;            /* 1: all processes wait for it in MPIX_Comm_modify */
    uint32_t pad;
    uint64_t deadline_ms;       /* Unix time: deadline of the resource manager; 0: none */
    char reason[PMI_ADAPT_REASON_MAX];
    uint64_t members_offset, hosts_offset;
};

struct pmi_adapt_member {
    uint32_t uid;
    uint32_t host;              /* index in hosts */
    uint32_t flags;             /* PMI_ADAPT_MEMBER_* */
    uint32_t bc_bytes;
    uint64_t bc_offset;       /* raw bytes of adapt_init, which has them in hex */
};

struct pmi_adapt_host {
    uint32_t segment_pid, segment_fd;   /* pid 0: no process joins on this host, no new segment */
    uint64_t segment_bytes;
    /* the file of that descriptor, and the number in it: a process that opens it checks both
     * first */
    uint64_t segment_device, segment_inode, segment_nonce;
};

#endif /* PMI_ADAPT_H_INCLUDED */
