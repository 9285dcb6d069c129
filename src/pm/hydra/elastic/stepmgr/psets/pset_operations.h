/*
 * Operations on process sets that add or remove processes, as a program requests them (psetop of
 * libmpidynres 2), and the query for the open operation.  The process that requests such a change
 * waits for the result: for it, notification and accept are one step.
 *
 * One request is open at a time.  Without a resource manager it becomes an adaptation within
 * --adapt-range.  With one it becomes a size request, and the next change in the same direction is
 * its result.  REPLACE is two requests: an addition, and a removal after the processes have joined.
 * The reply to an impossible request names no operation.  SC5, SC6.
 */

#ifndef ELASTIC_PSET_OPERATIONS_H_INCLUDED
#define ELASTIC_PSET_OPERATIONS_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepmgr/psets/pset_changes.h"

namespace elastic {

/* A change that a process has requested, and for which it waits. */
struct PsetRequest {
    SetCaller caller;
    RequestOp call;
    bool requested = false; /* the change or the size request was made */
    bool removing = false;  /* the removal of REPLACE was requested */
    uint64_t request = 0, size_request = 0; /* numbers of the change and of the size request */
    std::optional<std::string> added;       /* for REPLACE: the accepted delta of the addition */
};

class PsetOperations {
  public:
    PsetOperations(StepState &state, ProcessSets &psets, PsetMode &mode, PsetDepartures &departures,
                   PsetChanges &changes, AdaptationControl &control, SizeRequestControl &requests)
        : state_(state), psets_(psets), sets_(psets.table()), mode_(mode), departures_(departures),
          changes_(changes), control_(control), requests_(requests)
    {
    }

    /* A call on a change.  Passes those of PsetChanges on. */
    void on_change_call(Process &process, const SetCaller &caller, const ChangeCall &call);
    /* Whether a request of the program is open. */
    bool is_open() const { return open_.has_value(); }
    /* The size request for the open request has ended. */
    void size_request_ended(SizeRequestEnd end, const std::string &reason);
    void process_ended(const Process &process);
    /* After every event. */
    void consider();

  private:
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const RequestOp &call);
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const QueryOp &call);
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const CloseOp &call);
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const QueryArrival &call);
    std::string open_op(const Process &process, const std::string &bound);
    std::string result_of(uint32_t uid, pmi_set_op op, const std::string &bound,
                          const std::string &delta);
    std::string why_not_removed(const RequestOp &call);
    std::string why_out_of_range(const std::vector<int> &sizes);
    void begin();
    void start();
    void request_size();
    void accept_offer();
    std::vector<std::string> replaced(uint32_t uid, const PsetRequest &request,
                                      const std::string &removed);
    void end(const Sets::OpenOp &op, const std::string &why_not = "");
    void give_up(const std::string &why);
    void drop(const PsetRequest &request, const char *why);

    StepState &state_;
    ProcessSets &psets_;
    Sets &sets_;
    PsetMode &mode_;
    PsetDepartures &departures_;
    PsetChanges &changes_;
    AdaptationControl &control_;
    SizeRequestControl &requests_;
    std::optional<PsetRequest> open_;
    bool range_missed_ = false; /* the user was notified that --adapt-range is missing */
};

}  // namespace elastic

#endif /* ELASTIC_PSET_OPERATIONS_H_INCLUDED */
