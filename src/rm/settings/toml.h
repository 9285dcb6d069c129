/* The library that reads TOML, as the files of this folder use it. */

#ifndef ELASTIC_RM_SETTINGS_TOML_H_INCLUDED
#define ELASTIC_RM_SETTINGS_TOML_H_INCLUDED

#include <string>

#define TOML_EXCEPTIONS 0
/* Keys such as "[^" run into an assertion of the library, which has a good error message after
 * it. */
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>

namespace elastic::rm {

/* "elasticd.toml:7: ": for messages. */
inline std::string location(const std::string &name, const toml::source_region &source)
{
    return name + ":" + std::to_string(source.begin.line) + ": ";
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SETTINGS_TOML_H_INCLUDED */
