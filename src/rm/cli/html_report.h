/*
 * The metrics and the chart of a run as one file for a browser: the data, and the scripts of the
 * web page that draw them (src/rm/web).  The file needs no other file.  Pure.
 */

#ifndef ELASTIC_CLI_HTML_REPORT_H_INCLUDED
#define ELASTIC_CLI_HTML_REPORT_H_INCLUDED

#include <set>
#include <string>

#include "cli/output.h"

namespace elastic {

/* `report` and `timeline` as returned by GET /v1/report and /v1/timeline; `jobs`: only these
 * (empty: all). */
std::string html_report(const std::string &title, const Json &report, Json timeline,
                        const std::set<int64_t> &jobs);

}  // namespace elastic

#endif /* ELASTIC_CLI_HTML_REPORT_H_INCLUDED */
