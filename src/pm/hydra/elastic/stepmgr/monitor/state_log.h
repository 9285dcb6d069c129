/*
 * mpiexec --sets-log: the slot and the state of each process, a line for each event, as
 * libmpidynres' log of states.  Slots are numbered from 1 on; a new process gets the lowest free
 * one, and keeps it.  Pure: states in, lines out.  SM1, SM2.
 */

#ifndef ELASTIC_STATE_LOG_H_INCLUDED
#define ELASTIC_STATE_LOG_H_INCLUDED

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

enum class SlotState : char {
    IDLE = 'I',
    RESERVED = 'P',             /* its process is started, but does not belong to the job yet */
    RUNNING = 'R',
    PROPOSED = 'S',             /* its process is to leave: the program has been notified */
    ACCEPTED = 'A'              /* its process is to leave: the program has accepted */
};

class StateLog {
  public:
    /* `slots`: number of slots in the header; there may be more later. */
    StateLog(size_t slots, bool colours)
        : numbered_(slots), colours_(colours), states_(slots, SlotState::IDLE)
    {}

    /* Several lines, each with its newline but the last. */
    std::string header() const;

    /* `processes`: all processes in the order in which they joined, and their states. */
    void update(const std::vector<std::pair<uint32_t, SlotState>> &processes);
    /* Milliseconds with a fraction, a letter for each slot, the event. */
    std::string line(int64_t time_us, const std::string &event) const;

  private:
    static constexpr size_t TIME_WIDTH = 13;    /* with unit and blank */

    size_t slot_of(uint32_t uid);

    size_t numbered_;
    bool colours_;
    std::vector<SlotState> states_;     /* of slot 1, 2, ... */
    std::map<uint32_t, size_t> slots_;  /* by uid, from 0 */
};

}  // namespace elastic

#endif /* ELASTIC_STATE_LOG_H_INCLUDED */
