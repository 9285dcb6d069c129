/* Places for processes that programs start (slots.h).  DA1-DA3, DA10, DA12. */

#include <gtest/gtest.h>

#include "stepmgr/tasks/slots.h"

namespace elastic {

namespace {

const std::string PROGRAM = std::string("\4\0\0\0true\0\0\0\0", 12);

struct PlacesTest : ::testing::Test {
    PlacesTest()
    {
        places.set_hosts({{"n1", 1}, {"n2", 2}});
        places.set_room(2, 3);
    }
    std::string allocate(uint32_t uid, uint32_t first, uint32_t n, bool hard, std::vector<std::string> hosts = {})
    {
        return places.allocate(uid, {first, n, hard, "*", "", {}, std::move(hosts)});
    }
    bool report(uint32_t uid, uint32_t number, pmi_task_stage stage, uint32_t code, uint64_t agent)
    {
        return places.report(agent, {{uid, number, static_cast<uint32_t>(stage), code}, ""});
    }
    /* "1:1@n1 2:0", number and stage of each. */
    std::string events()
    {
        std::string text;
        for (const Places::Event &e : places.take_events()) {
            text += (text.empty() ? "" : " ") + std::to_string(e.number) + ":" + std::to_string(e.stage);
            text += e.stage == PMI_TASK_ALLOCATED ? "@" + e.text : "";
        }
        return text;
    }
    /* "1:1@2", number, kind and daemon of each. */
    std::string orders()
    {
        std::string text;
        for (const Places::Order &o : places.take_orders())
            text += (text.empty() ? "" : " ") + std::to_string(o.head.number) + ":" + std::to_string(o.head.kind) +
                    "@" + std::to_string(o.agent);
        return text;
    }
    Places places;
};

}  // namespace

TEST_F(PlacesTest, HardRequestsWaitForTheirTurn)
{
    EXPECT_EQ("", allocate(7, 1, 3, true));
    EXPECT_EQ("1:1@n1 2:1@n2", events());
    places.release(7, 1);
    EXPECT_EQ("3:1@n1", events());
    EXPECT_EQ(2u, places.held());
}

TEST_F(PlacesTest, MoreThanThereCouldEverBeAreRefused)
{
    EXPECT_NE("", allocate(7, 1, 4, true));
    EXPECT_NE("", allocate(7, 1, 1, true, {"n3"}));
    EXPECT_EQ("", events());
    EXPECT_FALSE(places.any());
}

TEST_F(PlacesTest, SoftRequestsThatGetNoneNowAreCancelled)
{
    EXPECT_EQ("", allocate(7, 1, 4, false));
    EXPECT_EQ("1:1@n1 2:1@n2 3:0 4:0", events());
    EXPECT_EQ(2u, places.held());
}

TEST_F(PlacesTest, AHostByItsName)
{
    EXPECT_EQ("", allocate(7, 1, 2, true, {"n2", "n2"}));
    EXPECT_EQ("1:1@n2 2:1@n2", events());
}

TEST_F(PlacesTest, TheLifeOfAProcess)
{
    EXPECT_EQ("", allocate(7, 1, 1, true));
    EXPECT_FALSE(places.signal(7, {1, "USR1"}));
    EXPECT_TRUE(places.start(7, {1, PROGRAM}));
    EXPECT_FALSE(places.start(7, {1, PROGRAM}));
    EXPECT_EQ("1:1@1", orders());
    EXPECT_FALSE(report(7, 1, PMI_TASK_STARTED, 0, 2));
    EXPECT_TRUE(report(7, 1, PMI_TASK_STARTED, 0, 1));
    EXPECT_TRUE(places.signal(7, {1, "USR1"}));
    EXPECT_TRUE(report(7, 1, PMI_TASK_EXITED, 3, 1));
    EXPECT_FALSE(report(7, 1, PMI_TASK_EXITED, 3, 1));
    EXPECT_EQ("1:1@n1 1:2 1:3", events());
    EXPECT_EQ(0u, places.held());
    EXPECT_FALSE(places.any());
}

TEST_F(PlacesTest, CancelGivesUpOnlyWhatHasNoPlace)
{
    EXPECT_EQ("", allocate(7, 1, 3, true));
    places.cancel(7, 1);
    places.cancel(7, 3);
    EXPECT_EQ("1:1@n1 2:1@n2 3:0", events());
    EXPECT_EQ(2u, places.held());
}

TEST_F(PlacesTest, AFreedRequestGivesItsPlaceBackAtTheExit)
{
    EXPECT_EQ("", allocate(7, 1, 1, true));
    places.start(7, {1, PROGRAM});
    places.release(7, 1);
    EXPECT_EQ(1u, places.held());
    EXPECT_TRUE(report(7, 1, PMI_TASK_EXITED, 0, 1));
    EXPECT_EQ("1:1@n1", events());
    EXPECT_EQ(0u, places.held());
}

TEST_F(PlacesTest, WithItsOwnerAllEndsAndOthersGoOn)
{
    EXPECT_EQ("", allocate(7, 1, 2, true));
    EXPECT_EQ("", allocate(8, 1, 1, true));
    places.start(7, {1, PROGRAM});
    places.take_events();
    places.take_orders();
    places.owner_ended(7);
    EXPECT_EQ("1:3@1", orders());
    EXPECT_EQ("1:1@n2", events());      /* of 8, in the place of the one that was not started */
    EXPECT_TRUE(report(7, 1, PMI_TASK_EXITED, 143, 1));
    EXPECT_EQ("", events());
    EXPECT_EQ(1u, places.held());
}

TEST_F(PlacesTest, ALostDaemonEndsItsProcesses)
{
    EXPECT_EQ("", allocate(7, 1, 2, true));
    places.start(7, {1, PROGRAM});
    places.take_events();
    places.agent_lost(1);
    EXPECT_EQ("1:3", events());
    EXPECT_EQ(1u, places.held());
    places.agent_lost(2);
    EXPECT_TRUE(places.start(7, {2, PROGRAM}));
    EXPECT_EQ("2:3", events());
    EXPECT_FALSE(places.any());
}

TEST_F(PlacesTest, WordsAreToldBack)
{
    EXPECT_EQ("", places.allocate(7, {1, 1, true, "*", "reason=night;color=red", {"tag=x;y"}, {}}));
    std::vector<Places::Event> events = places.take_events();
    ASSERT_EQ(1u, events.size());
    EXPECT_EQ("place=1;reason=night;tag=x;ignored=color,y", events[0].info);
}

TEST_F(PlacesTest, WhoWaitsTooLongGetsNone)
{
    EXPECT_EQ("", places.allocate(7, {1, 3, true, "*", "timeout=2s", {}, {}}));
    EXPECT_EQ("1:1@n1 2:1@n2", events());
    EXPECT_EQ(2000, places.next_ms());
    places.time(1999);
    EXPECT_EQ("", events());
    places.time(2000);
    EXPECT_EQ("3:0", events());
    EXPECT_EQ(-1, places.next_ms());
}

TEST_F(PlacesTest, AHostForItself)
{
    places.set_room(9, 9);
    EXPECT_EQ("", places.allocate(7, {1, 2, true, "*", "", {"", "exclusive"}, {}}));
    EXPECT_EQ("1:1@n1 2:1@n2", events());
    EXPECT_EQ("", places.allocate(7, {3, 1, true, "*", "exclusive", {}, {}}));
    EXPECT_EQ("", allocate(8, 1, 2, true));
    EXPECT_EQ("1:1@n1 2:1@n1", events());
    places.release(7, 1);
    places.release(8, 1);
    EXPECT_EQ("", events());
    places.release(8, 2);
    EXPECT_EQ("3:1@n1", events());
}

TEST_F(PlacesTest, HostsForThemselvesThatThereCouldNeverBeAreRefused)
{
    places.set_room(9, 9);
    auto ask = [this](bool hard, const std::vector<std::string> &words, const std::vector<std::string> &hosts) {
        return places.allocate(7, {1, static_cast<uint32_t>(words.size()), hard, "*", "", words, hosts});
    };
    EXPECT_NE("", ask(true, {"exclusive", "exclusive", "exclusive"}, {}));
    EXPECT_NE("", ask(true, {"exclusive", "exclusive", ""}, {}));
    EXPECT_NE("", ask(true, {"exclusive", "exclusive"}, {"n1", "n1"}));
    EXPECT_NE("", ask(true, {"exclusive", ""}, {"n1", "n1"}));
    EXPECT_FALSE(places.any());
    EXPECT_EQ("", ask(false, {"exclusive", "exclusive", ""}, {}));
    EXPECT_EQ("1:1@n1 2:1@n2 3:0", events());
}

/* With an allocator. */
struct GivenPlacesTest : PlacesTest {
    GivenPlacesTest()
    {
        places.use_allocator([this] { return ++last_wish; });
        places.set_most(4);
    }
    /* "1?3 1:granted <n1", of wishes and ends of them, and what is given back. */
    std::string notices()
    {
        std::string text;
        for (const Places::Notice &n : places.take_notices()) {
            text += text.empty() ? "" : " ";
            if (n.wish && n.end)
                text += std::to_string(n.wish->number) + ":" + to_string(*n.end);
            else if (n.wish)
                text += std::to_string(n.wish->number) + (n.wish->hard ? "!" : "?") + std::to_string(n.wish->count);
            for (const auto &[host, count] : n.released)
                text += "<" + host + "*" + std::to_string(count);
        }
        return text;
    }
    uint64_t last_wish = 0;
};

TEST_F(GivenPlacesTest, AHardWishIsGrantedInParts)
{
    EXPECT_EQ("", allocate(7, 1, 3, true));
    EXPECT_EQ("1!3", notices());
    EXPECT_EQ("", events());
    EXPECT_TRUE(places.grant(1, 1, {"n1"}));
    EXPECT_EQ("1:1@n1", events());
    EXPECT_EQ(2u, places.wishes().at(1).count);
    EXPECT_TRUE(places.grant(1, 1, {"n1"}));    /* said again */
    EXPECT_FALSE(places.grant(3, 1, {"n1"}));   /* one is missing */
    EXPECT_EQ("", events());
    EXPECT_TRUE(places.grant(2, 1, {"n2", "n2"}));
    EXPECT_EQ("2:1@n2 3:1@n2", events());
    EXPECT_EQ("1:granted", notices());
    EXPECT_EQ((Places::HostCounts{{"n1", 1}, {"n2", 2}}), places.given());
}

TEST_F(GivenPlacesTest, ASoftOneTakesWhatItGets)
{
    EXPECT_EQ("", allocate(7, 1, 3, false));
    EXPECT_TRUE(places.grant(1, 1, {"n1"}));
    EXPECT_EQ("1:1@n1 2:0 3:0", events());
    EXPECT_EQ("1?3 1:refused", notices());
    EXPECT_EQ("", allocate(7, 4, 2, false));
    EXPECT_TRUE(places.refuse(2, "none is there"));
    EXPECT_FALSE(places.refuse(2, "none is there"));
    std::vector<Places::Event> told = places.take_events();
    ASSERT_EQ(2u, told.size());
    EXPECT_EQ("", told[0].text);
}

TEST_F(GivenPlacesTest, WhoHasAllThereAreAsksForNoMoreThatAreSoft)
{
    places.grant(1, 1, {"n1", "n1", "n2", "n2"});
    EXPECT_EQ("", allocate(7, 1, 5, false));
    EXPECT_EQ("1:1@n2 2:1@n2 3:1@n1 4:1@n1 5:0", events());
    EXPECT_EQ("", notices());
    EXPECT_EQ("", allocate(7, 6, 1, true));
    EXPECT_EQ("1!1", notices());
}

TEST_F(GivenPlacesTest, AHardOneThatIsRefusedIsAnError)
{
    EXPECT_NE("", allocate(7, 1, 5, true));
    EXPECT_EQ("", allocate(7, 1, 1, true));
    EXPECT_TRUE(places.refuse(1, "the job is too large"));
    EXPECT_EQ("the job is too large", places.take_events().at(0).text);
    EXPECT_FALSE(places.any());
}

TEST_F(GivenPlacesTest, APlaceIsUsedAgainAndThenGivenBack)
{
    places.grant(1, 1, {"n1"});
    EXPECT_EQ("", allocate(7, 1, 1, true));
    EXPECT_EQ("1:1@n1", events());
    EXPECT_EQ("", notices());
    places.time(500);
    places.release(7, 1);
    EXPECT_EQ("", allocate(7, 2, 1, true, {"n1"}));
    EXPECT_EQ("2:1@n1", events());
    places.release(7, 2);
    EXPECT_EQ(500 + Places::LINGER_MS, places.next_ms());
    places.time(499 + Places::LINGER_MS);
    EXPECT_EQ("", notices());
    places.time(500 + Places::LINGER_MS);
    EXPECT_EQ("<n1*1", notices());
    EXPECT_TRUE(places.given().empty());
    EXPECT_EQ(-1, places.next_ms());
}

/* What is idle on a host that somebody has for himself is given back; and a host by itself is asked for by a wish. */
TEST_F(GivenPlacesTest, AHostForItself)
{
    places.grant(1, 1, {"n1", "n1"});
    EXPECT_EQ("", places.allocate(7, {1, 2, true, "*", "exclusive", {}, {}}));
    EXPECT_EQ("1:1@n1", events());
    EXPECT_EQ("<n1*1 1!1", notices());
    EXPECT_TRUE(places.wishes().at(1).alone);
    EXPECT_EQ((Places::HostCounts{{"n1", 1}}), places.given());
    EXPECT_TRUE(places.has_alone("n1"));
    EXPECT_EQ("", allocate(8, 1, 1, true));
    EXPECT_EQ("2!1", notices());
    EXPECT_FALSE(places.wishes().at(2).alone);
    places.grant(2, 2, {"n1"});         /* the allocator did not know that yet */
    EXPECT_EQ("", events());
    places.grant(3, 2, {"n2"});
    EXPECT_EQ("2:1@n2", events());      /* who has waited for longer */
    places.time(Places::LINGER_MS);
    EXPECT_EQ("1:granted <n1*1", notices());
    places.release(7, 1);
    EXPECT_EQ("1:1@n1", events());
}

TEST_F(GivenPlacesTest, WithItsOwnerAWishEnds)
{
    EXPECT_EQ("", allocate(7, 1, 2, true, {"n1", "n2"}));
    EXPECT_EQ("1!1 2!1", notices());
    places.cancel(7, 1);
    EXPECT_EQ("1:withdrawn", notices());
    places.owner_ended(7);
    EXPECT_EQ("2:withdrawn", notices());
    places.grant(1, 2, {"n2"});         /* it was under way */
    EXPECT_EQ("1:0", events());
    places.time(Places::LINGER_MS);
    EXPECT_EQ("<n2*1", notices());
}

/* A process may say the same for ever: nothing of it is kept twice. */
TEST_F(PlacesTest, SignalsThatWaitForADaemonAreFew)
{
    places.set_hosts({{"n1", 0, false}});
    allocate(7, 1, 1, true);
    EXPECT_TRUE(places.start(7, {1, PROGRAM}));
    for (int i = 0; i < 100; i++) {
        EXPECT_TRUE(places.signal(7, {1, "STOP"}));
        EXPECT_TRUE(places.signal(7, {1, "CONT"}));
    }
    EXPECT_TRUE(places.signal(7, {1, "STOP"}));
    EXPECT_EQ("", orders());
    places.daemon_came("n1", 3);
    std::string names;
    for (const Places::Order &order : places.take_orders())
        names += order.head.kind == TASK_SIGNAL ? " " + order.bytes : "run";
    EXPECT_EQ("run CONT STOP", names) << "it is to be stopped in the end";
}

TEST_F(PlacesTest, OfWordsNoMoreIsKeptThanIsTold)
{
    const std::string text(60000, 'x');
    places.allocate(7, {1, 2, true, "*", "tag=" + text + ";" + text + "=1;timeout=1s", {"", "exclusive"}, {}});
    std::vector<Places::Event> told = places.take_events();
    ASSERT_EQ(2u, told.size());
    for (const Places::Event &event : told)
        EXPECT_LE(event.info.size(), PMI_SET_VALUE_MAX + 32u);
    EXPECT_EQ(0u, told[0].info.find("place=1;tag=xx"));
    EXPECT_FALSE(places.has_alone("n1"));
    EXPECT_TRUE(places.has_alone("n2")) << "its own words count, too";
}

TEST(TaskCall, IsReadAsItIsWritten)
{
    std::string bytes = write_task_call(AllocatePlaces{4, 2, true, "*", "tag=a", {"", "tag=b"}, {"*", "n1"}});
    auto raw = [](const std::string &text) {
        return Bytes(reinterpret_cast<const unsigned char *>(text.data()), text.size());
    };
    auto call = parse_task_call(raw(bytes));
    ASSERT_TRUE(call);
    EXPECT_EQ("n1", std::get<AllocatePlaces>(*call).hosts[1]);
    for (size_t n = 0; n < bytes.size(); n++)
        EXPECT_FALSE(parse_task_call(raw(bytes.substr(0, n)))) << n;
    EXPECT_FALSE(parse_task_call(raw(bytes + "x")));
    EXPECT_TRUE(parse_task_call(raw(write_task_call(StartTask{1, PROGRAM}))));
    EXPECT_FALSE(parse_task_call(raw(write_task_call(StartTask{1, PROGRAM + "x"}))));
    EXPECT_TRUE(parse_task_call(raw(write_task_call(SignalTask{1, "USR1"}))));
    EXPECT_FALSE(parse_task_call(raw(write_task_call(SignalTask{1, "NOTHING"}))));
    EXPECT_FALSE(parse_task_report(raw(write_task_head({1, 1, 9, 0}))));
    EXPECT_FALSE(parse_task_report(raw(write_task_head({1, 1, PMI_TASK_EXITED, 256}))));
}

}  // namespace elastic
