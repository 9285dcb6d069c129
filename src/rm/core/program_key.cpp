/* See program_key.h. */

#include "core/program_key.h"

#include <cstdint>
#include <cstdio>

namespace elastic::rm {

namespace {

constexpr size_t PROGRAM_DIGITS = 16;

}  // namespace

std::string program_of(const std::vector<std::string> &command)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a; each word with the 0 at its end */
    for (const std::string &word : command)
        for (size_t i = 0; i <= word.size(); i++)
            hash = (hash ^ static_cast<unsigned char>(word.c_str()[i])) * 0x100000001b3;
    char text[PROGRAM_DIGITS + 1];
    snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

bool is_program(const std::string &key)
{
    return key.empty() || (key.size() == PROGRAM_DIGITS &&
                           key.find_first_not_of("0123456789abcdef") == std::string::npos);
}

}  // namespace elastic::rm
