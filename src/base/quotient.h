/* Division of positive whole numbers, rounded up. */

#ifndef ELASTIC_BASE_QUOTIENT_H_INCLUDED
#define ELASTIC_BASE_QUOTIENT_H_INCLUDED

namespace elastic {

template <class Number> constexpr Number quotient_up(Number dividend, Number divisor)
{
    return (dividend + divisor - 1) / divisor;
}

}  // namespace elastic

#endif /* ELASTIC_BASE_QUOTIENT_H_INCLUDED */
