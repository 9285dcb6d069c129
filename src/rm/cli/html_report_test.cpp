#include "cli/html_report.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

TEST(HtmlReportTest, holds_all_that_it_needs_and_names_are_no_markup)
{
    Json timeline = {{"from_ms", 0}, {"to_ms", 1000}, {"nodes", {{{"name", "n0"}, {"cores", 4}}}},
                     {"segments", {{{"job", 1}, {"name", "</script><b>"}, {"node", "n0"}},
                                   {{"job", 2}, {"name", "other"}, {"node", "n0"}}}}};
    std::string html = html_report("a <run>", Json{{"jobs", 2}}, timeline, {1});
    EXPECT_NE(html.find("function drawChart("), std::string::npos);
    EXPECT_NE(html.find("function drawReport("), std::string::npos);
    EXPECT_NE(html.find("svg .segment"), std::string::npos);
    EXPECT_EQ(html.find("<b>"), std::string::npos);
    EXPECT_EQ(html.find("<run>"), std::string::npos);
    EXPECT_EQ(html.find("other\""), std::string::npos) << "another job's";
    size_t begin = html.find("json\">") + 6, end = html.find("</script>");
    Json data = Json::parse(html.substr(begin, end - begin));
    EXPECT_EQ(data["timeline"]["segments"][0]["name"], "</script><b>");
    EXPECT_EQ(data["title"], "a <run>");
}

}  // namespace
}  // namespace elastic
