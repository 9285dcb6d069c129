/* See adapt_policy.h. */

#include "stepmgr/requests/adapt_policy.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

namespace elastic {

namespace {

/* The text before the next colon; `text` becomes the rest.  Nothing: no text is left. */
std::optional<std::string_view> next_part(std::string_view &text, bool &more)
{
    if (!more)
        return std::nullopt;
    size_t colon = text.find(':');
    std::string_view part = text.substr(0, colon);
    more = colon != std::string_view::npos;
    text = more ? text.substr(colon + 1) : "";
    return part;
}

template <class Number> bool reads(std::string_view text, Number &number)
{
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    return !text.empty() && status == std::errc() && end == text.data() + text.size();
}

Error not_a(std::string_view text, const char *what)
{
    return Error{"'" + std::string(text.substr(0, 60)) + "' is not " + what};
}

}  // namespace

/* libmpidynres' default deviation: as many processes as there are, by sqrt(2 / pi), by 4. */
Policy::Policy(Kind kind, Range range, uint64_t seed)
    : kind_(kind), range_(range), state_(seed),
      deviation_(range.max * std::sqrt(std::numbers::pi / 2) / 4)
{
}

Result<Policy> Policy::parse(std::string_view text, Range range, uint64_t seed)
{
    if (range.min < 1 || range.max < range.min)
        return Error{
            "--adapt-policy needs --adapt-range MIN:MAX with 1 <= MIN <= MAX, such as 1:8"};
    if (text == "increase-decrease")
        return Policy(Kind::INCREASE_DECREASE, range, seed);
    if (text == "random")
        return Policy(Kind::RANDOM, range, seed);
    if (text.starts_with("random:"))
        return parse_random(text.substr(7), range, seed);
    return Error{
        "adaptation policy '" + std::string(text.substr(0, 60)) +
        "' is not known: give increase-decrease or "
                  "random[:SEED[:DEVIATION[:PROBABILITY]]]"};
}

Result<Policy> Policy::parse_random(std::string_view text, Range range, uint64_t seed)
{
    bool more = true;
    auto part = next_part(text, more);
    if (!reads(*part, seed))
        return not_a(*part, "a seed: give a whole number, as in random:7");
    Policy policy(Kind::RANDOM, range, seed);
    part = next_part(text, more);
    double deviation = 0, probability = 0;
    if (part && !(reads(*part, deviation) && policy.set_deviation(deviation)))
        return not_a(*part,
                     "a deviation: give a number of processes greater than 0, as in random:7:2.5");
    part = next_part(text, more);
    if (part && !(reads(*part, probability) && policy.set_probability(probability)))
        return not_a(*part, "a probability: give a number from 0 to 1, as in random:7:2.5:0.3");
    if (more)
        return not_a(text, "known: give random[:SEED[:DEVIATION[:PROBABILITY]]]");
    return policy;
}

bool Policy::set_deviation(double deviation)
{
    bool possible = kind_ == Kind::RANDOM && deviation > 0 && deviation < 1e9;
    if (possible)
        deviation_ = deviation;
    return possible;
}

bool Policy::set_probability(double probability)
{
    bool possible = kind_ == Kind::RANDOM && probability >= 0 && probability <= 1;
    if (possible)
        probability_ = probability;
    return possible;
}

bool Policy::skips()
{
    return probability_ < 1 && uniform() > probability_;
}

std::optional<int> Policy::next_size(int present, const ProgramSizes *rule)
{
    if (range_.min == range_.max && present == range_.min)
        return std::nullopt;
    int wanted = size_request(present);
    if (!rule || rule->allows(wanted))
        return wanted;
    auto size = usable(present, wanted, *rule);
    rising_ = size && *size > present;
    return size;
}

int Policy::size_request(int present)
{
    if (present < range_.min || present > range_.max)
        return std::clamp(present, range_.min, range_.max);
    return kind_ == Kind::RANDOM ? next_random(present) : next_stair(present);
}

/* The next size that the program can use, first in the direction of the size request, then in the
 * other one. */
std::optional<int> Policy::usable(int present, int size_request, const ProgramSizes &rule) const
{
    int away = size_request > present ? 1 : -1;
    for (int step : {away, -away}) {
        int last = step > 0 ? range_.max : range_.min;
        auto size = rule.next(size_request, step, last);
        if (size == present)
            size = rule.next(present, step, last);
        if (size)
            return size;
    }
    return std::nullopt;
}

int Policy::next_stair(int present)
{
    if (present >= range_.max)
        rising_ = false;
    else if (present <= range_.min)
        rising_ = true;
    return present + (rising_ ? 1 : -1);
}

int Policy::next_random(int present)
{
    constexpr int DRAWS_MAX = 64;       /* max draws if the difference is zero */
    for (int draw = 0; draw < DRAWS_MAX; draw++) {
        auto difference = static_cast<int>(std::lround(normal() * deviation_));
        int size = std::clamp(present + difference, range_.min, range_.max);
        if (size != present)
            return size;
    }
    return next_stair(present);
}

/* splitmix64: a full-period generator whose whole state is one number. */
double Policy::uniform()
{
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    bits ^= bits >> 31;
    return static_cast<double>((bits >> 11) + 1) * 0x1p-53;
}

double Policy::normal()
{
    double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace elastic
