#include "stepmgr/proto/protocol.h"

#include <gtest/gtest.h>

#include "stepmgr/common/step_events.h"

namespace elastic {
namespace {

template <class What> What parse(const std::string &line)
{
    auto parsed = parse_request(line);
    if (auto *error = std::get_if<ProtocolError>(&parsed)) {
        ADD_FAILURE() << line << ": " << error->message;
        return {};
    }
    return std::get<What>(std::get<ClientRequest>(parsed).what);
}

ProtocolError refuse(const std::string &line)
{
    auto parsed = parse_request(line);
    if (auto *error = std::get_if<ProtocolError>(&parsed))
        return *error;
    ADD_FAILURE() << "accepted: " << line;
    return {};
}

TEST(ProtocolTest, every_operation)
{
    parse<HelloRequest>(R"({"id":1,"op":"hello","version":1})");
    parse<StatusRequest>(R"({"op":"status"})");
    EXPECT_EQ(parse<CancelRequest>(R"({"id":"x","op":"cancel","request":4})").request, 4u);
    EventsRequest events = parse<EventsRequest>(R"({"op":"events","since":7,"follow":true})");
    EXPECT_EQ(events.since, 7u);
    EXPECT_TRUE(events.follow);
    ResizeRequest resize = parse<ResizeRequest>(
        R"({"op":"resize","size":3,"leave":[0,2],"hosts":["a"],"program":1,"if_epoch":0,)"
        R"("deadline_ms":5,"reason":"why","wait":true})");
    EXPECT_EQ(resize.change.size, 3);
    EXPECT_EQ(resize.change.leave, (std::vector{0, 2}));
    EXPECT_EQ(resize.change.hosts, (std::vector<std::string>{"a"}));
    EXPECT_EQ(resize.change.program, 1);
    EXPECT_EQ(resize.if_epoch, 0u);
    EXPECT_EQ(resize.deadline_ms, 5u);
    EXPECT_EQ(resize.reason, "why");
    EXPECT_TRUE(resize.wait);
}

/* 10^5 processes, of which every second one leaves, on 10^4 hosts. */
TEST(ProtocolTest, a_change_of_a_large_step)
{
    constexpr int PROCESSES = 100000, HOSTS = 10000;
    std::vector<int> leave;
    for (int rank = 0; rank < PROCESSES; rank += 2)
        leave.push_back(rank);
    std::string hosts;
    for (int host = 0; host < HOSTS; host++)
        hosts += (host ? "," : "") + ("\"a-long-name-of-a-host-" + std::to_string(host)) + ":16\"";
    std::string line = R"({"op":"resize","size":210000,"leave":")" + format_ranks(leave) +
        R"(","hosts":[)" + hosts + "]}";
    EXPECT_GT(line.size(), 500000u);
    ResizeRequest resize = parse<ResizeRequest>(line);
    EXPECT_EQ(resize.change.leave, leave);
    EXPECT_EQ(resize.change.hosts.size(), static_cast<size_t>(HOSTS));
    resize = parse<ResizeRequest>(R"({"op":"resize","size":1,"leave":"1-99999"})");
    EXPECT_EQ(resize.change.leave->size(), 99999u);
    for (const char *bad : {"1-", "x", "3-1", "0,0", "0-1048576", ""})
        EXPECT_EQ(refuse(R"({"op":"resize","size":1,"leave":")" + std::string(bad) + "\"}").code,
                  ErrorCode::FIELD)
            << bad;
}

TEST(ProtocolTest, lines_that_are_not_objects)
{
    for (const char *bad : {"", "x", "1", "[]", "null", "{", "{}x", "\"a\"", "{\"op\":}",
                            "{\"op\":\"\xff\"}", "nan"})
        EXPECT_EQ(refuse(bad).code, ErrorCode::SYNTAX) << bad;
    EXPECT_EQ(refuse(std::string(STEP_LINE_MAX + 1, ' ')).code, ErrorCode::SYNTAX);
    EXPECT_EQ(refuse(std::string(60000, '[')).code, ErrorCode::SYNTAX);
}

TEST(ProtocolTest, operations_and_versions)
{
    EXPECT_EQ(refuse(R"({"id":1})").code, ErrorCode::OPERATION);
    EXPECT_EQ(refuse(R"({"id":1,"op":"explode"})").code, ErrorCode::OPERATION);
    EXPECT_EQ(refuse(R"({"id":1,"op":5})").code, ErrorCode::FIELD);
    EXPECT_EQ(refuse(R"({"id":1,"op":"hello","version":2})").code, ErrorCode::VERSION);
    EXPECT_EQ(refuse(R"({"id":1,"op":"hello","version":"1"})").code, ErrorCode::VERSION);
}

TEST(ProtocolTest, the_id_is_echoed_if_it_can_be)
{
    EXPECT_EQ(refuse(R"({"id":7,"op":"explode"})").id, 7);
    EXPECT_EQ(refuse(R"({"id":"a","op":"explode"})").id, "a");
    for (const char *bad : {"-1", "1.5", "true", "[1]", "{}", "9007199254740993"}) {
        ProtocolError error = refuse(std::string(R"({"op":"hello","id":)") + bad + "}");
        EXPECT_EQ(error.code, ErrorCode::FIELD) << bad;
        EXPECT_TRUE(error.id.is_null()) << bad;
    }
}

TEST(ProtocolTest, each_field_is_checked)
{
    for (const char *bad :
         {R"("size":0)", R"("size":-1)", R"("size":1.5)", R"("size":"4")", R"("size":null)",
          R"("size":1048577)", R"("size":4294967298)", R"("leave":[0])",
          R"("size":2,"leave":0)", R"("size":2,"leave":[-1])", R"("size":2,"leave":["0"])",
          R"("size":2,"leave":[1048576])", R"("size":2,"leave":[0.5])", R"("size":2,"hosts":"a")",
          R"("size":2,"hosts":[""])", R"("size":2,"hosts":["a b"])", R"("size":2,"hosts":[1])",
          R"("size":2,"program":-1)", R"("size":2,"program":"0")", R"("size":2,"program":65536)",
          R"("size":2,"if_epoch":-1)", R"("size":2,"if_epoch":4294967296)",
          R"("size":2,"deadline_ms":0)", R"("size":2,"deadline_ms":1e300)",
          R"("size":2,"reason":5)", R"("size":2,"wait":1)", R"("size":2,"wiat":true)"}) {
        ProtocolError error = refuse(std::string(R"({"op":"resize",)") + bad + "}");
        EXPECT_EQ(error.code, ErrorCode::FIELD) << bad;
        EXPECT_FALSE(error.message.empty());
    }
    EXPECT_EQ(refuse(R"({"op":"resize","size":2,"reason":")" + std::string(64, 'r') + "\"}").code,
              ErrorCode::FIELD);
    EXPECT_EQ(refuse(R"({"op":"events","since":-1})").code, ErrorCode::FIELD);
    EXPECT_EQ(refuse(R"({"op":"events","follow":"yes"})").code, ErrorCode::FIELD);
    EXPECT_EQ(refuse(R"({"op":"cancel","request":0})").code, ErrorCode::FIELD);
    EXPECT_EQ(refuse(R"({"op":"status","size":1})").code, ErrorCode::FIELD);
}

TEST(ProtocolTest, answers_are_one_line)
{
    EXPECT_EQ(write_answer(7, {{"a", "x\ny"}}), R"({"id":7,"ok":true,"a":"x\ny"})");
    EXPECT_EQ(write_error({"i", ErrorCode::BUSY, "later"}),
              R"({"id":"i","ok":false,"error":{"code":"busy","message":"later"}})");
}

TEST(ProtocolTest, bytes_that_are_not_text_are_replaced)
{
    std::string line = write_line({{"program", "\xff/app"}});
    EXPECT_TRUE(Json::parse(line, nullptr, false).is_object());
}

TEST(JournalTest, wall_clock)
{
    EXPECT_EQ(format_wall(0), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(format_wall(1700000000123456), "2023-11-14T22:13:20.123456Z");
}

}  // namespace
}  // namespace elastic
