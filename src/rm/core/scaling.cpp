/* See scaling.h. */

#include "core/scaling.h"

#include <cmath>
#include <span>

#include "core/time_limit.h"

namespace elastic::rm {

namespace {

constexpr double NEAR = 0.69314718; /* of logarithms of sizes: half or double the size is near */
constexpr double INTERVALS_MAX = 5; /* more intervals do not improve a size */
/* Assumed errors: a measured speed is right within 10 %; the MPI time is the whole part that
 * does not become shorter within 25 %. */
constexpr double SPEED_ERROR = 0.1, MPI_WEIGHT = 0.15;
/* An end is assumed if it improves the fit by this amount; the second is in squares of the
 * noise. */
constexpr double END_MISFIT_MIN = 0.2, END_MISFIT = 10;
/* The assumed noise of an interval's rounds before it is known, and its weight in intervals. */
constexpr double NOISE = 0.01, NOISE_COUNT = 2;
constexpr int ENDS_MAX = 64;        /* number of ends that are tried */
constexpr int64_t SIZE_HUGE = int64_t{1} << 40;
constexpr int64_t REMAINING_MIN_MS = 1000;
constexpr double REMAINING_MAX_MS = 3e11;       /* ten years: reported values may be wrong */
constexpr int64_t PROGRESS_MIN = 3;             /* iterations */
constexpr int64_t GAIN_PER_STANDSTILL = 10, REMAINING_PER_DURATION = 4, SINCE_PER_STANDSTILL = 20;

struct Point {
    int size = 0;
    int intervals = 0;
    double ms = 0, rounds = 0, loop_us = 0, mpi_us = 0;
    double distance = 0; /* logarithm of its size divided by the present one */
    double squares = 0;  /* sum of the squared relative deviations of its intervals' rounds */
};

/* Rising by size; a short list. */
using Points = std::vector<Point>;

Point &point_of(Points &points, int size)
{
    auto at = std::lower_bound(points.begin(), points.end(), size,
                               [](const Point &point, int wanted) { return point.size < wanted; });
    if (at == points.end() || at->size != size)
        at = points.insert(at, Point{size});
    return *at;
}

Points points_of(const Performance &known, int present_size)
{
    Points points;
    const std::string &key = phase_key(known);
    auto is_measured = [&](const Interval &interval) {
        return interval.probes > 0 && interval.ms > 0 && interval.key == key;
    };
    for (const Interval &interval : known.history) {
        if (!is_measured(interval))
            continue;
        Point &point = point_of(points, interval.size);
        Rounds of = rounds_of(interval);
        point.intervals++;
        point.ms += of.ms;
        point.rounds += of.rounds;
        point.loop_us += static_cast<double>(interval.phase.loop_us);
        point.mpi_us += static_cast<double>(interval.phase.mpi_us);
    }
    for (const Interval &interval : known.history) {
        if (!is_measured(interval))
            continue;
        Point &point = point_of(points, interval.size);
        Rounds of = rounds_of(interval);
        double off = of.ms / of.rounds / (point.ms / point.rounds) - 1;
        point.squares += off * off;
    }
    for (Point &point : points)
        point.distance = std::log(static_cast<double>(point.size) / present_size);
    return points;
}

/* Sums of a least-squares fit of two unknowns: x a + y b = z, each row with a weight. */
struct Fit {
    double xx = 0, xy = 0, yy = 0, xz = 0, yz = 0;

    void add(double weight, double x, double y, double z)
    {
        xx += weight * x * x;
        xy += weight * x * y;
        yy += weight * y * y;
        xz += weight * x * z;
        yz += weight * y * z;
    }
    /* Both are at least 0. */
    std::pair<double, double> solve() const
    {
        double determinant = xx * yy - xy * xy;
        if (determinant > 1e-12 * xx * yy) {
            double a = (xz * yy - yz * xy) / determinant, b = (yz * xx - xz * xy) / determinant;
            if (a >= 0 && b >= 0)
                return {a, b};
            if (a >= 0)
                return {xx > 0 ? std::max(xz / xx, 0.0) : 0, 0};
        }
        return {0, yy > 0 ? std::max(yz / yy, 0.0) : 0};
    }
};

int capped(int size, int end) { return end > 0 ? std::min(size, end) : size; }

/* The round at the nearest measured size, in milliseconds: used as a unit, so that numbers are
 * near one. */
double nearest_round_ms(std::span<const Point> points)
{
    auto nearest =
        std::min_element(points.begin(), points.end(), [&](const Point &left, const Point &right) {
            return std::abs(left.distance) < std::abs(right.distance);
        });
    return nearest->ms / nearest->rounds;
}

struct Law {
    double stays = 0, becomes_shorter = 0;  /* a, and b / size */
    double misfit = 0; /* sum of squared deviations, in units of the expected errors */
};

/* The part of a point in a fit; it is the same for each end. */
struct Evidence {
    int size;
    double round, weight;       /* in units of nearest_round_ms */
    double mpi_weight, mpi;     /* 0: no MPI time is known */
};

std::vector<Evidence> evidence_of(std::span<const Point> points)
{
    double unit = nearest_round_ms(points);
    /* With several sizes it is redundant, and speeds are more reliable. */
    double mpi_weight = MPI_WEIGHT / static_cast<double>(points.size() * points.size());
    std::vector<Evidence> all;
    all.reserve(points.size());
    for (const Point &point : points) {
        double distance = point.distance / NEAR, close = std::exp(-distance * distance / 2);
        bool has_mpi = point.loop_us > 0;
        all.push_back({point.size, point.ms / point.rounds / unit,
                       close * std::min<double>(point.intervals, INTERVALS_MAX),
                       has_mpi ? close * mpi_weight : 0,
                       has_mpi ? point.mpi_us / point.loop_us : 0});
    }
    return all;
}

/* The best fit under the assumption that more than `end` processes give no gain; 0: no such end. */
Law fit_law(const std::vector<Evidence> &points, int size, int end)
{
    auto each = [&](auto &&row) {
        for (const Evidence &point : points) {
            double inverse = 1 / point.round;
            double shorter = static_cast<double>(capped(size, end)) / capped(point.size, end);
            row(point.weight, inverse, shorter / point.round, 1.0);
            /* Beyond the end, idle processes may wait in MPI. */
            if (point.mpi_weight > 0 && (end == 0 || point.size <= end))
                row(point.mpi_weight, inverse, 0.0, point.mpi);
        }
    };
    Fit fit;
    each([&](double weight, double x, double y, double z) { fit.add(weight, x, y, z); });
    std::pair<double, double> solution = fit.solve();
    Law law{solution.first, solution.second};
    each([&](double weight, double x, double y, double z) {
        double error = (law.stays * x + law.becomes_shorter * y - z) / SPEED_ERROR;
        law.misfit += weight * error * error;
    });
    return law;
}

/* The relative error of one interval's rounds: the scatter of the intervals of each size. */
double noise_of(std::span<const Point> points)
{
    double squares = NOISE_COUNT * NOISE * NOISE, count = NOISE_COUNT;
    for (const Point &point : points) {
        squares += point.squares;
        count += point.intervals - 1;
    }
    return std::sqrt(squares / count);
}

/* The size, between the measured ones, at which a program stops becoming faster, if that fits
 * clearly better than one law for all sizes; 0: none.  `noise`: noise_of(points). */
int end_of(std::span<const Point> points, int size, double noise)
{
    if (points.size() < 2)
        return 0;
    int first = points.front().size, last = points.back().size, end = 0;
    int step = std::max((last - first) / ENDS_MAX, 1);
    std::vector<Evidence> evidence = evidence_of(points);
    double errors = noise / SPEED_ERROR;
    double best =
        fit_law(evidence, size, 0).misfit - std::max(END_MISFIT_MIN, END_MISFIT * errors * errors);
    for (int candidate = first; candidate < last; candidate += step) {
        double misfit = fit_law(evidence, size, candidate).misfit;
        if (misfit < best) {
            best = misfit;
            end = candidate;
        }
    }
    return end;
}

/* The part of a round that does not become shorter, at `size`. */
double fitted_part(std::span<const Point> points, int size, int end)
{
    Law law = fit_law(evidence_of(points), size, end);
    double round = law.stays + law.becomes_shorter;
    return round > 0 ? law.stays / round : 0;
}

/* The points with more processes than `size`, or with fewer.  Without such points: for more, all
 * points; for fewer, `size` itself, by its MPI time. */
std::span<const Point> side(const Points &points, int size, bool more)
{
    std::span<const Point> all(points);
    for (size_t i = 0; i < all.size(); i++) {
        if (all[i].size != size)
            continue;
        bool is_greatest = i + 1 == all.size();
        return !more ? all.first(i + 1) : is_greatest ? all : all.subspan(i);
    }
    return all;
}

/* To the nearest point at such a distance that noise does not hide the difference. */
MeasuredStep step_to(const Points &points, int size, bool more)
{
    constexpr double STEP_MIN = 0.2231; /* a quarter, as a logarithm */
    const Point *own = nullptr, *other = nullptr;
    for (const Point &point : points) {
        if (point.size == size)
            own = &point;
        bool is_off = more ? point.distance >= STEP_MIN : point.distance <= -STEP_MIN;
        if (is_off && (!other || std::abs(point.distance) < std::abs(other->distance)))
            other = &point;
    }
    if (!own || !other)
        return {};
    const Point &small = more ? *own : *other, &large = more ? *other : *own;
    double faster = large.rounds / large.ms / (small.rounds / small.ms) - 1;
    double gain = faster / (static_cast<double>(large.size) / small.size - 1);
    auto all = static_cast<double>(PPM);
    return {other->size, std::llround(std::clamp(gain, -1.0, 1.0) * all)};
}

int64_t to_ppm(double part)
{
    return std::clamp<int64_t>(std::llround(part * static_cast<double>(PPM)), 0, PPM);
}

}  // namespace

Rounds rounds_of(const Interval &interval)
{
    const LoopSums &measured = interval.phase;
    auto size = static_cast<double>(interval.size), probes = static_cast<double>(interval.probes);
    double rounds = static_cast<double>(measured.iterations) / size;
    if (interval.key == PROBE_LOOP && measured.loop_us > 0 && rounds >= 1 && rounds >= probes / 2)
        return {rounds, static_cast<double>(measured.loop_us) / 1000 / size};
    return {probes, static_cast<double>(interval.ms)};
}

const std::string &phase_key(const Performance &known)
{
    static const std::string none;
    if (!known.phase.empty())
        return known.phase;
    for (auto interval = known.history.rbegin(); interval != known.history.rend(); ++interval)
        if (!interval->key.empty())
            return interval->key;
    return none;
}

std::vector<MeasuredSpeed> measured_speeds(const Performance &known)
{
    std::vector<MeasuredSpeed> speeds;
    for (const Point &point : points_of(known, 1)) {
        if (point.ms > 0)
            speeds.push_back({point.size, point.intervals, point.rounds * 1000 / point.ms});
    }
    return speeds;
}

Scaling scaling_of(const Performance &known, int size)
{
    Scaling scaling;
    scaling.size = size;
    Points points = points_of(known, size);
    for (const Point &point : points)
        scaling.samples += point.intervals;
    scaling.sizes = static_cast<int>(points.size());
    if (points.empty())
        return scaling;
    scaling.proven_least = points.front().size;
    scaling.proven_most = points.back().size;
    double noise = noise_of(points);
    scaling.end = end_of(points, size, noise);
    for (const Point &point : points)
        if (point.size == size)
            scaling.error_ppm = to_ppm(noise / std::sqrt(static_cast<double>(point.intervals)));
    auto part_ppm = [&](bool more) {
        return to_ppm(fitted_part(side(points, size, more), size, scaling.end));
    };
    scaling.serial_ppm = part_ppm(true);
    scaling.serial_below_ppm = scaling.sizes > 1 ? part_ppm(false) : scaling.serial_ppm;
    scaling.below = step_to(points, size, false);
    scaling.above = step_to(points, size, true);
    return scaling;
}

Scaling scaling_of(const Job &job)
{
    int size = std::max(job.size(), 1);
    if (job.performance && !job.performance->history.empty()) {
        std::optional<Scaling> &known = job.performance->scaling;
        if (known && known->size == size)
            return *known;
        Scaling found = scaling_of(*job.performance, size);
        if (found.sizes > 0)
            return *(known = found);
    }
    Scaling scaling;
    scaling.size = size;
    if (job.spec.serial_ppm != NEVER) {
        double serial = static_cast<double>(job.spec.serial_ppm) / static_cast<double>(PPM);
        double round = serial + (1 - serial) / scaling.size;
        scaling.serial_ppm = scaling.serial_below_ppm = to_ppm(serial / round);
        scaling.hinted = true;
    }
    return scaling;
}

double relative_speed(const Scaling &scaling, int size)
{
    int64_t serial_ppm = size < scaling.size ? scaling.serial_below_ppm : scaling.serial_ppm;
    double serial = static_cast<double>(serial_ppm) / static_cast<double>(PPM);
    return 1 / (serial + (1 - serial) * capped(scaling.size, scaling.end) /
                             capped(size, scaling.end));
}

/* If the part s is serial at size n, the next processes bring (1 - s) n / (s m + (1 - s) n) of a
 * proportional gain at size m. */
int64_t efficient_size(int size, int64_t serial_ppm, int64_t efficiency_ppm)
{
    auto serial = static_cast<double>(serial_ppm), efficiency = static_cast<double>(efficiency_ppm);
    auto all = static_cast<double>(PPM);
    if (serial_ppm == 0 || efficiency_ppm == 0)
        return SIZE_HUGE;
    double most = size * (all - serial) / serial * (all - efficiency) / efficiency;
    return static_cast<int64_t>(std::min(most * (1 + 1e-12), static_cast<double>(SIZE_HUGE)));
}

/* ---- time ------------------------------------------------------------------------------------ */

namespace {

int64_t known_until_ms(const Job &job)
{
    bool sampled = job.performance && job.performance->samples > 0;
    return sampled ? std::max(job.performance->sampled_ms, job.sized_ms) : job.sized_ms;
}

/* From the program's report about its phase; NEVER: not enough data. */
int64_t remaining_by_progress_ms(const Job &job)
{
    if (!job.performance || !job.performance->newest.position)
        return NEVER;
    const PhasePosition &position = *job.performance->newest.position;
    if (position.total <= 0 || position.iteration < PROGRESS_MIN || position.iteration_us < 0)
        return NEVER;
    auto left = static_cast<double>(std::max<int64_t>(position.total - position.iteration, 0));
    double ms = left * static_cast<double>(position.iteration_us) / 1000;
    return std::max(static_cast<int64_t>(std::min(ms, REMAINING_MAX_MS)), REMAINING_MIN_MS);
}

}  // namespace

int64_t sampled_since_ms(const Job &job)
{
    return job.sized_ms == NEVER ? 0 : known_until_ms(job) - job.sized_ms;
}

int64_t remaining_ms(const State &state, const Job &job)
{
    if (int64_t left_ms = remaining_by_progress_ms(job); left_ms != NEVER)
        return left_ms;
    int64_t expect_ms = job.spec.expect_ms > 0 ? job.spec.expect_ms : time_limit(state, job.spec);
    int64_t size = expect_ms <= 0 || job.sized_ms == NEVER ? 0 : job.size();
    if (size == 0)
        return NEVER;
    int64_t done = job.process_ms + size * sampled_since_ms(job);
    return std::max((expect_ms * job.first_size - done) / size, REMAINING_MIN_MS);
}

int64_t expected_end_ms(const State &state, const Job &job)
{
    int64_t left_ms = job.sized_ms == NEVER ? NEVER : remaining_ms(state, job);
    int64_t end_ms = left_ms > REMAINING_MIN_MS ? known_until_ms(job) + left_ms : NEVER;
    if (end_ms <= state.now_ms)
        return job.limit_at_ms;
    return job.limit_at_ms == NEVER ? end_ms : std::min(end_ms, job.limit_at_ms);
}

AdaptationTimes adaptation_times(const Job &job)
{
    AdaptationTimes times;
    if (job.mean_standstill_ms != NEVER)
        times = {job.mean_standstill_ms, job.mean_duration_ms};
    return times;
}

bool growth_pays(int64_t remaining_ms, int64_t since_ms, const AdaptationTimes &times, double speed)
{
    if (remaining_ms == NEVER)
        return since_ms >= SINCE_PER_STANDSTILL * times.standstill_ms;
    double won_ms = static_cast<double>(remaining_ms) * (1 - 1 / speed);
    return won_ms >= static_cast<double>(GAIN_PER_STANDSTILL * times.standstill_ms) &&
           remaining_ms >= REMAINING_PER_DURATION * times.duration_ms;
}

}  // namespace elastic::rm
