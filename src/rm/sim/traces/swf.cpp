/* See swf.h. */

#include "sim/traces/swf.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

namespace elastic::rm {

namespace {

/* Columns, from 0. */
enum {
    NUMBER,
    SUBMIT,
    RUN = 3,
    ALLOCATED,
    REQUESTED_PROCESSORS = 7,
    REQUESTED_TIME,
    STATUS = 10,
    USER = 11,
    COLUMNS = 18
};
constexpr double CANCELLED = 5;
constexpr double TIME_MAX_S = 1e11; /* thousands of years */

using Columns = std::array<double, COLUMNS>;

std::string_view next_word(std::string_view &line)
{
    size_t begin = line.find_first_not_of(" \t\r\n");
    line.remove_prefix(std::min(begin, line.size()));
    std::string_view word = line.substr(0, line.find_first_of(" \t\r\n"));
    line.remove_prefix(word.size());
    return word;
}

Result<Columns> split(std::string_view line)
{
    Columns columns;
    for (int i = 0; i < COLUMNS; i++) {
        std::string_view word = next_word(line);
        if (word.empty())
            return Error{"has " + std::to_string(i) + " columns, not 18"};
        auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), columns[i]);
        if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(columns[i]))
            return Error{"column " + std::to_string(i + 1) +
                         " is not a number: " + std::string(word.substr(0, 40))};
    }
    if (!next_word(line).empty())
        return Error{"has more than 18 columns"};
    return columns;
}

struct CloseFile {
    void operator()(gzFile_s *file) const { gzclose(file); }
};

/* "; MaxProcs: 100" */
void read_header(std::string_view line, Trace &trace)
{
    constexpr std::string_view KEY = "MaxProcs:";
    size_t at = line.find(KEY);
    if (at == line.npos)
        return;
    line.remove_prefix(at + KEY.size());
    std::string_view word = next_word(line);
    int64_t value = 0;
    if (std::from_chars(word.data(), word.data() + word.size(), value).ec == std::errc() &&
        value > 0)
        trace.max_processors = value;
}

}  // namespace

Result<TraceJob> read_trace_line(std::string_view line)
{
    auto columns = split(line);
    if (!columns)
        return Error{columns.error()};
    const Columns &of = columns.value();
    bool never_ran = of[STATUS] == CANCELLED && of[RUN] <= 0;
    double processors = of[ALLOCATED] > 0 ? of[ALLOCATED] : of[REQUESTED_PROCESSORS];
    if (of[SUBMIT] < 0 || of[SUBMIT] > TIME_MAX_S)
        return Error{"its time of submission is impossible"};
    if (!never_ran && (of[RUN] < 0 || of[RUN] > TIME_MAX_S))
        return Error{"its run time is not recorded, or impossible"};
    if (!never_ran && (processors < 1 || processors > TRACE_PROCESSORS_MAX))
        return Error{"its number of processors is not recorded, or impossible"};
    TraceJob job;
    job.number = std::llround(std::clamp(of[NUMBER], 0.0, TIME_MAX_S));
    job.submit_s = std::llround(of[SUBMIT]);
    job.never_ran = never_ran;
    job.run_s = never_ran ? 0 : std::llround(of[RUN]);
    job.requested_s =
        of[REQUESTED_TIME] > 0 ? std::llround(std::min(of[REQUESTED_TIME], TIME_MAX_S)) : 0;
    job.processors = never_ran ? 0 : static_cast<int>(processors);
    job.user = of[USER] >= 0 ? static_cast<int>(std::min(of[USER], 1e9)) : -1;
    return job;
}

Result<Trace> read_trace(const std::string &path, bool strict)
{
    std::unique_ptr<gzFile_s, CloseFile> file(
        gzopen(path.c_str(), "rb")); /* reads plain files, too */
    if (!file)
        return Error{"trace " + path + " cannot be opened: " + strerror(errno)};
    gzbuffer(file.get(), 1 << 17);
    Trace trace;
    std::vector<char> text(TRACE_LINE_MAX + 2);
    for (int64_t line = 1; gzgets(file.get(), text.data(), static_cast<int>(text.size())); line++) {
        std::string_view content(text.data());
        bool whole = content.ends_with('\n') || gzeof(file.get());
        while (!whole) { /* the rest of a line that is too long */
            if (!gzgets(file.get(), text.data(), static_cast<int>(text.size())))
                break;
            whole = std::string_view(text.data()).ends_with('\n');
            content = "too long";
        }
        std::string_view rest = content;
        std::string_view first = next_word(rest);
        if (first.starts_with(';'))
            read_header(content, trace);
        if (first.empty() || first.starts_with(';'))
            continue;
        auto job = read_trace_line(content);
        if (job) {
            trace.jobs.push_back(job.value());
            continue;
        }
        if (strict)
            return Error{"trace " + path + ", line " + std::to_string(line) + ": " + job.error()};
        trace.skipped++;
        if (trace.problems.size() < TRACE_PROBLEMS_MAX)
            trace.problems.push_back({line, job.error()});
    }
    int code = Z_OK;
    const char *why = gzerror(file.get(), &code);
    if (code != Z_OK && code != Z_STREAM_END)
        return Error{"trace " + path +
                     " cannot be read: " + (code == Z_ERRNO ? strerror(errno) : why)};
    std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                     [](const TraceJob &a, const TraceJob &b) { return a.submit_s < b.submit_s; });
    return trace;
}

}  // namespace elastic::rm
