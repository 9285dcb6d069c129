/*
 * Payloads of the messages between step manager and proxies (stepmgr.h), read and written
 * with their length checked first: what a proxy sends is never trusted to be whole.
 */

#ifndef ELASTIC_PAYLOAD_H_INCLUDED
#define ELASTIC_PAYLOAD_H_INCLUDED

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepmgr/proto/loops.h"
#include "stepmgr/common/bytes.h"
#include "pmi_adapt_set.h"
#include "pmi_adapt_sizes.h"
#include "pmi_adapt_request.h"
#include "stepmgr/common/pset_members.h"
#include "stepmgr/stepmgr.h"
#include "wire/bcast.h"

namespace elastic {

inline constexpr size_t CARD_MAX_BYTES = 64 * 1024;
inline constexpr size_t COMMUNICATOR_MAX_BYTES = 64;
inline constexpr size_t UNABLE_MAX_BYTES = 1024;

struct InitReport {
    uint32_t rank = 0;
    bool adaptive = false;
    std::string bc;
    uint64_t pid_namespace = 0; /* 0: not known */
    bool modifies = false;      /* in MPIX_Comm_modify, or created by it; adaptive or not */
};
struct ReadyReport {
    uint32_t rank = 0;
    pmi_adapt_host segment = {};        /* segment_pid 0: none */
};
/* Processes that have begun to use MPI. */
struct StartedReport {
    uint64_t number = 0;        /* 0: nobody has queried */
    std::vector<uint32_t> ranks;
};
struct UnableReport {
    uint32_t rank = 0;
    std::string why;
};
struct CountReport {
    uint32_t rank = 0, phase = 0;
    uint64_t count = 0;
    uint64_t phase_ms = 0; /* how long it has been in this phase, if that is TOLD or a later one */
};
struct PerformanceReport {
    uint32_t rank = 0, every = 0;
    uint64_t count = 0, iterations = 0, loop_ns = 0, mpi_ns = 0;
    uint64_t phase = 0, iteration = 0;  /* where it is; phase 0: not known */
    int64_t total = -1;
    uint64_t element = 0;
};
struct SampleReport {
    uint32_t stale = 0;         /* processes of which no loops are known */
    std::vector<PerformanceReport> rows;
    LoopSet loops;
};
struct LoopsReport {
    uint32_t group = 0;         /* whose processes' ranks */
    LoopSet loops;
};
struct ExitReport {
    uint32_t rank = 0, wait_status = 0;
};
struct SizesReport {
    uint32_t rank = 0;
    std::string rule;
};
struct SizeRequestReport {
    uint32_t rank = 0, number = 0;
    int size = 0, size_min = 0, size_max = 0;   /* in order */
    uint64_t until_ms = 0;      /* Unix time, 0: none */
    std::string reason;
    bool modify = false;        /* of MPIX_Comm_modify */
};
struct SizeRequestWithdrawal {
    uint32_t rank = 0, number = 0;
};
struct SetReport {
    uint32_t rank = 0, id = 0;
    Bytes call;                 /* of the payload: psets.h reads it */
};
struct UnreceivedReport {
    uint32_t rank = 0, count = 0;
    int32_t source = 0, tag = 0;        /* of the first; the source's rank in the (remote) group */
    std::string communicator;
};

/* Between the calls of begin and the return of commit (enum pmi_adapt_phase). */
bool is_inside(uint32_t phase);

std::optional<InitReport> parse_init(Bytes payload);
std::optional<ReadyReport> parse_ready(Bytes payload);
std::optional<UnableReport> parse_unable(Bytes payload);
std::optional<uint64_t> parse_frozen(Bytes payload);
std::optional<std::vector<CountReport>> parse_counts(Bytes payload);
std::optional<SampleReport> parse_performance(Bytes payload);
std::optional<LoopsReport> parse_loops(Bytes payload);
std::optional<ExitReport> parse_exited(Bytes payload);
std::optional<SizesReport> parse_sizes(Bytes payload);
std::optional<UnreceivedReport> parse_unreceived(Bytes payload);
/* Of the kinds that are known: processes, modify. */
std::optional<SizeRequestReport> parse_size_request(Bytes payload);
std::optional<SizeRequestWithdrawal> parse_size_request_withdrawal(Bytes payload);
std::optional<SetReport> parse_set_report(Bytes payload);
std::optional<bcast_frozen> parse_bcast(Bytes payload);
std::optional<uint64_t> parse_invalidated(Bytes payload);
struct ComesReport {
    uint64_t number = 0;        /* of STEP_COMES */
    bool comes = false;
};
std::optional<ComesReport> parse_comes(Bytes payload);
std::optional<StartedReport> parse_started(Bytes payload);
struct SharedReport {
    SetMembers bcs;             /* whose business cards are in an answer, */
    std::vector<uint32_t> ranks;        /* and who else was given it */
};
std::optional<SharedReport> parse_shared(Bytes payload);
std::optional<uint32_t> parse_broke(Bytes payload);

/* The reverse, for the fake proxies of the tests. */
std::string write_init(const InitReport &report);
std::string write_ready(const ReadyReport &report);
std::string write_unable(const UnableReport &report);
std::string write_number(uint64_t number);
std::string write_counts(std::span<const CountReport> reports);
std::string write_performance(std::span<const PerformanceReport> reports, const LoopSet &loops = {},
                              uint32_t stale = 0);
std::string write_loops(const LoopsReport &report);
std::string write_exited(const ExitReport &report);
std::string write_sizes(const SizesReport &report);
std::string write_unreceived(const UnreceivedReport &report);
std::string write_size_request(const SizeRequestReport &report);
std::string write_size_request_withdrawal(const SizeRequestWithdrawal &withdrawal);
std::string write_set_report(uint32_t rank, uint32_t id, const std::string &call);
std::string write_started(const StartedReport &report);
std::string write_shared(const SharedReport &report);

/* "ended with exit code 3", "was killed by signal 9 (Killed)". */
std::string describe_wait_status(uint32_t wait_status);
bool exited_by_itself(uint32_t wait_status);    /* with whatever code, not by a signal */
bool exited_cleanly(uint32_t wait_status);      /* with code 0 */

}  // namespace elastic

#endif /* ELASTIC_PAYLOAD_H_INCLUDED */
