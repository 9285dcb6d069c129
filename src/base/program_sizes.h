/*
 * The sizes that the program can use, by its own rule (MPIX_Adapt_sizes, pmi_adapt_sizes.h): for
 * mpiexec, which refuses other sizes, and for elasticd, which does not request them.  A rule that
 * has been parsed is well formed.  Pure.
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

class ProgramSizes {
  public:
    static Result<ProgramSizes> parse(std::string_view text);

    bool allows(int size) const;
    const std::string &text() const { return text_; }

    /* The next greater (step 1) or smaller (step -1) size, but not beyond `last`. */
    std::optional<int> next(int size, int step, int last) const;
    /* The sizes within [low, high], rising. */
    std::vector<int> sizes(int low, int high) const;
    /* Why this size is refused, and the nearest valid sizes. */
    std::string refusal(int size) const;

  private:
    std::string text_;
    std::shared_ptr<const pmi_adapt_sizes> rule_;       /* never null */
};

}  // namespace elastic

#endif /* ELASTIC_PROGRAM_SIZES_H_INCLUDED */
