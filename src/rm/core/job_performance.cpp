/* See job_performance.h. */

#include "core/job_performance.h"

namespace elastic::rm {

namespace {

constexpr int64_t HUNDRED = 100;
constexpr int64_t STATISTICS_MAX = 1 << 15;     /* then the past values count half */
/* of the time of an inner loop: then the outer one is the phase (J3) */
constexpr int64_t SAME_PERCENT = 95;
constexpr int64_t FIT_UNITS = 1000;             /* units of the time of the window */
constexpr int64_t ITERATIONS_MIN = 3, SAMPLES_MIN = 2;

bool is_sum(int64_t value)
{
    return value >= 0 && value <= SAMPLE_SUM_MAX;
}

bool are_sums(const LoopSums &sums)
{
    return is_sum(sums.iterations) && is_sum(sums.loop_us) && is_sum(sums.mpi_us) &&
        sums.mpi_us <= sums.loop_us;
}

bool is_key(const std::string &key)
{
    return key.size() <= LOOP_KEY_BYTES_MAX &&
           key.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz") == std::string::npos;
}

bool is_interval(const Interval &interval)
{
    return interval.size >= 1 && is_sum(interval.until_ms) && is_sum(interval.ms) &&
        is_sum(interval.probes) && are_sums(interval.phase) && is_key(interval.key);
}

std::string check(const LoopSample &loop)
{
    if (loop.key.empty() || !is_key(loop.key) || !is_key(loop.parent))
        return "the key of a loop is not valid";
    if (loop.name.size() > LOOP_NAME_BYTES_MAX)
        return "the name of loop " + loop.key + " is too long";
    if (!are_sums(loop.sums))
        return "loop " + loop.key + " has times that are not valid";
    if (loop.ratio_min_ppm < 0 || loop.ratio_min_ppm > loop.ratio_max_ppm ||
        loop.ratio_max_ppm > PPM)
        return "loop " + loop.key + " has ratios that are not valid";
    return "";
}

const LoopSample *find(const std::vector<LoopSample> &loops, const std::string &key)
{
    auto found = std::find_if(loops.begin(), loops.end(), [&](const LoopSample &loop) {
        return loop.key == key;
    });
    return found == loops.end() ? nullptr : &*found;
}

LoopSums difference(const LoopSums &now, const LoopSums &before)
{
    return {now.iterations - before.iterations, now.loop_us - before.loop_us,
            now.mpi_us - before.mpi_us};
}

/* The measurement since the previous sample; for the first of an epoch: since the commit.
 * Empty: unknown. */
std::optional<LoopSums> since(const Performance &known, const LoopSample &loop)
{
    if (known.samples == 0)
        return loop.sums;
    const LoopSample *before = find(known.newest.loops, loop.key);
    bool rises = before && loop.sums.iterations >= before->sums.iterations &&
        loop.sums.loop_us >= before->sums.loop_us && loop.sums.mpi_us >= before->sums.mpi_us;
    if (!rises)
        return std::nullopt;
    LoopSums between = difference(loop.sums, before->sums);
    return between.mpi_us <= between.loop_us ? std::optional(between) : std::nullopt;
}

/* J3.  Null: no distributed loop has been measured in this interval. */
const LoopSample *find_phase(const Performance &known, const std::vector<LoopSample> &loops)
{
    auto time_of = [&](const LoopSample &loop) {
        auto sums = since(known, loop);
        return sums ? sums->loop_us : 0;
    };
    const LoopSample *longest = nullptr;
    for (const LoopSample &loop : loops)
        if (time_of(loop) > (longest ? time_of(*longest) : 0))
            longest = &loop;
    /* at least some time: else nothing is known about it in this interval */
    int64_t same_us =
        longest ? std::max<int64_t>(time_of(*longest) / HUNDRED * SAME_PERCENT, 1) : 0;
    const LoopSample *phase = longest, *outer = longest;
    for (size_t depth = 0; outer && depth < loops.size(); depth++) {
        outer = find(loops, outer->parent);
        if (outer && time_of(*outer) >= same_us)
            phase = outer;
    }
    return phase;
}

/* ---- history --------------------------------------------------------------------------------- */

/* Removes one entry: merges the shortest two neighbours of one size, so that the resolution
 * stays about equal.  If there are none, removes the oldest. */
void shorten(std::vector<Interval> &history)
{
    size_t best = 0;            /* the second of the two */
    for (size_t i = 1; i < history.size(); i++) {
        bool shorter = best == 0 ||
            history[i - 1].ms + history[i].ms < history[best - 1].ms + history[best].ms;
        bool same = history[i - 1].size == history[i].size && history[i - 1].key == history[i].key;
        if (same && shorter)
            best = i;
    }
    if (best > 0)
        join(history[best - 1], history[best]);
    history.erase(history.begin() + static_cast<ptrdiff_t>(best));
}

/* ---- the phase ------------------------------------------------------------------------------- */

void begin_phase(Performance &known, const LoopSample *phase)
{
    const LoopSample *before = phase ? find(known.newest.loops, phase->key) : nullptr;
    known.phase = phase ? phase->key : "";
    known.phase_began = known.samples > 0 && before ? before->sums : LoopSums();
    known.window.clear();
    known.statistics = {};
}

/* The least-squares line through the intervals' values over time, at the last of them.  There
 * are at most MONITOR_WINDOW_MAX values, each at most MTCT_MAX_PPM, so that all fits into 64
 * bits. */
int64_t fit_at_end(const std::vector<int64_t> &at_ms, const std::vector<int64_t> &values)
{
    auto n = static_cast<int64_t>(values.size());
    int64_t first_ms = at_ms.front(), span_ms = std::max<int64_t>(at_ms.back() - first_ms, 1);
    int64_t sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (size_t i = 0; i < values.size(); i++) {
        int64_t x = std::clamp<int64_t>(at_ms[i] - first_ms, 0, span_ms) * FIT_UNITS / span_ms;
        sum_x += x;
        sum_y += values[i];
        sum_xx += x * x;
        sum_xy += x * values[i];
    }
    /* slope: times spread */
    int64_t spread = n * sum_xx - sum_x * sum_x, slope = n * sum_xy - sum_x * sum_y;
    if (spread == 0)
        return sum_y / n;
    int64_t from_mean = n * FIT_UNITS - sum_x;  /* of x, times n */
    return sum_y / n + slope / spread * from_mean / n + slope % spread * from_mean / (spread * n);
}

}  // namespace

void join(Interval &left, const Interval &right)
{
    left.until_ms = right.until_ms;
    left.ms = std::min(left.ms + right.ms, SAMPLE_SUM_MAX);
    left.probes = std::min(left.probes + right.probes, SAMPLE_SUM_MAX);
    left.phase.iterations =
        std::min(left.phase.iterations + right.phase.iterations, SAMPLE_SUM_MAX);
    left.phase.loop_us = std::min(left.phase.loop_us + right.phase.loop_us, SAMPLE_SUM_MAX);
    left.phase.mpi_us = std::min(left.phase.mpi_us + right.phase.mpi_us, left.phase.loop_us);
}

/* ---- samples --------------------------------------------------------------------------------- */

std::string check(const PhasePosition &position)
{
    bool fits = is_sum(position.element) && is_sum(position.iteration) &&
        (position.total == -1 || is_sum(position.total)) &&
        (position.iteration_us == -1 || is_sum(position.iteration_us));
    return fits ? "" : "its position in the program is not valid";
}

std::string check(const Sample &sample)
{
    if (sample.size < 1 || sample.processes < 1 || sample.processes > sample.size)
        return "it is of more processes than there are, or of none";
    if (!is_sum(sample.probes) || !is_sum(sample.epoch_ms))
        return "its progress is not valid";
    if (sample.loops.size() > SAMPLE_LOOPS_MAX)
        return "it has too many loops";
    if (std::string wrong = sample.position ? check(*sample.position) : ""; !wrong.empty())
        return wrong;
    for (size_t i = 0; i < sample.loops.size(); i++) {
        if (std::string wrong = check(sample.loops[i]); !wrong.empty())
            return wrong;
        if (find(sample.loops, sample.loops[i].key) != &sample.loops[i])
            return "loop " + sample.loops[i].key + " is there twice";
    }
    return "";
}

std::string check(const Performance &known)
{
    const MtctStatistics &statistics = known.statistics;
    std::string wrong = known.samples > 0 ? check(known.newest) : "";
    if (!wrong.empty())
        return wrong;
    if (known.samples < 0 ||
        (known.samples == 0 && (known.newest.epoch_ms != 0 || known.newest.probes != 0)))
        return "it has counts that are not valid";
    if (!is_key(known.phase) || !are_sums(known.phase_began))
        return "its phase is not valid";
    if (known.window.size() > MONITOR_WINDOW_MAX ||
        known.history.size() > PERFORMANCE_HISTORY_MAX ||
        !std::all_of(known.window.begin(), known.window.end(), is_interval) ||
        !std::all_of(known.history.begin(), known.history.end(), is_interval))
        return "its intervals are not valid";
    bool fits = statistics.count >= 0 && statistics.count <= STATISTICS_MAX &&
        statistics.sum_ppm >= 0 && statistics.sum_ppm <= statistics.count * MTCT_MAX_PPM &&
        statistics.squares >= 0 &&
        statistics.squares <=
            statistics.count * (MTCT_MAX_PPM / HUNDRED) * (MTCT_MAX_PPM / HUNDRED);
    return fits ? "" : "its statistics are not valid";
}

bool is_change(const Performance &known, const Sample &sample)
{
    if (!check(sample).empty() || sample.epoch != known.newest.epoch)
        return false;
    const Sample &before = known.newest;
    if (known.samples > 0 && (sample.epoch_ms <= before.epoch_ms || sample.probes < before.probes))
        return false;           /* from an earlier time */
    if (known.samples == 0 || sample.probes > before.probes || sample.position != before.position)
        return true;
    return std::any_of(sample.loops.begin(), sample.loops.end(), [&](const LoopSample &loop) {
        const LoopSample *same = find(before.loops, loop.key);
        return !same || !(*same == loop);
    });
}

namespace {

/* Loops that are missing in it are copied from the previous one. */
void replace_newest(Performance &known, const Sample &sample, int64_t now_ms)
{
    std::vector<LoopSample> before = std::exchange(known.newest, sample).loops;
    for (LoopSample &loop : before)
        if (known.newest.loops.size() < SAMPLE_LOOPS_MAX && !find(known.newest.loops, loop.key))
            known.newest.loops.push_back(std::move(loop));
    known.sampled_ms = now_ms;
    known.samples++;
    known.scaling.reset();
}

/* The measurement of its phase begins again. */
void take_interrupted(Performance &known, const Sample &sample, int64_t now_ms)
{
    known.interrupted = false;
    replace_newest(known, sample, now_ms);
    begin_phase(known, find(known.newest.loops, known.phase));
}

}  // namespace

void take(Performance &known, const Sample &sample, int64_t now_ms, size_t window)
{
    if (known.interrupted)
        return take_interrupted(known, sample, now_ms);
    Interval interval;
    interval.until_ms = now_ms;
    interval.size = sample.size;
    interval.ms = sample.epoch_ms - known.newest.epoch_ms;
    interval.probes = sample.probes - known.newest.probes;
    const LoopSample *phase = find_phase(known, sample.loops);
    if (phase && phase->key != known.phase)
        begin_phase(known, phase);
    if (phase) {
        interval.phase = *since(known, *phase);
        interval.key = phase->key;
    }
    if (auto mtct = mtct_ppm(interval.phase)) {
        known.window.push_back(interval);
        if (known.window.size() > window)
            known.window.erase(known.window.begin());
        known.statistics.add(*mtct);
    }
    known.history.push_back(interval);
    if (known.history.size() > PERFORMANCE_HISTORY_MAX)
        shorten(known.history);
    replace_newest(known, sample, now_ms);
}

void invalidate_epoch(Performance &known, uint64_t epoch)
{
    known.newest = {};
    known.newest.epoch = epoch;
    known.samples = 0;
    known.interrupted = false;
    begin_phase(known, nullptr);
    known.scaling.reset();
}

/* ---- ratios ---------------------------------------------------------------------------------- */

std::optional<int64_t> mtct_ppm(const LoopSums &sums)
{
    if (sums.loop_us <= 0)
        return std::nullopt;
    int64_t computing_us = sums.loop_us - sums.mpi_us;
    if (computing_us <= sums.mpi_us / (MTCT_MAX_PPM / PPM))
        return MTCT_MAX_PPM;
    /* mpi_us * PPM would be too much for 64 bits */
    int64_t whole = sums.mpi_us / computing_us, rest = sums.mpi_us % computing_us;
    int64_t parts = rest <= INT64_MAX / PPM
        ? rest * PPM / computing_us
        : rest / (computing_us / PPM);
    return std::min(whole * PPM + parts, MTCT_MAX_PPM);
}

std::optional<int64_t> mpi_share_ppm(const LoopSums &sums)
{
    if (sums.loop_us <= 0)
        return std::nullopt;
    return sums.mpi_us <= INT64_MAX / PPM
        ? sums.mpi_us * PPM / sums.loop_us
        : sums.mpi_us / (sums.loop_us / PPM);
}

void MtctStatistics::add(int64_t mtct_ppm)
{
    if (count >= STATISTICS_MAX) {
        count /= 2;
        sum_ppm /= 2;
        squares /= 2;
    }
    min_ppm = count == 0 ? mtct_ppm : std::min(min_ppm, mtct_ppm);
    max_ppm = count == 0 ? mtct_ppm : std::max(max_ppm, mtct_ppm);
    count++;
    sum_ppm += mtct_ppm;
    squares += (mtct_ppm / HUNDRED) * (mtct_ppm / HUNDRED);
}

int64_t MtctStatistics::deviation_ppm() const
{
    if (count < 2)
        return 0;
    int64_t mean = sum_ppm / count / HUNDRED;
    int64_t variance = std::max<int64_t>(squares / count - mean * mean, 0), root = variance;
    /* Newton's method: decreases until it is the integer root */
    for (int64_t next = (root + 1) / 2; next < root; next = (root + variance / root) / 2)
        root = next;
    return root * HUNDRED;
}

const LoopSample *phase_loop(const Performance &known)
{
    return known.phase.empty() ? nullptr : find(known.newest.loops, known.phase);
}

LoopSums phase_sums(const Performance &known)
{
    const LoopSample *now = phase_loop(known);
    if (!now)
        return {};
    LoopSums sums = difference(now->sums, known.phase_began);
    bool rises = sums.iterations >= 0 && sums.mpi_us >= 0 && sums.mpi_us <= sums.loop_us;
    return rises ? sums : LoopSums();
}

std::optional<int64_t> accumulated_mtct_ppm(const Performance &known)
{
    return mtct_ppm(phase_sums(known));
}

std::optional<int64_t> recent_mtct_ppm(const Performance &known)
{
    constexpr size_t FIT_MIN = 3;
    LoopSums sums;
    std::vector<int64_t> at_ms, values;
    for (const Interval &interval : known.window) {
        auto mtct = mtct_ppm(interval.phase);
        if (!mtct)
            continue;
        at_ms.push_back(interval.until_ms);
        values.push_back(*mtct);
        sums.loop_us = std::min(sums.loop_us + interval.phase.loop_us, SAMPLE_SUM_MAX);
        sums.mpi_us = std::min(sums.mpi_us + interval.phase.mpi_us, sums.loop_us);
    }
    if (values.size() < FIT_MIN)
        return mtct_ppm(sums);
    auto [least, most] = std::minmax_element(values.begin(), values.end());
    return std::clamp(fit_at_end(at_ms, values), *least, *most);
}

std::optional<MeasuredLoop> measured_loop(const Performance &known)
{
    const LoopSample *loop = phase_loop(known);
    LoopSums sums = phase_sums(known);
    if (!loop || sums.iterations <= 0)
        return std::nullopt;
    int processes = std::max(known.newest.size, 1);
    return MeasuredLoop{loop->key,
                        loop->name,
                        processes,
                        known.samples,
                        sums.iterations / processes,
                        sums.loop_us / sums.iterations};
}

std::string describe(const MeasuredLoop &loop)
{
    char text[160];
    std::string name = loop.key == PROBE_LOOP ? "the loop that probes"
                       : loop.name.empty() ? "loop " + loop.key
                                           : loop.name;
    snprintf(text, sizeof text, "%s (%d ranks, %lld iterations of %.2g s)", name.c_str(),
             loop.processes, static_cast<long long>(loop.iterations),
             static_cast<double>(loop.iteration_us) / 1e6);
    return text;
}

bool has_data(const Performance &known)
{
    return known.statistics.count >= SAMPLES_MIN &&
           phase_sums(known).iterations >= ITERATIONS_MIN * std::max(known.newest.size, 1);
}

}  // namespace elastic::rm
