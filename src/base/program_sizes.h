/*
 * The sizes that the program can use, by a rule (pmi_adapt_sizes.h) of the program itself
 * (MPIX_Adapt_sizes) or of its submission (--sizes): for mpiexec, which refuses other sizes, and
 * for elasticd, which does not request them.  A rule that has been parsed is well formed.  Pure.
 */

#ifndef ELASTIC_PROGRAM_SIZES_H_INCLUDED
#define ELASTIC_PROGRAM_SIZES_H_INCLUDED

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pmi_adapt_sizes.h"

namespace elastic {

/* Sizes without a gap. */
struct SizeInterval {
    int first, last;
    bool operator==(const SizeInterval &) const = default;
};

class ProgramSizes {
  public:
    static Result<ProgramSizes> parse(std::string_view text);

    bool allows(int size) const;
    /* Without blanks around , and &. */
    const std::string &text() const { return text_; }
    /* Null: it has several parts. */
    const pmi_adapt_sizes_factor *only_factor() const
    {
        return rule_->count == 1 ? rule_->factors : nullptr;
    }

    /* The next greater (step 1) or smaller (step -1) size, but not beyond `last`. */
    std::optional<int> next(int size, int step, int last) const;
    /* The sizes within [low, high], rising. */
    std::vector<int> sizes(int low, int high) const;
    /* The same; nullopt: they are more than about `most` sizes or ranges. */
    std::optional<std::vector<SizeInterval>> ranges(int low, int high, int most) const;
    /* Why this size is refused, and the nearest valid sizes. */
    std::string refusal(int size) const;

  private:
    std::string text_;
    std::shared_ptr<const pmi_adapt_sizes> rule_;       /* never null */
};

}  // namespace elastic

#endif /* ELASTIC_PROGRAM_SIZES_H_INCLUDED */
