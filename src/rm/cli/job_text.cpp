/* See job_text.h. */

#include "cli/job_text.h"

namespace elastic {

std::string shown(const Json &object, const char *name)
{
    if (!object.is_object() || !object.contains(name) || object[name].is_null())
        return "-";
    const Json &value = object[name];
    return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string number_text(double value, const char *form)
{
    char text[64];
    snprintf(text, sizeof text, form, value);
    return text;
}

std::string expected_start_text(const Json &job)
{
    int64_t time_ms = integer_or(job, "expected_start_ms", 0),
            other = integer_or(job, "expected_after", 0);
    if (time_ms <= 0)
        return "-";
    return format_time(time_ms) + " at the latest" +
           (other > 0 ? ", when job " + std::to_string(other) + " ends" : "");
}

std::string names_text(const Json &names)
{
    std::string text;
    for (const Json &name : names) {
        if (name.is_string())
            text += (text.empty() ? "" : ", ") + name.get<std::string>();
    }
    return text.empty() ? "-" : text;
}

}  // namespace elastic
