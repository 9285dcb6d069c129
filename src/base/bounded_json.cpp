/* See bounded_json.h. */

#include "base/bounded_json.h"

namespace elastic::rm {

namespace {

/* Counts brackets outside of texts; the parser checks whether they match. */
bool is_deeper(std::string_view text, int depth_max)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.size(); i++) {
        char c = text[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{') && ++depth > depth_max)
            return true;
        else if (!quoted && (c == ']' || c == '}'))
            depth--;
    }
    return false;
}

}  // namespace

Json parse_bounded(std::string_view text, int depth_max)
{
    if (is_deeper(text, depth_max))
        return Json(Json::value_t::discarded);
    return Json::parse(text, nullptr, false);
}

}  // namespace elastic::rm
