/* The library for TOML, with the settings of this folder. */

#ifndef ELASTIC_RM_SETTINGS_TOML_H_INCLUDED
#define ELASTIC_RM_SETTINGS_TOML_H_INCLUDED

#include <string>

#define TOML_EXCEPTIONS 0
/* Keys such as "[^" cause an assertion of the library, which otherwise reports a good error
 * message. */
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
