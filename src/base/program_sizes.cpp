/* See program_sizes.h. */

#include "base/program_sizes.h"

#include <algorithm>

#include "base/change.h"

namespace elastic {

namespace {

constexpr int NEAR = 1000;      /* distance of the sizes that a refusal suggests */
constexpr size_t SHOWN_MAX = 100;

}  // namespace

static_assert(PMI_ADAPT_SIZE_LARGEST == SIZE_MAX_PROCESSES);

Result<ProgramSizes> ProgramSizes::parse(std::string_view text)
{
    ProgramSizes rule;
    auto read = std::make_shared<pmi_adapt_sizes>();
    const char *wrong = "it is not a string";
    size_t at = 0;
    rule.text_ = text;
    if (text.find('\0') != text.npos ||
        pmi_adapt_sizes_read(read.get(), rule.text_.c_str(), &wrong, &at) != 0)
        return Error{"'" + rule.text_.substr(0, SHOWN_MAX) +
                     "' is not a rule for sizes, at character " + std::to_string(at + 1) + ": " +
                     wrong};
    rule.rule_ = read;
    return rule;
}

bool ProgramSizes::allows(int size) const
{
    return size >= 1 && size <= SIZE_MAX_PROCESSES && pmi_adapt_sizes_hold(rule_.get(), size);
}

std::optional<int> ProgramSizes::next(int size, int step, int last) const
{
    for (int other = size + step; step > 0 ? other <= last : other >= last; other += step) {
        if (allows(other))
            return other;
    }
    return std::nullopt;
}

std::vector<int> ProgramSizes::sizes(int low, int high) const
{
    std::vector<int> found;
    for (int size = low; size <= high; size++) {
        if (allows(size))
            found.push_back(size);
    }
    return found;
}

std::string ProgramSizes::refusal(int size) const
{
    auto smaller = next(size, -1, std::max(1, size - NEAR));
    auto greater = next(size, 1, std::min(SIZE_MAX_PROCESSES, size + NEAR));
    std::string near;
    if (smaller && greater)
        near = "; the nearest sizes are " + std::to_string(*smaller) + " and " +
               std::to_string(*greater);
    else if (smaller || greater)
        near = "; the nearest size is " + std::to_string(smaller ? *smaller : *greater);
    return "the program cannot use " + std::to_string(size) +
           (size == 1 ? " process" : " processes") + ", its rule of MPIX_Adapt_sizes is '" +
           shorten(text_, SHOWN_MAX) + "'" + near;
}

}  // namespace elastic
