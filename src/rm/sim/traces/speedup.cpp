/* See speedup.h. */

#include "sim/traces/speedup.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace elastic::rm {

namespace {

double of(const LinearSpeedup &, double n) { return n; }

double of(const AmdahlSpeedup &law, double n) { return 1 / (law.serial + (1 - law.serial) / n); }

/* The paper's equations for low (sigma <= 1) and high variance. */
double of(const DowneySpeedup &law, double n)
{
    double a = law.parallelism, sigma = law.sigma;
    if (sigma <= 1) {
        if (n <= a)
            return a * n / (a + sigma * (n - 1) / 2);
        if (n <= 2 * a - 1)
            return a * n / (sigma * (a - 0.5) + n * (1 - sigma / 2));
        return a;
    }
    if (n <= a + a * sigma - sigma)
        return n * a * (sigma + 1) / (sigma * (n + a - 1) + a);
    return a;
}

double of(const TableSpeedup &law, double n)
{
    auto after =
        std::upper_bound(law.points.begin(), law.points.end(), n,
                         [](double size, const auto &point) { return size < point.first; });
    if (after == law.points.begin())
        return 1;
    const auto &[size, here] = *(after - 1);
    if (after == law.points.end())
        return here;
    return here + (after->second - here) * (n - size) / (after->first - size);
}

bool number(std::string_view text, double &value)
{
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

std::vector<std::string_view> split(std::string_view text)
{
    std::vector<std::string_view> parts;
    for (size_t comma = text.find(','); comma != text.npos; comma = text.find(',')) {
        parts.push_back(text.substr(0, comma));
        text.remove_prefix(comma + 1);
    }
    parts.push_back(text);
    return parts;
}

Result<Speedup> read_table(std::string_view text)
{
    TableSpeedup table;
    for (std::string_view part : split(text)) {
        size_t equals = part.find('=');
        double size = 0, speed = 0;
        if (equals == part.npos || !number(part.substr(0, equals), size) ||
            !number(part.substr(equals + 1), speed) || size < 1 || size > 1e8 ||
            size != std::floor(size) || speed < 1)
            return Error{"a point of a table is SIZE=SPEED, both at least 1, not '" +
                         std::string(part) + "'"};
        if (!table.points.empty() &&
            (size <= table.points.back().first || speed < table.points.back().second))
            return Error{"the sizes and speeds of a table rise"};
        table.points.emplace_back(static_cast<int>(size), speed);
    }
    if (table.points.front() != std::pair(1, 1.0))
        return Error{"a table begins with 1=1"};
    return Speedup(table);
}

}  // namespace

double speed(const Speedup &speedup, int processes)
{
    double value =
        std::visit([=](const auto &law) { return of(law, std::max(processes, 1)); }, speedup);
    return std::max(value, 1.0);
}

Result<Speedup> read_speedup(const std::string &text)
{
    std::string_view kind(text), values;
    size_t colon = kind.find(':');
    if (colon != kind.npos) {
        values = kind.substr(colon + 1);
        kind = kind.substr(0, colon);
    }
    double first = 0, second = 0;
    if (kind == "linear" && colon == text.npos)
        return Speedup(LinearSpeedup{});
    if (kind == "amdahl") {
        if (!number(values, first) || first < 0 || first > 1)
            return Error{"amdahl:SHARE needs the share of serial work, 0 to 1"};
        return Speedup(AmdahlSpeedup{first});
    }
    if (kind == "downey") {
        auto parts = split(values);
        if (parts.size() != 2 || !number(parts[0], first) || !number(parts[1], second) ||
            first < 1 || second < 0)
            return Error{"downey:A,SIGMA needs an average parallelism of at least 1 and a variance "
                         "of at least 0"};
        return Speedup(DowneySpeedup{first, second});
    }
    if (kind == "table")
        return read_table(values);
    return Error{"no speed-up law '" + text +
                 "': linear, amdahl:SHARE, downey:A,SIGMA or table:1=1,SIZE=SPEED,..."};
}

}  // namespace elastic::rm
