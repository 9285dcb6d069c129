/* See name_holder.h. */

#include "api/name_holder.h"

#include <charconv>
#include <optional>

#include "base/descriptor.h"
#include "step/step_spec.h"

namespace elastic::rm {

namespace {

/* A zombie has ended. */
bool is_zombie(pid_t process)
{
    auto stat = read_file("/proc/" + std::to_string(process), "stat");
    size_t end = stat && stat.value() ? stat.value()->rfind(") ") : std::string::npos;
    return end != std::string::npos && end + 2 < stat.value()->size() &&
        (*stat.value())[end + 2] == 'Z';
}

}  // namespace

std::string holder_of(pid_t process)
{
    uint64_t start = process > 0 ? process_start(process) : 0;
    if (start == 0 || is_zombie(process))
        return "";
    return std::to_string(process) + " " + std::to_string(start);
}

bool has_ended(const std::string &holder)
{
    pid_t process = 0;
    std::from_chars(holder.data(), holder.data() + holder.size(), process);
    return !holder.empty() && holder_of(process) != holder;
}

}  // namespace elastic::rm
