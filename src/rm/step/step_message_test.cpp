/* Messages that a step may send, and messages that end the connection instead of elasticd. */

#include "step/step_message.h"

#include <gtest/gtest.h>

#include "base/bounded_json.h"
#include "step/field_rules.h"

namespace elastic::rm {
namespace {

Result<StepMessage> read(const std::string &line)
{
    return read_step_message(parse_bounded(line));
}

TEST(StepMessageTest, events_are_read)
{
    auto message = read(
        R"({"event":"committed","seq":7,"time_ms":12.5,"request":3,"epoch":2,"duration_ms":812})");
    ASSERT_TRUE(message.ok()) << message.error();
    EXPECT_EQ(message.value().kind, StepMessageKind::COMMITTED);
    EXPECT_EQ(message.value().seq, 7u);
    EXPECT_EQ(message.value().time_ms, 12.5);
    EXPECT_EQ(message.value().request, 3u);
    EXPECT_EQ(message.value().epoch, 2u);
    const char *size_request = R"({"event":"wish","seq":9,"step":"47","wish":2,"kind":"processes",)"
                       R"("size":8,"size_min":1,"size_max":9})";
    EXPECT_EQ(read(size_request).value().kind, StepMessageKind::SIZE_REQUEST);
    EXPECT_EQ(read(size_request).value().size_max, 9u);
    EXPECT_EQ(read(R"({"event":"sizes","seq":8,"rule":"2-8,cube"})").value().rule, "2-8,cube");
}

TEST(StepMessageTest, unknown_events_and_fields_are_ignored)
{
    auto message = read(R"({"event":"moods","seq":1,"rule":{"multiple":[4]}})");
    ASSERT_TRUE(message.ok()) << message.error();
    EXPECT_EQ(message.value().kind, StepMessageKind::OTHER);
}

TEST(StepMessageTest, answers_are_read)
{
    auto message =
        read(R"({"id":"resize-4","ok":false,"error":{"code":"busy","message":"later"}})");
    ASSERT_TRUE(message.ok()) << message.error();
    EXPECT_FALSE(message.value().ok);
    EXPECT_EQ(message.value().error, "later");
    EXPECT_TRUE(read(R"({"id":null,"ok":false,"error":{"code":"syntax"}})").ok());
}

TEST(StepMessageTest, wrong_types_and_bounds_are_named)
{
    std::pair<const char *, const char *> cases[] = {
        {R"({"id":"resize-1","ok":"x"})", "'ok'"},
        {R"({"id":"resize-1"})", "'ok'"},
        {R"({"id":["resize-1"],"ok":true})", "'id'"},
        {R"({"id":"resize-1","ok":false,"error":"busy"})", "'error'"},
        {R"({"id":"resize-1","ok":false,"error":{"message":[]}})", "'message'"},
        {R"({"id":"events","ok":true,"next":-1})", "'next'"},
        {R"({"event":7,"seq":1})", "'event'"},
        {R"({"event":"wish","seq":1,"step":"4","wish":1,"kind":"processes","size":2,"size_min":1})",
         "'size_max'"},
        {R"({"event":"wish","seq":1,"step":"4","wish":1,"kind":"processes",)"
         R"("size":2097152,"size_min":1,"size_max":1})",
         "'size'"},
        {R"({"event":"wish_ended","seq":1,"step":"4","wish":1,"result":7})", "'result'"},
        {R"({"event":"adaptive"})", "'seq'"},
        {R"({"event":"adaptive","seq":1e300})", "'seq'"},
        {R"({"event":"adaptive","seq":18446744073709551615})", "'seq'"},
        {R"({"event":"adaptive","seq":1,"time_ms":1e300})", "'time_ms'"},
        {R"({"event":"adaptive","seq":1,"time_ms":"soon"})", "'time_ms'"},
        {R"({"event":"committed","seq":1,"request":1})", "'epoch'"},
        {R"({"event":"sizes","seq":1,"rule":{"multiple":[4]}})", "'rule'"},
        {R"({"event":"committed","seq":1,"request":1,"epoch":2.5})", "'epoch'"},
        {R"({"event":"committed","seq":1,"request":{},"epoch":2})", "'request'"},
        {R"({"event":"requested","seq":1,"request":1,"tag":["7"]})", "'tag'"},
        {R"({"event":"withdrawn","seq":1,"request":1,"reason":{}})", "'reason'"},
        {R"([])", "object"},
    };
    for (const auto &[line, field] : cases) {
        auto message = read(line);
        ASSERT_FALSE(message.ok()) << line;
        EXPECT_NE(message.error().find(field), std::string::npos)
            << line << ": " << message.error();
    }
}

TEST(StepMessageTest, reasons_are_short_and_printable)
{
    std::string reason = "line one\\nESC \\u001b[2J \\u00e4 " + std::string(1000, 'x');
    auto message = read(R"({"event":"failed","seq":1,"request":1,"reason":")" + reason + R"("})");
    ASSERT_TRUE(message.ok()) << message.error();
    EXPECT_EQ(message.value().reason.size(), PEOPLE_BYTES_MAX);
    EXPECT_TRUE(message.value().reason.starts_with("line one ESC ?[2J ?? xxx"))
        << message.value().reason;
}

TEST(BoundedJsonTest, depth_counts_outside_of_texts)
{
    EXPECT_FALSE(parse_bounded(R"({"a":[1,"[[[[\"[["]})", 2).is_discarded());
    EXPECT_TRUE(parse_bounded(R"({"a":[[1]]})", 2).is_discarded());
    EXPECT_TRUE(parse_bounded(std::string(200000, '[')).is_discarded());
    EXPECT_TRUE(parse_bounded("{\"a\":" + std::string(200000, '[') + std::string(200000, ']') + "}")
                    .is_discarded());
}

}  // namespace
}  // namespace elastic::rm
