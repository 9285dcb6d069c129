/* See html_report.h. */

#include "cli/html_report.h"

#include <algorithm>

#include "http/web_files.h"

namespace elastic {

namespace {

std::string web_file(std::string_view name)
{
    auto files = rm::web_files();
    auto found = std::find_if(files.begin(), files.end(),
                              [name](const rm::WebFile &file) { return file.name == name; });
    return found == files.end() ? "" : std::string(found->data);
}

/* No text in it can end the enclosing element. */
std::string inert(const Json &json)
{
    std::string text;
    for (char c : json.dump(-1, ' ', false, Json::error_handler_t::replace))
        if (c == '<')
            text += "\\u003c";
        else
            text += c;
    return text;
}

}  // namespace

std::string html_report(const std::string &title, const Json &report, Json timeline,
                        const std::set<int64_t> &jobs)
{
    Json chosen = Json::array();
    for (const Json &segment : list_of(timeline, "segments"))
        if (jobs.empty() || jobs.contains(integer_or(segment, "job", -1)))
            chosen.push_back(segment);
    timeline["segments"] = std::move(chosen);
    Json data = {{"title", title}, {"report", report}, {"timeline", std::move(timeline)}};
    return "<!DOCTYPE html>\n<!-- Written by elastic report. -->\n<html lang=\"en\">\n<head>\n"
           "<meta charset=\"utf-8\">\n<style>\n" +
           web_file("page.css") +
           "</style>\n</head>\n<body>\n<script id=\"data\" type=\"application/json\">" +
           inert(data) + "</script>\n<script>\n" + web_file("chart.js") + web_file("report.js") +
           "</script>\n</body>\n</html>\n";
}

}  // namespace elastic
