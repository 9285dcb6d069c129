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

/* The maximum for all input: requests of people and lines of steps have lower limits. */
constexpr int JSON_DEPTH_MAX = 16;

/* Discarded (Json::is_discarded) if it is not JSON, or nested too deeply. */
Json parse_bounded(std::string_view text, int depth_max = JSON_DEPTH_MAX);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_BOUNDED_JSON_H_INCLUDED */
