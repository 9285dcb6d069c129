/* See mail_message.h. */

#include "daemon/mail_message.h"

#include <algorithm>
#include <ctime>

#include "base/change.h"
#include "core/record.h"

namespace elastic::rm {

namespace {

constexpr size_t FIELD_BYTES_MAX = 200;

std::string one_line(std::string text)
{
    if (text.size() > FIELD_BYTES_MAX) {
        text.resize(FIELD_BYTES_MAX);
        text += "...";
    }
    return printable(text, Charset::ASCII);
}

std::string time_text(int64_t core_ms, int64_t offset_ms)
{
    time_t seconds = (core_ms + offset_ms) / 1000;
    std::tm local = {};
    char text[32] = "-";
    if (core_ms != NEVER && localtime_r(&seconds, &local))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local);
    return text;
}

std::string count_text(const JobArray &array)
{
    return std::to_string(array.tasks) + " tasks, " + std::to_string(array.failed) + " failed, " +
        std::to_string(array.cancelled) + " cancelled";
}

std::string who(const Job &job, const JobArray *array)
{
    if (array)
        return "array " + std::to_string(array->job);
    if (job.task)
        return "job " + std::to_string(job.task->array) + "_" + std::to_string(job.task->index);
    return "job " + std::to_string(job.id);
}

std::string what(Occasion occasion, const Job &job, const JobArray *array)
{
    switch (occasion) {
        case Occasion::BEGAN: return "has begun";
        case Occasion::REQUEUED: return "waits again";
        case Occasion::ENDED: break;
    }
    if (array)
        return "has ended: " + count_text(*array);
    return std::string("has ended: ") + to_string(job.state) +
        (job.exit_code ? ", exit code " + std::to_string(*job.exit_code) : "");
}

bool is_part_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Letters, digits and some of `others`; a letter or digit first. */
bool is_name(std::string_view text, std::string_view others)
{
    return !text.empty() && is_part_of_name(text.front()) && std::ranges::all_of(text, [&](char c) {
        return is_part_of_name(c) || others.find(c) != std::string_view::npos;
    });
}

}  // namespace

std::string wrong_with_address(const std::string &address)
{
    std::string_view text = address;
    size_t at = text.find('@');
    bool good = address.size() <= ADDRESS_BYTES_MAX && is_name(text.substr(0, at), ".-_+=") &&
        (at == text.npos || is_name(text.substr(at + 1), ".-"));
    return good ? "" : "must be a user's name or an address such as ann@example.org";
}

std::optional<Occasion> occasion_of(const std::string &event, const Job &job, const JobArray *array,
                                    const std::vector<MailEvent> &wanted)
{
    auto wants = [&](MailEvent each) { return std::ranges::find(wanted, each) != wanted.end(); };
    bool as_array = job.task && !wants(MailEvent::ARRAY_TASKS);
    if (event == record::STARTED && wants(MailEvent::BEGIN) &&
        (!as_array || job.task->array == job.id))
        return Occasion::BEGAN;
    if (event == record::REQUEUED && wants(MailEvent::REQUEUE) && !as_array)
        return Occasion::REQUEUED;
    if (event != record::ENDED || (as_array && (!array || array->ended < array->tasks)))
        return std::nullopt;
    bool failed = as_array ? array->failed > 0 : job.state == JobState::FAILED;
    if (wants(MailEvent::END) || (failed && wants(MailEvent::FAIL)))
        return Occasion::ENDED;
    return std::nullopt;
}

std::string mail_message(Occasion occasion, const Job &job, const JobArray *array,
                         const Launch &launch, const std::string &cluster, int64_t offset_ms)
{
    std::string name = one_line(job.spec.name), whole = who(job, array),
                event = what(occasion, job, array);
    std::string text = "To: " + one_line(launch.mail_to) + "\nSubject: " + whole + " (" + name +
        ") on " + one_line(cluster) + " " + event +
        "\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=us-ascii\n\n";
    auto line = [&](const char *title, const std::string &value) {
        if (!value.empty())
            text += std::string(title) + ": " + value + "\n";
    };
    line("Event", whole + " " + event);
    line("Name", name);
    line("User", one_line(job.spec.user));
    line("Cluster", one_line(cluster));
    line("Submitted", time_text(job.submitted_ms, offset_ms));
    if (!array)
        line("Started", time_text(job.started_ms, offset_ms));
    if (occasion == Occasion::ENDED)
        line("Ended", time_text(job.ended_ms, offset_ms));
    if (!array) {
        line("Processes", std::to_string(job.size()));
        line("Reason", one_line(job.reason));
    }
    return text;
}

}  // namespace elastic::rm
