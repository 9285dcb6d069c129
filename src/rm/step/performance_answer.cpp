/* See performance_answer.h. */

#include "step/performance_answer.h"

#include <cmath>

#include "step/field_rules.h"
#include "step/step_message.h"

namespace elastic::rm {

namespace {

constexpr uint64_t PROCESSES_MAX = 1 << 20;
/* higher than the real maxima */
constexpr size_t LOOPS_MAX = 64, SLOWEST_MAX = 16, STRAGGLERS_MAX = 16;
constexpr size_t ITEMS_MAX = 64, ITEM_BYTES_MAX = 16;

const FieldRules<PerformanceAnswer> ANSWER_FIELDS = {
    {"available", &PerformanceAnswer::available, REQUIRED, 0},
    {"reason", &PerformanceAnswer::reason, OPTIONAL, FOR_PEOPLE},
};
const FieldRules<PerformanceAnswer> AVAILABLE_FIELDS = {
    {"epoch", &PerformanceAnswer::epoch, REQUIRED, STEP_NUMBER_MAX},
    {"size", &PerformanceAnswer::size, REQUIRED, PROCESSES_MAX},
    {"processes", &PerformanceAnswer::processes, REQUIRED, PROCESSES_MAX},
    {"stale", &PerformanceAnswer::stale, REQUIRED, PROCESSES_MAX},
};
const FieldRules<PerformanceAnswer> PROGRESS_FIELDS = {
    {"probes", &PerformanceAnswer::probes, REQUIRED, STEP_NUMBER_MAX},
    {"ms", &PerformanceAnswer::ms, REQUIRED, STEP_NUMBER_MAX},
    {"per_second", &PerformanceAnswer::per_second, OPTIONAL, 0},
    {"recent_per_second", &PerformanceAnswer::recent_per_second, OPTIONAL, 0},
};
const FieldRules<LoopAnswer> LOOP_FIELDS = {
    {"key", &LoopAnswer::key, REQUIRED, LOOP_KEY_BYTES_MAX},
    {"parent", &LoopAnswer::parent, OPTIONAL, LOOP_KEY_BYTES_MAX},
    {"name", &LoopAnswer::name, OPTIONAL, FOR_PEOPLE},
    {"ranks", &LoopAnswer::ranks, REQUIRED, FOR_PEOPLE},
    {"processes", &LoopAnswer::processes, REQUIRED, PROCESSES_MAX},
    {"iterations", &LoopAnswer::iterations, REQUIRED, STEP_NUMBER_MAX},
    {"loop_us", &LoopAnswer::loop_us, REQUIRED, STEP_NUMBER_MAX},
    {"mpi_us", &LoopAnswer::mpi_us, REQUIRED, STEP_NUMBER_MAX},
    {"measured_every", &LoopAnswer::measured_every, OPTIONAL, STEP_NUMBER_MAX},
    {"ratio_min", &LoopAnswer::ratio_min, OPTIONAL, 1},
    {"ratio_max", &LoopAnswer::ratio_max, OPTIONAL, 1},
    {"items_total", &LoopAnswer::items_total, OPTIONAL, STEP_NUMBER_MAX},
};
const FieldRules<SlowRank> SLOW_FIELDS = {
    {"rank", &SlowRank::rank, REQUIRED, PROCESSES_MAX},
    {"host", &SlowRank::host, REQUIRED, FOR_PEOPLE},
    {"mpi_ratio", &SlowRank::mpi_ratio, REQUIRED, 1},
};
const FieldRules<PhaseAnswer> PHASE_FIELDS = {
    {"element", &PhaseAnswer::element, REQUIRED, UINT32_MAX},
    {"name", &PhaseAnswer::name, OPTIONAL, FOR_PEOPLE},
    {"rigid", &PhaseAnswer::is_rigid, OPTIONAL, 0},
    {"processes", &PhaseAnswer::processes, REQUIRED, PROCESSES_MAX},
    {"iteration", &PhaseAnswer::iteration, REQUIRED, STEP_NUMBER_MAX},
    {"iteration_max", &PhaseAnswer::iteration_max, REQUIRED, STEP_NUMBER_MAX},
    {"total", &PhaseAnswer::total, OPTIONAL, STEP_NUMBER_MAX},
    {"iteration_us", &PhaseAnswer::iteration_us, OPTIONAL, 0},
};
const FieldRules<Straggler> BEHIND_FIELDS = {
    {"rank", &Straggler::rank, REQUIRED, PROCESSES_MAX},
    {"host", &Straggler::host, REQUIRED, FOR_PEOPLE},
    {"iteration", &Straggler::iteration, REQUIRED, STEP_NUMBER_MAX},
};

/* A list of objects; empty, or the error.  A missing list counts as empty. */
template <class Each, class Read>
std::string read_list(const Json &object, const char *name, size_t most, std::vector<Each> &list,
                      Read read)
{
    auto found = object.find(name);
    if (found == object.end())
        return "";
    if (!found->is_array() || found->size() > most)
        return "field '" + std::string(name) + "' has a wrong type or is out of bounds";
    for (const Json &each : *found) {
        std::string wrong = read(each, list.emplace_back());
        if (!wrong.empty())
            return "field '" + std::string(name) + "': " + wrong;
    }
    return "";
}

std::string read_slow_rank(const Json &json, SlowRank &rank)
{
    return json.is_object() ? read_fields(json, SLOW_FIELDS, rank) : "an element is not an object";
}

std::string read_item(const Json &json, std::string &item)
{
    if (!take_field(json, item, ITEM_BYTES_MAX))
        return "an element has a wrong type or is out of bounds";
    item = printable(item, Charset::ASCII, ITEM_BYTES_MAX);
    return "";
}

std::string read_loop(const Json &json, LoopAnswer &loop)
{
    if (!json.is_object())
        return "an element is not an object";
    std::string wrong = read_fields(json, LOOP_FIELDS, loop);
    if (wrong.empty())
        wrong = read_list(json, "slowest", SLOWEST_MAX, loop.slowest, read_slow_rank);
    if (wrong.empty())
        wrong = read_list(json, "items", ITEMS_MAX, loop.items, read_item);
    loop.key = printable(loop.key, Charset::ASCII, LOOP_KEY_BYTES_MAX);
    loop.parent = printable(loop.parent, Charset::ASCII, LOOP_KEY_BYTES_MAX);
    return wrong;
}

std::string read_straggler(const Json &json, Straggler &rank)
{
    return json.is_object() ? read_fields(json, BEHIND_FIELDS, rank)
                            : "an element is not an object";
}

/* Null, or missing: not in a phase. */
std::string read_phase(const Json &json, std::optional<PhaseAnswer> &phase)
{
    auto found = json.find("phase");
    if (found == json.end() || found->is_null())
        return "";
    if (!found->is_object())
        return "field 'phase' must be an object";
    std::string wrong = read_fields(*found, PHASE_FIELDS, phase.emplace());
    if (wrong.empty())
        wrong = read_list(*found, "behind", STRAGGLERS_MAX, phase->stragglers, read_straggler);
    return wrong.empty() ? "" : "field 'phase': " + wrong;
}

std::string read_available(const Json &json, PerformanceAnswer &answer)
{
    std::string wrong = read_fields(json, AVAILABLE_FIELDS, answer);
    auto progress = json.find("progress");
    if (wrong.empty() && (progress == json.end() || !progress->is_object()))
        wrong = "field 'progress' must be an object";
    if (wrong.empty())
        wrong = read_fields(*progress, PROGRESS_FIELDS, answer);
    if (wrong.empty())
        wrong = read_phase(json, answer.phase);
    return wrong.empty() ? read_list(json, "loops", LOOPS_MAX, answer.loops, read_loop) : wrong;
}

/* ---- conversion to JSON ---------------------------------------------------------------------- */

Json or_null(const std::string &text)
{
    return text.empty() ? Json() : Json(text);
}

Json or_null(const std::optional<double> &number)
{
    return number ? Json(*number) : Json();
}

Json to_json(const LoopAnswer &loop)
{
    Json slowest = Json::array();
    for (const SlowRank &rank : loop.slowest)
        slowest.push_back(
            {{"rank", rank.rank}, {"host", rank.host}, {"mpi_ratio", rank.mpi_ratio}});
    Json json = {{"key", loop.key},
                 {"parent", or_null(loop.parent)},
                 {"ranks", loop.ranks},
                 {"processes", loop.processes},
                 {"iterations", loop.iterations},
                 {"loop_us", loop.loop_us},
                 {"mpi_us", loop.mpi_us},
                 {"ratio_min", or_null(loop.ratio_min)},
                 {"ratio_max", or_null(loop.ratio_max)},
                 {"slowest", std::move(slowest)},
                 {"items", loop.items},
                 {"items_total", loop.items_total}};
    if (!loop.name.empty())
        json["name"] = loop.name;
    if (loop.measured_every > 0)
        json["measured_every"] = loop.measured_every;
    return json;
}

int64_t ppm_of(double ratio)
{
    return std::llround(std::clamp(ratio, 0.0, 1.0) * static_cast<double>(PPM));
}

/* A possible loop that all processes have measured. */
bool is_distributed(const LoopAnswer &loop, uint64_t size)
{
    return loop.processes == size && loop.iterations > 0 && loop.mpi_us <= loop.loop_us &&
        loop.ratio_min && loop.ratio_max;
}

bool is_phase(const LoopAnswer &loop, const char *kind)
{
    return loop.items.size() == 1 && loop.items[0] == kind;
}

/* For a program with phases, its phases that can adapt count (clause M4 of the EPOP
 * specification).  The probing loop is all of them together: if there are several, each counts
 * separately. */
std::vector<const LoopAnswer *> loops_that_count(const PerformanceAnswer &answer)
{
    std::vector<const LoopAnswer *> loops;
    std::ptrdiff_t elastic_phases = 0;
    for (const LoopAnswer &loop : answer.loops) {
        if (!is_distributed(loop, answer.size) || is_phase(loop, "rigid_phase"))
            continue;
        elastic_phases += is_phase(loop, "elastic_phase");
        loops.push_back(&loop);
    }
    if (elastic_phases == 1)
        std::erase_if(loops,
                      [](const LoopAnswer *loop) { return is_phase(*loop, "elastic_phase"); });
    if (elastic_phases > 1)
        std::erase_if(loops, [](const LoopAnswer *loop) { return loop->key == "probe"; });
    return loops;
}

LoopSample loop_sample(const LoopAnswer &loop)
{
    return {loop.key,
            loop.parent,
            {static_cast<int64_t>(loop.iterations), static_cast<int64_t>(loop.loop_us),
             static_cast<int64_t>(loop.mpi_us)},
            ppm_of(*loop.ratio_min),
            ppm_of(*loop.ratio_max),
            loop.name.substr(0, LOOP_NAME_BYTES_MAX)};
}

/* The position for the core; empty: invalid. */
std::optional<PhasePosition> position_of(const PhaseAnswer &phase)
{
    PhasePosition position;
    position.element = static_cast<int64_t>(phase.element);
    position.is_rigid = phase.is_rigid;
    position.iteration = static_cast<int64_t>(phase.iteration);
    position.total = phase.total ? std::llround(*phase.total) : -1;
    position.iteration_us = phase.iteration_us ? std::llround(*phase.iteration_us) : -1;
    return check(position).empty() ? std::optional(position) : std::nullopt;
}

}  // namespace

Result<PerformanceAnswer> read_performance(const Json &json)
{
    PerformanceAnswer answer;
    std::string wrong = read_fields(json, ANSWER_FIELDS, answer);
    if (wrong.empty() && answer.available)
        wrong = read_available(json, answer);
    if (!wrong.empty())
        return Error{"an answer to performance: " + wrong};
    return answer;
}

Json to_json(const PhaseAnswer &phase)
{
    Json stragglers = Json::array();
    for (const Straggler &rank : phase.stragglers)
        stragglers.push_back(
            {{"rank", rank.rank}, {"host", rank.host}, {"iteration", rank.iteration}});
    return {{"element", phase.element},
            {"name", or_null(phase.name)},
            {"rigid", phase.name.empty() ? Json() : Json(phase.is_rigid)},
            {"processes", phase.processes},
            {"iteration", phase.iteration},
            {"iteration_max", phase.iteration_max},
            {"total", phase.total ? Json(std::llround(*phase.total)) : Json()},
            {"iteration_us", phase.iteration_us ? Json(std::llround(*phase.iteration_us)) : Json()},
            {"behind", std::move(stragglers)}};
}

Json to_json(const PerformanceAnswer &answer)
{
    if (!answer.available)
        return {{"available", false}, {"reason", answer.reason}};
    Json loops = Json::array();
    for (const LoopAnswer &loop : answer.loops)
        loops.push_back(to_json(loop));
    return {{"available", true},
            {"epoch", answer.epoch},
            {"size", answer.size},
            {"processes", answer.processes},
            {"stale", answer.stale},
            {"progress",
             {{"probes", answer.probes},
              {"ms", answer.ms},
              {"per_second", or_null(answer.per_second)},
              {"recent_per_second", or_null(answer.recent_per_second)}}},
            {"phase", answer.phase ? to_json(*answer.phase) : Json()},
            {"loops", std::move(loops)}};
}

std::optional<Sample> sample_of(const PerformanceAnswer &answer, uint64_t epoch_offset)
{
    if (!answer.available)
        return std::nullopt;
    Sample sample;
    sample.epoch = epoch_offset + answer.epoch;
    sample.size = static_cast<int>(answer.size);
    sample.processes = static_cast<int>(answer.processes);
    sample.probes = static_cast<int64_t>(answer.probes);
    sample.epoch_ms = static_cast<int64_t>(answer.ms);
    if (answer.phase)
        sample.position = position_of(*answer.phase);
    std::vector<const LoopAnswer *> distributed = loops_that_count(answer);
    std::stable_sort(
        distributed.begin(), distributed.end(),
        [](const LoopAnswer *a, const LoopAnswer *b) { return a->loop_us > b->loop_us; });
    for (size_t i = 0; i < std::min(distributed.size(), SAMPLE_LOOPS_MAX); i++)
        sample.loops.push_back(loop_sample(*distributed[i]));
    return check(sample).empty() ? std::optional(sample) : std::nullopt;
}

}  // namespace elastic::rm
