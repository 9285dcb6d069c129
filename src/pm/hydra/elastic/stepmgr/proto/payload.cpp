/* See payload.h. */

#include "stepmgr/proto/payload.h"

#include "base/change.h"
#include "wire/request_messages.h"

#include <sys/wait.h>
#include <algorithm>
#include <cstring>

namespace elastic {

namespace {

/* Takes values of fixed size from the front.  If too few bytes are left, ok() is false from then
 * on. */
class Reader {
  public:
    explicit Reader(Bytes bytes) : bytes_(bytes) {}

    template <class Value> Value take()
    {
        Value value = {};
        ok_ = ok_ && bytes_.size() >= sizeof value;
        if (ok_) {
            std::memcpy(&value, bytes_.data(), sizeof value);
            bytes_ = bytes_.subspan(sizeof value);
        }
        return value;
    }
    template <class... Values> void take(Values &...values) { ((values = take<Values>()), ...); }
    std::string rest()
    {
        std::string text(bytes_.begin(), bytes_.end());
        bytes_ = {};
        return text;
    }
    size_t left() const { return bytes_.size(); }
    bool holds() const { return ok_; }
    bool complete() const { return ok_ && bytes_.empty(); }

  private:
    Bytes bytes_;
    bool ok_ = true;
};

/* The bytes of all values, concatenated. */
template <class... Values> std::string bytes_of(const Values &...values)
{
    return (std::string(reinterpret_cast<const char *>(&values), sizeof values) + ...);
}

constexpr size_t PERFORMANCE_BYTES = 4 + 4 + 8 * 8;

}  // namespace

bool is_plain(const std::string &text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool is_ceiling(uint64_t number)
{
    return number != PMI_ADAPT_GATE_OPEN && number != PMI_ADAPT_GATE_SHUT;
}

bool is_inside(uint32_t phase)
{
    return phase == PMI_ADAPT_PHASE_BEGIN || phase == PMI_ADAPT_PHASE_WINDOW ||
           phase == PMI_ADAPT_PHASE_COMMIT;
}

std::optional<SampleReport> parse_performance(Bytes payload)
{
    Reader reader(payload);
    SampleReport report;
    size_t rows = reader.take<uint32_t>();
    reader.take(report.stale);
    if (reader.left() / PERFORMANCE_BYTES < rows)
        return std::nullopt;
    report.rows.resize(rows);
    for (PerformanceReport &row : report.rows) {
        reader.take(row.rank, row.every, row.count, row.iterations, row.loop_ns, row.mpi_ns,
                    row.phase, row.iteration, row.total, row.element);
    }
    auto loops = LoopSet::read(payload.last(reader.left()));
    if (!loops)
        return std::nullopt;
    report.loops = std::move(*loops);
    return report;
}

std::optional<LoopsReport> parse_loops(Bytes payload)
{
    Reader reader(payload);
    LoopsReport report;
    reader.take(report.group);
    auto loops = LoopSet::read(payload.last(reader.left()));
    if (!loops)
        return std::nullopt;
    report.loops = std::move(*loops);
    return report;
}

std::optional<SizeRequestReport> parse_size_request(Bytes payload)
{
    constexpr uint64_t UNTIL_MAX_MS = uint64_t{1} << 52;        /* exact in every JSON reader */
    Reader reader(payload);
    auto made = reader.take<request_made>();
    auto is_size = [](uint32_t size) { return size >= 1 && size <= uint32_t{SIZE_MAX_PROCESSES}; };
    bool is_known =
        made.kind == PMI_ADAPT_REQUEST_PROCESSES || made.kind == PMI_ADAPT_REQUEST_MODIFY;
    bool holds = is_known && made.number >= 1 && made.number <= PMI_ADAPT_REQUEST_NUMBER_MAX &&
                 is_size(made.size_min) && is_size(made.size_max) && made.size_min <= made.size &&
                 made.size <= made.size_max && made.until_ms <= UNTIL_MAX_MS;
    if (!holds)
        return std::nullopt;
    SizeRequestReport report{made.rank,
                             made.number,
                             static_cast<int>(made.size),
                             static_cast<int>(made.size_min),
                             static_cast<int>(made.size_max),
                             made.until_ms,
                             reader.rest(),
                             made.kind == PMI_ADAPT_REQUEST_MODIFY};
    bool is_text = pmi_adapt_request_reason_holds(report.reason.data(), report.reason.size());
    return reader.complete() && is_text ? std::optional(std::move(report)) : std::nullopt;
}

std::optional<SetReport> parse_set_report(Bytes payload)
{
    Reader reader(payload);
    SetReport report;
    reader.take(report.rank, report.id);
    if (reader.left() > PMI_SET_CALL_MAX || !reader.holds())
        return std::nullopt;
    report.call = payload.subspan(payload.size() - reader.left());
    return report;
}

std::string write_number(uint64_t number)
{
    return bytes_of(number);
}

std::string write_counts(std::span<const CountReport> reports)
{
    return write_counts(CountsReport{{reports.begin(), reports.end()}});
}

std::string write_performance(std::span<const PerformanceReport> reports, const LoopSet &loops,
                              uint32_t stale)
{
    std::string text = bytes_of(static_cast<uint32_t>(reports.size()), stale);
    for (const PerformanceReport &report : reports)
        text +=
            bytes_of(report.rank, report.every, report.count, report.iterations, report.loop_ns,
                     report.mpi_ns, report.phase, report.iteration, report.total, report.element);
    return text + loops.write();
}

std::string write_loops(const LoopsReport &report)
{
    return bytes_of(report.group) + report.loops.write();
}

std::string write_size_request(const SizeRequestReport &report)
{
    request_made made = {};
    made.rank = report.rank;
    made.number = report.number;
    made.kind = report.modify ? PMI_ADAPT_REQUEST_MODIFY : PMI_ADAPT_REQUEST_PROCESSES;
    made.size = static_cast<uint32_t>(report.size);
    made.size_min = static_cast<uint32_t>(report.size_min);
    made.size_max = static_cast<uint32_t>(report.size_max);
    made.until_ms = report.until_ms;
    return bytes_of(made) + report.reason;
}

std::string write_set_report(uint32_t rank, uint32_t id, const std::string &call)
{
    return bytes_of(rank, id) + call;
}

std::string describe_wait_status(uint32_t wait_status)
{
    int status = static_cast<int>(wait_status);
    if (WIFSIGNALED(status)) {
        const char *name = sigdescr_np(WTERMSIG(status));
        return "was killed by signal " + std::to_string(WTERMSIG(status)) +
               (name ? " (" + std::string(name) + ")" : "");
    }
    return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

bool exited_by_itself(uint32_t wait_status)
{
    return WIFEXITED(static_cast<int>(wait_status));
}

bool exited_cleanly(uint32_t wait_status)
{
    return wait_status == 0;
}

}  // namespace elastic
