/* See job_spec.h. */

#include "core/job_spec.h"

#include <bit>
#include <cmath>

#include "base/change.h"
#include "core/job.h"
#include "core/program_key.h"

namespace elastic::rm {

namespace {

constexpr int SIZE_MAX_PROCESSES = 1 << 20;     /* as in the step protocol */
constexpr int CORES_PER_PROCESS_MAX = 4096;
constexpr int64_t TIME_LIMIT_MAX_MS = int64_t{366} * 86400 * 1000;
constexpr size_t NAME_MAX_BYTES = 255;
constexpr size_t RULE_SHOWN_MAX = 100;

/* The greatest n with n^power <= size. */
int root(int size, int power)
{
    int n = static_cast<int>(std::lround(std::pow(size, 1.0 / power)));
    auto raised = [power](int64_t base) { return power == 2 ? base * base : base * base * base; };
    while (raised(n) > size)
        n--;
    return n;
}

/* The greatest size of the rule that is at most this positive one, without the job's bounds; may
 * be 0. */
int rule_at_most(const JobSpec &spec, int size)
{
    switch (spec.size_rule) {
        case SizeRule::ANY: return size;
        case SizeRule::MULTIPLE: return size - size % spec.size_multiple;
        case SizeRule::POWER_OF_TWO:
            return static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
        case SizeRule::SQUARE: return root(size, 2) * root(size, 2);
        case SizeRule::CUBE: return root(size, 3) * root(size, 3) * root(size, 3);
    }
    return 0;
}

/* The smallest size of the rule that is greater than this size of the rule (or 0). */
int64_t rule_next(const JobSpec &spec, int64_t size)
{
    int n = static_cast<int>(size);
    switch (spec.size_rule) {
        case SizeRule::ANY: return size + 1;
        case SizeRule::MULTIPLE: return size + spec.size_multiple;
        case SizeRule::POWER_OF_TWO: return size == 0 ? 1 : size * 2;
        case SizeRule::SQUARE: return int64_t{root(n, 2) + 1} * (root(n, 2) + 1);
        case SizeRule::CUBE: return int64_t{root(n, 3) + 1} * (root(n, 3) + 1) * (root(n, 3) + 1);
    }
    return 0;
}

}  // namespace

std::string queue_of(const JobSpec &spec)
{
    std::string partition = spec.in ? spec.partition : "";
    return spec.reservation.empty() ? partition : partition + "/" + spec.reservation;
}

const NodeSet &nodes_of_partition(const JobSpec &spec)
{
    static const NodeSet all;
    return spec.in ? spec.in->nodes : all;
}

bool is_own_size(const JobSpec &spec, int size)
{
    return size_at_most(spec, size) == size ||
           (size > spec.maximum && size <= most_processes(spec));
}

std::string describe(const Dependency &dependency)
{
    return std::string(to_string(dependency.kind)) + ":" + std::to_string(dependency.job);
}

int size_at_most(const JobSpec &spec, int size)
{
    if (spec.usable) {
        auto above = std::ranges::upper_bound(*spec.usable, size, {}, &SizeInterval::first);
        return above == spec.usable->begin() ? 0 : std::min(size, std::prev(above)->last);
    }
    size = std::min(size, spec.maximum);
    if (size < spec.minimum)
        return 0;
    int allowed = rule_at_most(spec, size);
    return allowed < spec.minimum ? 0 : allowed;
}

int size_at_least(const JobSpec &spec, int size)
{
    if (spec.usable) {
        auto found = std::ranges::lower_bound(*spec.usable, size, {}, &SizeInterval::last);
        return found == spec.usable->end() ? 0 : std::max(size, found->first);
    }
    size = std::max(size, spec.minimum);
    if (size > spec.maximum)
        return 0;
    int64_t allowed = rule_at_most(spec, size);
    if (allowed < size)
        allowed = rule_next(spec, allowed);
    return allowed > spec.maximum ? 0 : static_cast<int>(allowed);
}

std::string size_rule(const JobSpec &spec)
{
    if (!spec.sizes.empty())
        return spec.sizes;
    std::string rule = to_string(spec.size_rule);
    return spec.size_rule == SizeRule::MULTIPLE ? rule + ":" + std::to_string(spec.size_multiple)
                                                : rule;
}

namespace {

/* Nullopt: it has no name of its own. */
std::optional<SizeRule> named_rule(const ProgramSizes &sizes)
{
    const pmi_adapt_sizes_factor *factor = sizes.only_factor();
    if (!factor)
        return std::nullopt;
    switch (factor->kind) {
        case PMI_ADAPT_SIZES_MULTIPLE: return SizeRule::MULTIPLE;
        case PMI_ADAPT_SIZES_POWER_OF_TWO: return SizeRule::POWER_OF_TWO;
        case PMI_ADAPT_SIZES_SQUARE: return SizeRule::SQUARE;
        case PMI_ADAPT_SIZES_CUBE: return SizeRule::CUBE;
        case PMI_ADAPT_SIZES_DIVISOR: return std::nullopt;
        case PMI_ADAPT_SIZES_RANGE: break;
    }
    bool is_any = factor->a == 1 && factor->b == SIZE_MAX_PROCESSES;
    return is_any ? std::optional(SizeRule::ANY) : std::nullopt;
}

}  // namespace

std::string set_size_rule(JobSpec &spec, const std::string &rule)
{
    auto sizes = ProgramSizes::parse(rule);
    if (!sizes)
        return sizes.error();
    std::optional<SizeRule> named = named_rule(sizes.value());
    spec.size_rule = named.value_or(SizeRule::ANY);
    spec.size_multiple =
        named == SizeRule::MULTIPLE ? sizes.value().only_factor()->a : 1;
    spec.sizes = named ? "" : sizes.value().text();
    set_program_sizes(spec, std::string(spec.program_sizes));
    return "";
}

namespace {

/* A rule, or the lack of one: all sizes. */
Result<ProgramSizes> rule_or_any(const std::string &rule)
{
    return ProgramSizes::parse(rule.empty() ? "any" : rule);
}

void add_size(std::vector<SizeInterval> &ranges, const SizeInterval &more)
{
    if (!ranges.empty() && ranges.back().last + 1 == more.first)
        ranges.back().last = more.last;
    else
        ranges.push_back(more);
}

/* The sizes of both that also obey the named rule. */
std::vector<SizeInterval> common_sizes(const JobSpec &spec, const std::vector<SizeInterval> &some,
                                    const std::vector<SizeInterval> &others)
{
    std::vector<SizeInterval> common;
    for (auto one = some.begin(), other = others.begin();
         one != some.end() && other != others.end();) {
        SizeInterval both = {std::max(one->first, other->first), std::min(one->last, other->last)};
        if (both.first <= both.last && spec.size_rule == SizeRule::ANY)
            add_size(common, both);
        for (int size = both.first; spec.size_rule != SizeRule::ANY && size <= both.last; size++) {
            if (rule_at_most(spec, size) == size)
                add_size(common, {size, size});
        }
        if (one->last < other->last)
            ++one;
        else
            ++other;
    }
    return common;
}

}  // namespace

bool set_program_sizes(JobSpec &spec, const std::string &rule)
{
    spec.program_sizes.clear();
    spec.usable.reset();
    if (rule.empty() && spec.sizes.empty())
        return true;
    auto own = rule_or_any(spec.sizes), of_program = rule_or_any(rule);
    bool is_rule = static_cast<bool>(of_program);
    if (!is_rule)
        of_program = rule_or_any("");
    else
        spec.program_sizes = rule;
    if (!own || (!is_rule && spec.sizes.empty()))
        return is_rule;
    constexpr int ANY_NUMBER = std::numeric_limits<int>::max();
    auto submitted = own.value().ranges(spec.minimum, spec.maximum, SIZE_RANGES_MAX),
         usable = of_program.value().ranges(spec.minimum, spec.maximum, ANY_NUMBER);
    if (submitted)
        spec.usable = std::make_shared<std::vector<SizeInterval>>(
            common_sizes(spec, *submitted, *usable));
    return is_rule;
}

namespace {

/* Empty, or why a job cannot have these GPUs. */
std::string wrong_with_gpus(const JobSpec &spec)
{
    auto is_number = [](int gpus) { return gpus >= 0 && gpus <= GPUS_MAX; };
    if (!is_number(spec.gpus_per_process) || !is_number(spec.gpus_per_node))
        return "a process or a node has 0 to " + std::to_string(GPUS_MAX) + " GPUs";
    if (spec.gpus_per_process > 0 && spec.gpus_per_node > 0)
        return "GPUs are those of each process or of each node, not both";
    bool elastic = spec.elasticity != Elasticity::RIGID;
    if (elastic && spec.gpus_per_node > 0)
        return "an elastic job has GPUs for each process: give gpus_per_process (--gpus-per-task)";
    if (elastic && spec.whole_nodes && needs_gpus(spec))
        return "an elastic job with GPUs shares its nodes: leave out exclusive and nodes";
    if (needs_gpus(spec) && spec.extra_slots > 0)
        return "a job with GPUs has no slots beside its processes: request none";
    return "";
}

/* Empty, or why a job cannot have this number of nodes. */
std::string wrong_with_number(const JobSpec &spec)
{
    std::string nodes = std::to_string(spec.nodes) + (spec.nodes == 1 ? " node" : " nodes");
    if (spec.nodes == 0)
        return "";
    if (spec.nodes < 0 || !spec.whole_nodes || spec.elasticity != Elasticity::RIGID)
        return "a number of nodes is for a rigid job with whole nodes";
    if (spec.nodes > spec.minimum)
        return "a job on " + nodes + " has at least one process on each: it cannot have " +
               std::to_string(spec.minimum);
    if (spec.processes_per_node > 0 && even_share(spec) > spec.processes_per_node)
        return std::to_string(spec.minimum) + " processes do not fit on " + nodes +
               ", at most " + std::to_string(spec.processes_per_node) + " on each";
    if (spec.nodelist.size() > static_cast<size_t>(spec.nodes))
        return "its node list names " + std::to_string(spec.nodelist.size()) +
               " nodes, and the job has " + std::to_string(spec.nodes);
    return "";
}

/* Empty, or why a job cannot have these nodes. */
std::string wrong_with_lists(const JobSpec &spec)
{
    if (spec.nodelist.size() > LISTED_MAX || spec.exclude.size() > LISTED_MAX)
        return "a job names " + std::to_string(LISTED_MAX) + " nodes at most";
    for (const NodeName &node : spec.nodelist) {
        if (spec.exclude.contains(node))
            return "node " + node.str() + " is in its node list, and is excluded";
    }
    int least = size_at_least(spec, 1);
    if (spec.nodelist.size() > static_cast<size_t>(least))
        return "a job has a process on each node of its node list: it names " +
               std::to_string(spec.nodelist.size()) + " nodes, and the job may have only " +
               std::to_string(least) + (least == 1 ? " process" : " processes") +
               "; request more, or name fewer nodes";
    return "";
}

}  // namespace

std::string check(const JobSpec &spec)
{
    auto outside = [](const char *what, int64_t value, int64_t low, int64_t high) {
        return std::string(what) + " is " + std::to_string(value) + "; it must be from " +
               std::to_string(low) + " to " + std::to_string(high);
    };
    if (spec.minimum < 1 || spec.minimum > SIZE_MAX_PROCESSES)
        return outside("the minimum", spec.minimum, 1, SIZE_MAX_PROCESSES);
    if (spec.maximum < spec.minimum || spec.maximum > SIZE_MAX_PROCESSES)
        return outside("the maximum", spec.maximum, spec.minimum, SIZE_MAX_PROCESSES);
    if (spec.elasticity == Elasticity::RIGID && spec.minimum != spec.maximum)
        return "a rigid job has one size: give the same minimum and maximum, or make it moldable "
               "or malleable";
    if (spec.size_multiple < 1 || spec.size_multiple > SIZE_MAX_PROCESSES)
        return outside("the multiple", spec.size_multiple, 1, SIZE_MAX_PROCESSES);
    if (!spec.sizes.empty() && !spec.usable) {  /* it is stored, or has too many */
        JobSpec complete = spec;
        set_program_sizes(complete, "");
        return complete.usable ? check(complete)
                               : "the rule of its sizes allows more than " +
                                     std::to_string(SIZE_RANGES_MAX) +
                                     " sizes with gaps: give a smaller maximum";
    }
    if (size_at_least(spec, 1) == 0)
        return "no size from " + std::to_string(spec.minimum) + " to " +
               std::to_string(spec.maximum) + " is one of the rule '" +
               elastic::shorten(size_rule(spec), RULE_SHOWN_MAX) + "'";
    if (spec.preferred != 0 && size_at_most(spec, spec.preferred) != spec.preferred)
        return "the preferred size " + std::to_string(spec.preferred) +
               " is not one that the job can have";
    if (spec.extra_slots < 0 || spec.extra_slots > static_cast<int>(SLOTS_MAX))
        return outside("the places", spec.extra_slots, 0, SLOTS_MAX);
    if (spec.cores_per_process < 1 || spec.cores_per_process > CORES_PER_PROCESS_MAX)
        return outside("cores per process", spec.cores_per_process, 1, CORES_PER_PROCESS_MAX);
    if (spec.processes_per_node < 0 || spec.processes_per_node > SIZE_MAX_PROCESSES)
        return outside("processes per node", spec.processes_per_node, 0, SIZE_MAX_PROCESSES);
    if (std::string wrong = wrong_with_lists(spec); !wrong.empty())
        return wrong;
    if (std::string wrong = wrong_with_number(spec); !wrong.empty())
        return wrong;
    if (std::string wrong = wrong_with_gpus(spec); !wrong.empty())
        return wrong;
    if (spec.time_limit_ms < 0 || spec.time_limit_ms > TIME_LIMIT_MAX_MS)
        return outside("the time limit in ms", spec.time_limit_ms, 0, TIME_LIMIT_MAX_MS);
    if (spec.expect_ms < 0 || spec.expect_ms > TIME_LIMIT_MAX_MS)
        return outside("the expected time in ms", spec.expect_ms, 0, TIME_LIMIT_MAX_MS);
    if (spec.serial_ppm != NEVER && (spec.serial_ppm < 0 || spec.serial_ppm > PPM))
        return outside("the serial part in ppm", spec.serial_ppm, 0, PPM);
    if (!is_program(spec.program))
        return "the key of its program is not valid";
    if (spec.priority < -PRIORITY_MAX || spec.priority > PRIORITY_MAX)
        return outside("the priority", spec.priority, -PRIORITY_MAX, PRIORITY_MAX);
    if (spec.begin_ms < 0 || spec.begin_ms > BEGIN_MAX_MS)
        return outside("the time to begin in ms", spec.begin_ms, 0, BEGIN_MAX_MS);
    if (spec.dependencies.size() > DEPENDENCIES_MAX)
        return "a job can wait for " + std::to_string(DEPENDENCIES_MAX) + " others at most";
    if (auto array = spec.array.empty() ? ArrayIndices() : parse_array(spec.array); !array)
        return array.error();
    if (spec.name.size() > NAME_MAX_BYTES || spec.user.size() > NAME_MAX_BYTES)
        return "a name has more than " + std::to_string(NAME_MAX_BYTES) + " bytes";
    return "";
}

std::string describe_sizes(const JobSpec &spec)
{
    std::string text = "was submitted for " + std::to_string(spec.minimum);
    if (spec.maximum != spec.minimum)
        text += " to " + std::to_string(spec.maximum);
    text += spec.maximum == 1 ? " process" : " processes";
    if (std::string rule = size_rule(spec); spec.maximum != spec.minimum && rule != "any")
        text += ", sizes of the rule '" + elastic::shorten(rule, RULE_SHOWN_MAX) + "'";
    if (!spec.program_sizes.empty())
        text += ", and its program can use '" +
                elastic::shorten(spec.program_sizes, RULE_SHOWN_MAX) + "'";
    return text;
}

}  // namespace elastic::rm
