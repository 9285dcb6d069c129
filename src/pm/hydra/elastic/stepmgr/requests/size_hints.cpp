/*
 * See size_requests.h: sizes that a program prefers (MPIX_Session_add_scheduling_hints).  The sizes
 * limit --adapt-range.  A size that the job does not have becomes a size request.  With a resource
 * manager all hints do, and it gets unknown keys too.  Invalid hints are ignored and are no error.
 * SR10, SC2.
 */

#include "stepmgr/requests/size_requests.h"

#include <algorithm>
#include <charconv>

namespace elastic {

namespace {

constexpr size_t EVENT_KEYS_MAX = 32, EVENT_VALUE_MAX = 128;

template <class Number> std::optional<Number> number_of(const std::string &text)
{
    Number number{};
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    bool whole = !text.empty() && status == std::errc() && end == text.data() + text.size();
    return whole ? std::optional(number) : std::nullopt;
}

/* Reads the hints of a program, and records which of them are used. */
class Hints {
  public:
    explicit Hints(const SetData &given) : given_(given) {}

    /* A number of processes, under its key or that of libmpidynres; 0: missing or invalid. */
    int size(const char *key, const char *mpidynres_key)
    {
        for (const char *name : {key, mpidynres_key}) {
            auto found = given_.find(name);
            auto value = found == given_.end() ? std::nullopt : number_of<int>(found->second);
            if (value && *value >= 1 && *value <= SIZE_MAX_)
                return follow(name), *value;
        }
        return 0;
    }
    std::optional<double> number(const char *key) const
    {
        auto found = given_.find(key);
        return found == given_.end() ? std::nullopt : number_of<double>(found->second);
    }
    std::string text(const char *key)
    {
        auto found = given_.find(key);
        return found == given_.end() ? "" : (follow(key), found->second);
    }
    void follow(const std::string &key) { followed_.insert(key); }
    void unfollow(std::initializer_list<const char *> keys)
    {
        for (const char *key : keys)
            followed_.erase(key);
    }
    std::string followed() const
    {
        std::string list;
        for (const std::string &key : followed_)
            list += (list.empty() ? "" : ",") + key;
        return list;
    }

  private:
    static constexpr int SIZE_MAX_ = 1 << 20;
    const SetData &given_;
    std::set<std::string> followed_;
};

}  // namespace

std::string SizeRequests::add_hints(uint32_t uid, const SetData &given)
{
    if (!state_.managed && !source_.range())
        return SetAnswer().number(0).data({}).bytes();
    Hints hints(given);
    Range sizes = {std::max(1, hints.size("mpix_size_min", "mpi_num_procs_min")),
                   hints.size("mpix_size_max", "mpi_num_procs_max")};
    int preferred = hints.size("mpix_size_preferred", "mpi_num_procs_pref");
    sizes.max = sizes.max == 0 ? INT32_MAX : sizes.max;
    std::string reason = hints.text("mpix_reason");
    if (sizes.min > sizes.max || (!state_.managed && !source_.limit(sizes))) {
        hints.unfollow(
            {"mpix_size_min", "mpi_num_procs_min", "mpix_size_max", "mpi_num_procs_max"});
        sizes = {1, INT32_MAX};
    }
    if (!state_.managed)
        sizes = *source_.range();
    if (preferred != 0 && (preferred < sizes.min || preferred > sizes.max)) {
        hints.unfollow({"mpix_size_preferred", "mpi_num_procs_pref"});
        preferred = 0;
    }
    Policy *policy = source_.policy();
    if (auto deviation = hints.number("manager_std_dev");
        deviation && policy && policy->set_deviation(*deviation))
        hints.follow("manager_std_dev");
    if (auto change = hints.number("manager_change_prob");
        change && policy && policy->set_probability(*change))
        hints.follow("manager_change_prob");
    if (rate_.allows(state_.now_ms)) {
        Json noted = Json::object();
        for (auto hint = given.begin(); hint != given.end() && noted.size() < EVENT_KEYS_MAX;
             ++hint)
            noted[hint->first] = hint->second.substr(0, EVENT_VALUE_MAX);
        state_.journal.add(state_.now_ms, "hints", {{"uid", uid}, {"hints", noted}});
        request_for_hints(sizes, preferred, reason);
    }
    SetData notified = {{"mpix_accepted", hints.followed()}};
    if (const auto &range = source_.range()) {
        notified["mpix_size_min"] = std::to_string(range->min);
        notified["mpix_size_max"] = std::to_string(range->max);
    }
    return SetAnswer().number(1).data(notified).bytes();
}

/* Does not replace a size request of a process. */
void SizeRequests::request_for_hints(const Range &sizes, int preferred, const std::string &reason)
{
    hooks_.drop_ended();
    int present = state_.world.size();
    SizeRequest size_request;
    size_request.origin = Origin::HINTS;
    int &size = size_request.wanted.size;
    size = preferred != 0 ? preferred : std::clamp(present, sizes.min, sizes.max);
    size_request.size_min = sizes.min;
    size_request.size_max = sizes.max == INT32_MAX ? std::max(present, size) : sizes.max;
    size_request.reason = reason;
    if (size != present && !hooks_.operation_waits() && !state_.ending)
        submit(size_request);
}

}  // namespace elastic
