/*
 * Fuzzes the core through its stored data: a snapshot or a log of events (a JSON object per line)
 * as from a damaged or foreign store.  If the input is accepted, the core obeys its invariants and
 * its own snapshot describes it completely.
 */

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "core/core.h"
#include "core/invariants.h"

namespace {

using namespace elastic::rm;

void require(bool holds, const std::string &what)
{
    if (holds)
        return;
    std::cerr << what << std::endl;
    abort();
}

/* Restores the same from its own snapshot. */
void check_snapshot(const Core &core)
{
    Json snapshot = core.snapshot();
    auto again = Core::restore(snapshot);
    require(static_cast<bool>(again),
            "the core refuses its own snapshot: " + (again ? "" : again.error()));
    require(again.value().snapshot() == snapshot, "a restored core is another one");
}

void restore(const std::string &text)
{
    auto core = Core::restore(Json::parse(text, nullptr, false));
    if (!core)
        return;
    core.value().pending();
    check_snapshot(core.value());
}

void replay(const std::string &text)
{
    Core core;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        auto event = event_from_json(Json::parse(line, nullptr, false));
        if (!event)
            continue;
        event.value().seq = core.state().seq + 1;
        event.value().time_ms = std::max(event.value().time_ms, core.state().now_ms);
        core.handle(event.value());
        for (const std::string &violation : violations(core.state()))
            require(false, violation);
    }
    check_snapshot(core);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
    if (data[0] % 2 == 0)
        restore(text);
    else
        replay(text);
    return 0;
}
