/* See program_sizes.h. */

#include "base/program_sizes.h"

#include <algorithm>
#include <array>
#include <limits>

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
    std::array<char, PMI_ADAPT_SIZES_MAX + 1> squeezed = {};
    rule.text_ = text;
    bool has_end = text.find('\0') != text.npos;
    if (!has_end && pmi_adapt_sizes_squeeze(rule.text_.c_str(), squeezed.data()))
        rule.text_ = squeezed.data();
    if (has_end || pmi_adapt_sizes_read(read.get(), rule.text_.c_str(), &wrong, &at) != 0)
        return Error{"'" + printable(rule.text_, Charset::UTF_8, SHOWN_MAX) +
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
    auto all = ranges(low, high, std::numeric_limits<int>::max());
    for (const SizeInterval &range : *all) {
        for (int size = range.first; size <= range.last; size++)
            found.push_back(size);
    }
    return found;
}

/* Joins the sizes of all terms. */
std::optional<std::vector<SizeInterval>> ProgramSizes::ranges(int low, int high, int most) const
{
    struct Term {
        int first_factor, next, end;    /* the next size, and the last one without a gap */
    };
    auto move = [&](Term &term, int from) {
        pmi_adapt_sizes_term limits = pmi_adapt_sizes_term_at(rule_.get(), term.first_factor);
        bool has_gaps = limits.step > 1 || limits.divisor > 0 || limits.exponent > 0;
        term.next = pmi_adapt_sizes_next_of_term(rule_.get(), term.first_factor, from);
        term.end = has_gaps ? term.next : std::min(limits.high, high);
        return term.next > 0 && term.next <= high;
    };
    std::vector<Term> terms;
    int factor = 0;
    for (; factor < rule_->count; factor = pmi_adapt_sizes_next_term(rule_.get(), factor)) {
        if (Term term{factor, 0, 0}; move(term, std::max(low, 1)))
            terms.push_back(term);
    }
    std::vector<SizeInterval> found;
    for (int steps = 0; !terms.empty(); steps++) {
        if (steps >= most)
            return std::nullopt;
        SizeInterval range = {SIZE_MAX_PROCESSES, 0};
        for (const Term &term : terms) {
            if (std::pair(term.next, -term.end) < std::pair(range.first, -range.last))
                range = {term.next, term.end};
        }
        if (found.empty() || found.back().last + 1 < range.first)
            found.push_back(range);
        else
            found.back().last = range.last;
        std::erase_if(terms, [&](Term &term) {
            return term.next <= range.last && !move(term, range.last + 1);
        });
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
