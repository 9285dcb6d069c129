/* Limits a rate per second, with a larger amount at once after a pause.  Pure. */

#ifndef ELASTIC_RM_TOKEN_BUCKET_H_INCLUDED
#define ELASTIC_RM_TOKEN_BUCKET_H_INCLUDED

#include <algorithm>
#include <cstdint>

namespace elastic::rm {

class TokenBucket {
  public:
    /* `per_second` 0: any rate. */
    TokenBucket(double per_second, double at_once) : per_second_(per_second), at_once_(at_once) {}

    /* Takes it, even on credit.  Returns the time in milliseconds during which nothing more
     * should be taken. */
    int64_t take(double amount, int64_t now_ms)
    {
        if (per_second_ <= 0)
            return 0;
        double elapsed_s = static_cast<double>(std::max<int64_t>(now_ms - at_ms_, 0)) / 1000;
        level_ = std::max(0.0, level_ - elapsed_s * per_second_) + amount;
        at_ms_ = now_ms;
        return level_ <= at_once_
            ? 0
            : static_cast<int64_t>((level_ - at_once_) / per_second_ * 1000) + 1;
    }

  private:
    double per_second_, at_once_, level_ = 0;
    int64_t at_ms_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_TOKEN_BUCKET_H_INCLUDED */
