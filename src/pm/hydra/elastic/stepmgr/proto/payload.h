/*
 * Payloads of the messages between step manager and proxies (stepmgr.h).  Each read checks the
 * length first, because a payload from a proxy may be incomplete.  Most of this code is generated
 * (messages/reports.h).
 */

#ifndef ELASTIC_PAYLOAD_H_INCLUDED
#define ELASTIC_PAYLOAD_H_INCLUDED

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/reports.h"
#include "pmi_adapt_request.h"
#include "stepmgr/common/bytes.h"
#include "stepmgr/proto/loops.h"
#include "stepmgr/stepmgr.h"

namespace elastic {

using CountReport = CountsReport::Count;

struct PerformanceReport {
    uint32_t rank = 0, every = 0;
    uint64_t count = 0, iterations = 0, loop_ns = 0, mpi_ns = 0;
    uint64_t phase = 0, iteration = 0;  /* position of the process; phase 0: not known */
    int64_t total = -1;
    uint64_t element = 0;
};
struct SampleReport {
    uint32_t stale = 0;         /* number of processes without known loops */
    std::vector<PerformanceReport> rows;
    LoopSet loops;
};
struct LoopsReport {
    uint32_t group = 0;         /* process group of the ranks */
    LoopSet loops;
};
struct SizeRequestReport {
    uint32_t rank = 0, number = 0;
    int size = 0, size_min = 0, size_max = 0;   /* in order */
    uint64_t until_ms = 0;      /* Unix time, 0: none */
    std::string reason;
    bool modify = false;        /* of MPIX_Comm_modify */
};
struct SetReport {
    uint32_t rank = 0, id = 0;
    Bytes call;                 /* part of the payload; psets.h reads it */
};

/* Whether the process is between the call of begin and the return of commit (enum
 * pmi_adapt_phase). */
bool is_inside(uint32_t phase);

std::optional<SampleReport> parse_performance(Bytes payload);
std::optional<LoopsReport> parse_loops(Bytes payload);
/* Of the kinds that are known: processes, modify. */
std::optional<SizeRequestReport> parse_size_request(Bytes payload);
std::optional<SetReport> parse_set_report(Bytes payload);
/* The reverse, for the fake proxies of the tests. */
std::string write_number(uint64_t number);
std::string write_counts(std::span<const CountReport> reports);
std::string write_performance(std::span<const PerformanceReport> reports, const LoopSet &loops = {},
                              uint32_t stale = 0);
std::string write_loops(const LoopsReport &report);
std::string write_size_request(const SizeRequestReport &report);
std::string write_set_report(uint32_t rank, uint32_t id, const std::string &call);

/* "ended with exit code 3", "was killed by signal 9 (Killed)". */
std::string describe_wait_status(uint32_t wait_status);
bool exited_by_itself(uint32_t wait_status);    /* with any exit code, not by a signal */
bool exited_cleanly(uint32_t wait_status);      /* with code 0 */

}  // namespace elastic

#endif /* ELASTIC_PAYLOAD_H_INCLUDED */
