/* Fuzzes untrusted input of elasticd: bodies of requests, its configuration, lines of elastic-
 * stepd. */

#include <cstdint>
#include <string>

#include "http/body_reader.h"
#include "settings/settings.h"
#include "step/step_spec.h"

namespace {

void read_body(const std::string &text)
{
    using namespace elastic::rm;
    try {
        BodyReader body(text);
        body.texts("command", 4, 100);
        body.map_of_texts("environment", 100);
        body.number("min", 1, 100, 1);
        body.text("name", 10);
        body.object("sizes").finish();
        body.finish();
    } catch (const ApiError &) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
    using namespace elastic::rm;
    if (data[0] % 3 == 0)
        read_body(text);
    else if (data[0] % 3 == 1)
        parse_settings(text, "fuzz");
    else
        parse<StepSpec>(Json::parse(text, nullptr, false));
    return 0;
}
