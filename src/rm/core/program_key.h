/* The key of a command with its arguments: results of ended jobs are stored under it
 * (learned.h). */

#ifndef ELASTIC_RM_CORE_PROGRAM_KEY_H_INCLUDED
#define ELASTIC_RM_CORE_PROGRAM_KEY_H_INCLUDED

#include <string>
#include <vector>

namespace elastic::rm {

/* 16 hexadecimal digits. */
std::string program_of(const std::vector<std::string> &command);
bool is_program(const std::string &key);        /* or empty */

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_PROGRAM_KEY_H_INCLUDED */
