/* Slots for processes that programs start (slots.h).  DA1-DA3, DA10, DA12. */

#include <gtest/gtest.h>

#include "stepmgr/tasks/slots.h"

namespace elastic {

namespace {

const std::string PROGRAM = std::string("\4\0\0\0true\0\0\0\0", 12);

struct SlotsTest : ::testing::Test {
    SlotsTest()
    {
        slots.set_hosts({{"n1", 1}, {"n2", 2}});
        slots.set_capacity(2, 3);
    }
    std::string allocate(uint32_t uid, uint32_t first, uint32_t n, bool hard,
                         std::vector<std::string> hosts = {})
    {
        return slots.allocate(uid, {first, n, hard, "*", "", {}, std::move(hosts)});
    }
    bool report(uint32_t uid, uint32_t number, pmi_task_stage stage, uint32_t code,
                uint64_t proxy_id)
    {
        return slots.report(proxy_id, {{uid, number, static_cast<uint32_t>(stage), code}, ""});
    }
    /* "1:1@n1 2:0", number and stage of each. */
    std::string events()
    {
        std::string text;
        for (const Slots::Event &e : slots.take_events()) {
            text += (text.empty() ? "" : " ") + std::to_string(e.number) + ":" +
                    std::to_string(e.stage);
            text += e.stage == PMI_TASK_ALLOCATED ? "@" + e.text : "";
        }
        return text;
    }
    /* "1:1@2", number, kind and proxy of each. */
    std::string orders()
    {
        std::string text;
        for (const Slots::Order &o : slots.take_orders())
            text += (text.empty() ? "" : " ") + std::to_string(o.head.number) + ":" +
                    std::to_string(o.head.kind) + "@" + std::to_string(o.proxy_id);
        return text;
    }
    Slots slots;
};

}  // namespace

TEST_F(SlotsTest, HardRequestsWaitForTheirTurn)
{
    EXPECT_EQ("", allocate(7, 1, 3, true));
    EXPECT_EQ("1:1@n1 2:1@n2", events());
    slots.release(7, 1);
    EXPECT_EQ("3:1@n1", events());
    EXPECT_EQ(2u, slots.held());
}

TEST_F(SlotsTest, MoreThanThereCouldEverBeAreRefused)
{
    EXPECT_NE("", allocate(7, 1, 4, true));
    EXPECT_NE("", allocate(7, 1, 1, true, {"n3"}));
    EXPECT_EQ("", events());
    EXPECT_FALSE(slots.any());
}

TEST_F(SlotsTest, SoftRequestsThatGetNoneNowAreCancelled)
{
    EXPECT_EQ("", allocate(7, 1, 4, false));
    EXPECT_EQ("1:1@n1 2:1@n2 3:0 4:0", events());
    EXPECT_EQ(2u, slots.held());
}

TEST_F(SlotsTest, AHostByItsName)
{
    EXPECT_EQ("", allocate(7, 1, 2, true, {"n2", "n2"}));
    EXPECT_EQ("1:1@n2 2:1@n2", events());
}

TEST_F(SlotsTest, TheLifeOfAProcess)
{
    EXPECT_EQ("", allocate(7, 1, 1, true));
    EXPECT_FALSE(slots.signal(7, {1, "USR1"}));
    EXPECT_TRUE(slots.start(7, {1, PROGRAM}));
    EXPECT_FALSE(slots.start(7, {1, PROGRAM}));
    EXPECT_EQ("1:1@1", orders());
    EXPECT_FALSE(report(7, 1, PMI_TASK_STARTED, 0, 2));
    EXPECT_TRUE(report(7, 1, PMI_TASK_STARTED, 0, 1));
    EXPECT_TRUE(slots.signal(7, {1, "USR1"}));
    EXPECT_TRUE(report(7, 1, PMI_TASK_EXITED, 3, 1));
    EXPECT_FALSE(report(7, 1, PMI_TASK_EXITED, 3, 1));
    EXPECT_EQ("1:1@n1 1:2 1:3", events());
    EXPECT_EQ(0u, slots.held());
    EXPECT_FALSE(slots.any());
}

TEST_F(SlotsTest, CancelEndsOnlyRequestsWithoutASlot)
{
    EXPECT_EQ("", allocate(7, 1, 3, true));
    slots.cancel(7, 1);
    slots.cancel(7, 3);
    EXPECT_EQ("1:1@n1 2:1@n2 3:0", events());
    EXPECT_EQ(2u, slots.held());
}

TEST_F(SlotsTest, AFreedRequestReleasesItsSlotAtTheExit)
{
    EXPECT_EQ("", allocate(7, 1, 1, true));
    slots.start(7, {1, PROGRAM});
    slots.release(7, 1);
    EXPECT_EQ(1u, slots.held());
    EXPECT_TRUE(report(7, 1, PMI_TASK_EXITED, 0, 1));
    EXPECT_EQ("1:1@n1", events());
    EXPECT_EQ(0u, slots.held());
}

TEST_F(SlotsTest, WithItsOwnerAllEndsAndOthersGoOn)
{
    EXPECT_EQ("", allocate(7, 1, 2, true));
    EXPECT_EQ("", allocate(8, 1, 1, true));
    slots.start(7, {1, PROGRAM});
    slots.take_events();
    slots.take_orders();
    slots.owner_ended(7);
    EXPECT_EQ("1:3@1", orders());
    /* request of 8, in the slot of the process that was not started */
    EXPECT_EQ("1:1@n2", events());
    EXPECT_TRUE(report(7, 1, PMI_TASK_EXITED, 143, 1));
    EXPECT_EQ("", events());
    EXPECT_EQ(1u, slots.held());
}

TEST_F(SlotsTest, AFailedProxyEndsItsProcesses)
{
    EXPECT_EQ("", allocate(7, 1, 2, true));
    slots.start(7, {1, PROGRAM});
    slots.take_events();
    slots.proxy_failed(1);
    EXPECT_EQ("1:3", events());
    EXPECT_EQ(1u, slots.held());
    slots.proxy_failed(2);
    EXPECT_TRUE(slots.start(7, {2, PROGRAM}));
    EXPECT_EQ("2:3", events());
    EXPECT_FALSE(slots.any());
}

TEST_F(SlotsTest, ArgumentsAreReported)
{
    EXPECT_EQ("", slots.allocate(7, {1, 1, true, "*", "reason=night;color=red", {"tag=x;y"}, {}}));
    std::vector<Slots::Event> events = slots.take_events();
    ASSERT_EQ(1u, events.size());
    EXPECT_EQ("place=1;reason=night;tag=x;ignored=color,y", events[0].info);
}

TEST_F(SlotsTest, WhoWaitsTooLongGetsNone)
{
    EXPECT_EQ("", slots.allocate(7, {1, 3, true, "*", "timeout=2s", {}, {}}));
    EXPECT_EQ("1:1@n1 2:1@n2", events());
    EXPECT_EQ(2000, slots.next_ms());
    slots.time(1999);
    EXPECT_EQ("", events());
    slots.time(2000);
    EXPECT_EQ("3:0", events());
    EXPECT_EQ(-1, slots.next_ms());
}

TEST_F(SlotsTest, AHostForItself)
{
    slots.set_capacity(9, 9);
    EXPECT_EQ("", slots.allocate(7, {1, 2, true, "*", "", {"", "exclusive"}, {}}));
    EXPECT_EQ("1:1@n1 2:1@n2", events());
    EXPECT_EQ("", slots.allocate(7, {3, 1, true, "*", "exclusive", {}, {}}));
    EXPECT_EQ("", allocate(8, 1, 2, true));
    EXPECT_EQ("1:1@n1 2:1@n1", events());
    slots.release(7, 1);
    slots.release(8, 1);
    EXPECT_EQ("", events());
    slots.release(8, 2);
    EXPECT_EQ("3:1@n1", events());
}

TEST_F(SlotsTest, HostsForThemselvesThatThereCouldNeverBeAreRefused)
{
    slots.set_capacity(9, 9);
    auto send_request = [this](bool hard, const std::vector<std::string> &words,
                               const std::vector<std::string> &hosts) {
        return slots.allocate(
            7, {1, static_cast<uint32_t>(words.size()), hard, "*", "", words, hosts});
    };
    EXPECT_NE("", send_request(true, {"exclusive", "exclusive", "exclusive"}, {}));
    EXPECT_NE("", send_request(true, {"exclusive", "exclusive", ""}, {}));
    EXPECT_NE("", send_request(true, {"exclusive", "exclusive"}, {"n1", "n1"}));
    EXPECT_NE("", send_request(true, {"exclusive", ""}, {"n1", "n1"}));
    EXPECT_FALSE(slots.any());
    EXPECT_EQ("", send_request(false, {"exclusive", "exclusive", ""}, {}));
    EXPECT_EQ("1:1@n1 2:1@n2 3:0", events());
}

/* With an allocator. */
struct GrantedSlotsTest : SlotsTest {
    GrantedSlotsTest()
    {
        slots.use_allocator([this] { return ++last_size_request; });
        slots.set_most(4);
    }
    /* "1?3 1:granted <n1": slot requests, their ends, and returned slots. */
    std::string notices()
    {
        std::string text;
        for (const Slots::Notice &n : slots.take_notices()) {
            text += text.empty() ? "" : " ";
            if (n.slot_request && n.end)
                text += std::to_string(n.slot_request->number) + ":" + to_string(*n.end);
            else if (n.slot_request)
                text += std::to_string(n.slot_request->number) +
                        (n.slot_request->hard ? "!" : "?") + std::to_string(n.slot_request->count);
            for (const auto &[host, count] : n.released)
                text += "<" + host + "*" + std::to_string(count);
        }
        return text;
    }
    uint64_t last_size_request = 0;
};

TEST_F(GrantedSlotsTest, AHardRequestIsGrantedInParts)
{
    EXPECT_EQ("", allocate(7, 1, 3, true));
    EXPECT_EQ("1!3", notices());
    EXPECT_EQ("", events());
    EXPECT_TRUE(slots.grant(1, 1, {"n1"}));
    EXPECT_EQ("1:1@n1", events());
    EXPECT_EQ(2u, slots.slot_requests().at(1).count);
    EXPECT_TRUE(slots.grant(1, 1, {"n1"}));     /* repeated */
    EXPECT_FALSE(slots.grant(3, 1, {"n1"}));    /* an earlier grant is missing */
    EXPECT_EQ("", events());
    EXPECT_TRUE(slots.grant(2, 1, {"n2", "n2"}));
    EXPECT_EQ("2:1@n2 3:1@n2", events());
    EXPECT_EQ("1:granted", notices());
    EXPECT_EQ((Slots::HostCounts{{"n1", 1}, {"n2", 2}}), slots.given());
}

TEST_F(GrantedSlotsTest, AJobWithoutSlotsGetsAdvice)
{
    slots.set_most(0);
    EXPECT_EQ("the resource manager grants this job 0 slots, 2 are requested: submit it with "
              "--places 2",
              allocate(7, 1, 2, true));
}

TEST_F(GrantedSlotsTest, ASoftOneTakesWhatItGets)
{
    EXPECT_EQ("", allocate(7, 1, 3, false));
    EXPECT_TRUE(slots.grant(1, 1, {"n1"}));
    EXPECT_EQ("1:1@n1 2:0 3:0", events());
    EXPECT_EQ("1?3 1:refused", notices());
    EXPECT_EQ("", allocate(7, 4, 2, false));
    EXPECT_TRUE(slots.refuse(2, "none is there"));
    EXPECT_FALSE(slots.refuse(2, "none is there"));
    std::vector<Slots::Event> notified = slots.take_events();
    ASSERT_EQ(2u, notified.size());
    EXPECT_EQ("", notified[0].text);
}

TEST_F(GrantedSlotsTest, AHolderOfAllSlotsMakesNoSoftRequest)
{
    slots.grant(1, 1, {"n1", "n1", "n2", "n2"});
    EXPECT_EQ("", allocate(7, 1, 5, false));
    EXPECT_EQ("1:1@n2 2:1@n2 3:1@n1 4:1@n1 5:0", events());
    EXPECT_EQ("", notices());
    EXPECT_EQ("", allocate(7, 6, 1, true));
    EXPECT_EQ("1!1", notices());
}

TEST_F(GrantedSlotsTest, AHardOneThatIsRefusedIsAnError)
{
    EXPECT_NE("", allocate(7, 1, 5, true));
    EXPECT_EQ("", allocate(7, 1, 1, true));
    EXPECT_TRUE(slots.refuse(1, "the job is too large"));
    EXPECT_EQ("the job is too large", slots.take_events().at(0).text);
    EXPECT_FALSE(slots.any());
}

TEST_F(GrantedSlotsTest, ASlotIsUsedAgainAndThenReleased)
{
    slots.grant(1, 1, {"n1"});
    EXPECT_EQ("", allocate(7, 1, 1, true));
    EXPECT_EQ("1:1@n1", events());
    EXPECT_EQ("", notices());
    slots.time(500);
    slots.release(7, 1);
    EXPECT_EQ("", allocate(7, 2, 1, true, {"n1"}));
    EXPECT_EQ("2:1@n1", events());
    slots.release(7, 2);
    EXPECT_EQ(500 + Slots::LINGER_MS, slots.next_ms());
    slots.time(499 + Slots::LINGER_MS);
    EXPECT_EQ("", notices());
    slots.time(500 + Slots::LINGER_MS);
    EXPECT_EQ("<n1*1", notices());
    EXPECT_TRUE(slots.given().empty());
    EXPECT_EQ(-1, slots.next_ms());
}

/* Idle slots on an exclusive host are returned; a slot request requests an exclusive host. */
TEST_F(GrantedSlotsTest, AHostForItself)
{
    slots.grant(1, 1, {"n1", "n1"});
    EXPECT_EQ("", slots.allocate(7, {1, 2, true, "*", "exclusive", {}, {}}));
    EXPECT_EQ("1:1@n1", events());
    EXPECT_EQ("<n1*1 1!1", notices());
    EXPECT_TRUE(slots.slot_requests().at(1).alone);
    EXPECT_EQ((Slots::HostCounts{{"n1", 1}}), slots.given());
    EXPECT_TRUE(slots.has_alone("n1"));
    EXPECT_EQ("", allocate(8, 1, 1, true));
    EXPECT_EQ("2!1", notices());
    EXPECT_FALSE(slots.slot_requests().at(2).alone);
    slots.grant(2, 2, {"n1"});  /* the allocator had not received that yet */
    EXPECT_EQ("", events());
    slots.grant(3, 2, {"n2"});
    EXPECT_EQ("2:1@n2", events());      /* the request that has waited longer */
    slots.time(Slots::LINGER_MS);
    EXPECT_EQ("1:granted <n1*1", notices());
    slots.release(7, 1);
    EXPECT_EQ("1:1@n1", events());
}

TEST_F(GrantedSlotsTest, ARequestEndsWithItsOwner)
{
    EXPECT_EQ("", allocate(7, 1, 2, true, {"n1", "n2"}));
    EXPECT_EQ("1!1 2!1", notices());
    slots.cancel(7, 1);
    EXPECT_EQ("1:withdrawn", notices());
    slots.owner_ended(7);
    EXPECT_EQ("2:withdrawn", notices());
    slots.grant(1, 2, {"n2"});  /* the grant was in transit */
    EXPECT_EQ("1:0", events());
    slots.time(Slots::LINGER_MS);
    EXPECT_EQ("<n2*1", notices());
}

/* A process may repeat a signal for ever: it is stored only once. */
TEST_F(SlotsTest, SignalsThatWaitForAProxyAreFew)
{
    slots.set_hosts({{"n1", 0, false}});
    allocate(7, 1, 1, true);
    EXPECT_TRUE(slots.start(7, {1, PROGRAM}));
    for (int i = 0; i < 100; i++) {
        EXPECT_TRUE(slots.signal(7, {1, "STOP"}));
        EXPECT_TRUE(slots.signal(7, {1, "CONT"}));
    }
    EXPECT_TRUE(slots.signal(7, {1, "STOP"}));
    EXPECT_EQ("", orders());
    slots.proxy_came("n1", 3);
    std::string names;
    for (const Slots::Order &order : slots.take_orders())
        names += order.head.kind == TASK_SIGNAL ? " " + order.bytes : "run";
    EXPECT_EQ("run CONT STOP", names) << "it is to be stopped in the end";
}

TEST_F(SlotsTest, StoredArgumentsAreThoseThatAreReported)
{
    const std::string text(60000, 'x');
    slots.allocate(
        7, {1, 2, true, "*", "tag=" + text + ";" + text + "=1;timeout=1s", {"", "exclusive"}, {}});
    std::vector<Slots::Event> notified = slots.take_events();
    ASSERT_EQ(2u, notified.size());
    for (const Slots::Event &event : notified)
        EXPECT_LE(event.info.size(), PMI_SET_VALUE_MAX + 32u);
    EXPECT_EQ(0u, notified[0].info.find("place=1;tag=xx"));
    EXPECT_FALSE(slots.has_alone("n1"));
    EXPECT_TRUE(slots.has_alone("n2")) << "its own words count, too";
}

TEST(TaskCall, IsReadAsItIsWritten)
{
    std::string bytes =
        write_task_call(AllocateSlots{4, 2, true, "*", "tag=a", {"", "tag=b"}, {"*", "n1"}});
    auto raw = [](const std::string &text) {
        return Bytes(reinterpret_cast<const unsigned char *>(text.data()), text.size());
    };
    auto call = parse_task_call(raw(bytes));
    ASSERT_TRUE(call);
    EXPECT_EQ("n1", std::get<AllocateSlots>(*call).hosts[1]);
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
