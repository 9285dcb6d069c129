/* JSON of events and actions, both ways. */

#include "core/event.h"

#include <gtest/gtest.h>

#include "core/action.h"

namespace elastic::rm {
namespace {

template <size_t INDEX = 0, class Check> void for_each_event(Check check)
{
    if constexpr (INDEX < std::variant_size_v<EventContent>) {
        check(Event{7, 1700000000000, std::variant_alternative_t<INDEX, EventContent>{}});
        for_each_event<INDEX + 1>(check);
    }
}

template <size_t INDEX = 0, class Check> void for_each_action(Check check)
{
    if constexpr (INDEX < std::variant_size_v<Action>) {
        check(Action{std::variant_alternative_t<INDEX, Action>{}});
        for_each_action<INDEX + 1>(check);
    }
}

TEST(EventTest, all_events_and_actions_survive_json)
{
    std::set<std::string> names;
    for_each_event([&](const Event &event) {
        Json json = to_json(event);
        EXPECT_TRUE(names.insert(json["event"]).second);
        auto again = event_from_json(Json::parse(json.dump()));
        ASSERT_TRUE(again.ok()) << again.error();
        EXPECT_EQ(again.value().content.index(), event.content.index());
        EXPECT_EQ(to_json(again.value()), json);
    });
    for_each_action([&](const Action &action) {
        Json json = to_json(action);
        auto again = action_from_json(Json::parse(json.dump()));
        ASSERT_TRUE(again.ok()) << again.error();
        EXPECT_EQ(to_json(again.value()), json);
    });
    EXPECT_EQ(names.size(), std::variant_size_v<EventContent>);
}

TEST(EventTest, the_list_of_a_record_is_one_of_its_data)
{
    Record record{7, 5, "requested", 1, "", {{"size", 3}}, "joining", {{"a", 2}, {"b", 1}}};
    Json json = to_json(Action(record));
    EXPECT_EQ(json["data"], (Json{{"size", 3}, {"joining", {{{"node", "a"}, {"processes", 2}},
                                                            {{"node", "b"}, {"processes", 1}}}}}));
    Record again = std::get<Record>(action_from_json(json).value());
    EXPECT_TRUE(again.blocks.empty());
    again.find_members();
    EXPECT_EQ(again.blocks, record.blocks);
    EXPECT_EQ(again.data, record.data);
    EXPECT_EQ(to_json(Action(again)), json);
}

TEST(EventTest, values_survive_json)
{
    JobSpec spec;
    spec.name = "solver \"µ\"";
    spec.elasticity = Elasticity::MALLEABLE;
    spec.maximum = 8;
    spec.size_rule = SizeRule::SQUARE;
    spec.whole_nodes = true;
    Json json = to_json(Event{9, 5, Submit{"r", spec}});
    EXPECT_EQ(json["spec"]["elasticity"], "malleable");
    auto again = event_from_json(json);
    ASSERT_TRUE(again.ok());
    const auto &submit = std::get<Submit>(again.value().content);
    EXPECT_EQ(submit.spec.name, spec.name);
    EXPECT_EQ(submit.spec.size_rule, SizeRule::SQUARE);
    EXPECT_TRUE(submit.spec.whole_nodes);
    EXPECT_EQ(again.value().seq, 9u);
}

TEST(EventTest, errors_name_the_field)
{
    auto error = [](const char *text) { return event_from_json(Json::parse(text)).error(); };
    EXPECT_EQ(error("7"), "an event must be an object");
    EXPECT_EQ(error("{}"), "field seq is missing");
    EXPECT_EQ(error(R"({"seq":1,"time_ms":"x"})"), "field time_ms must be a whole number");
    EXPECT_EQ(error(R"({"seq":1,"time_ms":1})"), "field event is missing or has an unknown value");
    EXPECT_EQ(error(R"({"seq":1,"time_ms":1,"event":"explode"})"),
              "field event is missing or has an unknown value");
    EXPECT_EQ(error(R"({"seq":1,"time_ms":1,"event":"cancel","jobs":1})"), "field jobs is unknown");
    EXPECT_EQ(error(R"({"seq":1,"time_ms":1,"event":"cancel","job":-1})"),
              "field job is out of bounds");
    EXPECT_EQ(error(R"({"seq":1,"time_ms":1,"event":"cancel","job":1.5})"),
              "field job must be a whole number");
    EXPECT_EQ(error(R"({"seq":1,"time_ms":1,"event":"resize","size":4294967296})"),
              "field size is out of bounds");
    EXPECT_EQ(error(R"({"seq":1,"time_ms":1,"event":"submit","spec":{"held":1}})"),
              "field spec.held must be true or false");
    EXPECT_EQ(error(R"({"seq":1,"time_ms":1,"event":"submit","spec":[]})"),
              "field spec must be an object");
    EXPECT_EQ(error(R"({"seq":1,"time_ms":1,"event":"nodes_acquired","blocks":[{"node":3}]})"),
              "field blocks[0].node must be a string");
    EXPECT_EQ(error(R"({"seq":1,"time_ms":1,"event":"submit","spec":{"elasticity":"soft"}})"),
              "field spec.elasticity must be one of: rigid, moldable, malleable");
}

}  // namespace
}  // namespace elastic::rm
