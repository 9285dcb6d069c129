/*
 * Events of the step: one JSON object each, written to --adapt-log, stored in a bounded history,
 * and sent to the clients of the step protocol that follow.  doc/developer/step-events.md lists the
 * events.
 */

#ifndef ELASTIC_JOURNAL_H_INCLUDED
#define ELASTIC_JOURNAL_H_INCLUDED

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <nlohmann/json.hpp>
#include <string>

#include "stepmgr/stepmgr.h"

namespace elastic {

using Json = nlohmann::ordered_json;

/* Events of size requests, and the field of their number.  Resource managers read and store the
 * names. */
constexpr const char *SIZE_REQUESTED = "wish", *SIZE_REQUEST_ENDED = "wish_ended",
                     *REQUEST_NUMBER = "wish";

/* Never throws: bytes that are not UTF-8 are replaced. */
std::string write_line(const Json &json);

/* "2026-11-21T09:05:50.123456Z" */
std::string format_wall(int64_t unix_us);

class Journal {
  public:
    static constexpr size_t HISTORY_MAX = 1024;

    Journal(std::string step_id, const step_config &config, const step_effects &effects);

    void id(std::string step_id) { step_id_ = std::move(step_id); }

    using Observer = std::function<void(int64_t time_us, const char *event, const Json &fields)>;
    /* Sees every event after it has been logged. */
    void observe(Observer observer) { observer_ = std::move(observer); }

    /* `fields` is an object; they follow the common ones. */
    void add(int64_t now_ms, const char *event, const Json &fields);

    /* Sends the events from number `since` on that are still stored, then, if `follow`, those to
     * come until `stop`. */
    void send(int client, uint64_t since, bool follow);
    void stop(int client) { followers_.erase(client); }

    uint64_t oldest() const { return next_ - history_.size(); }
    uint64_t next() const { return next_; }

  private:
    int64_t precise_us(int64_t now_ms) const;

    std::string step_id_;
    const step_effects &effects_;
    int64_t unix_ms_at_zero_;
    uint64_t next_ = 1;
    std::deque<std::string> history_;
    std::set<int> followers_;
    Observer observer_;
};

}  // namespace elastic

#endif /* ELASTIC_JOURNAL_H_INCLUDED */
