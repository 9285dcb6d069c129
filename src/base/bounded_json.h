/*
 * JSON from untrusted processes.  A text that is nested deeper than its reader expects is refused
 * before parsing: unlimited depth exhausts the stack of every function that copies or prints it.
 * Pure.
 */

#ifndef ELASTIC_RM_BOUNDED_JSON_H_INCLUDED
#define ELASTIC_RM_BOUNDED_JSON_H_INCLUDED

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace elastic::rm {

using Json = nlohmann::json;

/* Of everything that we read: requests of people and lines of steps have less. */
constexpr int JSON_DEPTH_MAX = 16;

/* Discarded (Json::is_discarded) if it is not JSON, or too deep. */
Json parse_bounded(std::string_view text, int depth_max = JSON_DEPTH_MAX);

/* At most `bytes_max` of it, as printable ASCII: what is not becomes '?', line ends and tabs
 * blanks. */
std::string printable_ascii(std::string_view text, size_t bytes_max);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_BOUNDED_JSON_H_INCLUDED */
