/* See task_call.h. */

#include "task_call.h"

#include <algorithm>
#include <cstring>

namespace elastic {

namespace {

/* Takes from the front; once something is wrong, ok() is false for good and what is taken is empty. */
class TaskReader {
  public:
    explicit TaskReader(Bytes bytes) : bytes_(bytes), ok_(bytes.size() <= PMI_SET_CALL_MAX) {}

    uint32_t number(uint32_t max = UINT32_MAX)
    {
        uint32_t value = 0;
        Bytes raw = take(sizeof value);
        if (ok_)
            std::memcpy(&value, raw.data(), sizeof value);
        return require(value <= max) ? value : 0;
    }
    std::string text()
    {
        Bytes raw = take(number(PMI_TASK_TEXT_MAX));
        require(std::ranges::find(raw, '\0') == raw.end());
        return ok_ ? std::string(raw.begin(), raw.end()) : std::string();
    }
    std::vector<std::string> texts(uint32_t max)
    {
        std::vector<std::string> list;
        for (uint32_t n = number(max); n > 0 && ok_; n--)
            list.push_back(text());
        return list;
    }
    Bytes left() const { return bytes_; }
    bool require(bool holds) { return ok_ = ok_ && holds; }
    bool complete() const { return ok_ && bytes_.empty(); }

  private:
    Bytes take(size_t n)
    {
        if (!require(n <= bytes_.size()))
            return {};
        Bytes front = bytes_.first(n);
        bytes_ = bytes_.subspan(n);
        return front;
    }

    Bytes bytes_;
    bool ok_;
};

TaskCall read_allocate(TaskReader &reader)
{
    AllocatePlaces call;
    call.first = reader.number();
    call.n = reader.number(PMI_TASKS_MAX);
    call.hard = reader.number(1) == 1;
    call.arch = reader.text();
    call.words = reader.text();
    call.own_words = reader.texts(PMI_TASKS_MAX);
    call.hosts = reader.texts(PMI_TASKS_MAX);
    reader.require(call.own_words.empty() || call.own_words.size() == call.n);
    reader.require(call.hosts.empty() || call.hosts.size() == call.n);
    return call;
}

TaskCall read_start(TaskReader &reader)
{
    StartTask call;
    call.number = reader.number();
    Bytes program = reader.left();
    reader.require(!reader.text().empty());
    reader.texts(PMI_TASK_ARGUMENTS_MAX);
    call.program.assign(program.begin(), program.end());
    return call;
}

void append(std::string &bytes, uint32_t number)
{
    bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
}

void append(std::string &bytes, const std::string &text)
{
    append(bytes, static_cast<uint32_t>(text.size()));
    bytes += text;
}

void append(std::string &bytes, const std::vector<std::string> &texts)
{
    append(bytes, static_cast<uint32_t>(texts.size()));
    for (const std::string &text : texts)
        append(bytes, text);
}

struct Write {
    std::string &bytes;

    void operator()(const AllocatePlaces &call)
    {
        append(bytes, PMI_TASK_ALLOCATE);
        append(bytes, call.first);
        append(bytes, call.n);
        append(bytes, uint32_t{call.hard});
        append(bytes, call.arch);
        append(bytes, call.words);
        append(bytes, call.own_words);
        append(bytes, call.hosts);
    }
    void operator()(const StartTask &call)
    {
        append(bytes, PMI_TASK_START);
        append(bytes, call.number);
        bytes += call.program;
    }
    void operator()(const CancelPlace &call)
    {
        append(bytes, PMI_TASK_CANCEL);
        append(bytes, call.number);
    }
    void operator()(const ReleasePlace &call)
    {
        append(bytes, PMI_TASK_RELEASE);
        append(bytes, call.number);
    }
    void operator()(const SignalTask &call)
    {
        append(bytes, PMI_TASK_SIGNAL);
        append(bytes, call.number);
        append(bytes, call.name);
    }
    void operator()(const AwaitTaskEvents &) { append(bytes, PMI_TASK_EVENTS); }
};

}  // namespace

std::optional<TaskCall> parse_task_call(Bytes bytes)
{
    TaskReader reader(bytes);
    TaskCall call;
    switch (reader.number()) {
    case PMI_TASK_ALLOCATE:
        call = read_allocate(reader);
        break;
    case PMI_TASK_START:
        call = read_start(reader);
        break;
    case PMI_TASK_CANCEL:
        call = CancelPlace{reader.number()};
        break;
    case PMI_TASK_RELEASE:
        call = ReleasePlace{reader.number()};
        break;
    case PMI_TASK_SIGNAL: {
        uint32_t number = reader.number();
        call = SignalTask{number, reader.text()};
        break;
    }
    case PMI_TASK_EVENTS:
        call = AwaitTaskEvents{};
        break;
    default:
        return std::nullopt;
    }
    return reader.complete() ? std::optional(std::move(call)) : std::nullopt;
}

std::string write_task_call(const TaskCall &call)
{
    std::string bytes;
    std::visit(Write{bytes}, call);
    return bytes;
}

std::optional<TaskReport> parse_task_report(Bytes payload)
{
    TaskReport report;
    if (payload.size() < sizeof report.head || payload.size() > sizeof report.head + PMI_TASK_TEXT_MAX)
        return std::nullopt;
    std::memcpy(&report.head, payload.data(), sizeof report.head);
    Bytes text = payload.subspan(sizeof report.head);
    report.text.assign(text.begin(), text.end());
    bool sane = report.head.kind == PMI_TASK_STARTED || report.head.kind == PMI_TASK_EXITED;
    return sane && report.head.code <= 255 ? std::optional(std::move(report)) : std::nullopt;
}

std::string write_task_head(const task_head &head)
{
    return {reinterpret_cast<const char *>(&head), sizeof head};
}

}  // namespace elastic
