/* Values of answers that several files of api.h write, and limits of their lists. */

#ifndef ELASTIC_RM_API_JSON_H_INCLUDED
#define ELASTIC_RM_API_JSON_H_INCLUDED

#include <bit>
#include <string>

#include "api/api.h"

namespace elastic::rm {

inline constexpr int64_t LIMIT_MAX = 10000, LIMIT_DEFAULT = 1000, WAIT_MAX_MS = 60000;

inline Json text_or_null(const std::string &text)
{
    return text.empty() ? Json() : Json(text);
}

inline Json number_or_null(int64_t number)
{
    return number ? Json(number) : Json();
}

inline Json time_or_null(int64_t time_ms)
{
    return time_ms == NEVER ? Json() : Json(time_ms);
}

inline Json numbers_of(GpuSet gpus)
{
    Json numbers = Json::array();
    for (; gpus != 0; gpus &= gpus - 1)
        numbers.push_back(std::countr_zero(gpus));
    return numbers;
}

}  // namespace elastic::rm

#endif
