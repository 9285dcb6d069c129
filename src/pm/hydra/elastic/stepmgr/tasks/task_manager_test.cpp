/* Slots that are requested from a resource manager, and slots beside a world that grows
 * (slots_test.cpp has the rest). */

#include <gtest/gtest.h>

#include <cstring>

#include "stepmgr/sim/fake_mpiexec.h"
#include "stepmgr/tasks/slots.h"
#include "pmi_adapt_set.h"
#include "stepmgr/proto/task_call.h"
#include "stepmgr/common/size_request.h"

namespace elastic {
namespace {

class StepSlotsTest : public testing::Test {
  protected:
    /* Two processes, on node a. */
    void begin(bool managed, int range_max = 0)
    {
        mpiexec.config.managed = managed;
        mpiexec.config.range_min = range_max > 0 ? 1 : 0;
        mpiexec.config.range_max = range_max;
        ASSERT_EQ(mpiexec.create(), "");
        mpiexec.start_group(0, {"a", "a"});
        mpiexec.init(0, 0, 0);
        mpiexec.init(0, 0, 1);
    }
    void call(const TaskCall &call)
    {
        mpiexec.report(0, 0, REPORT_SET_CALL, 0,
                       write_set_report(0, ++calls, write_task_call(call)));
    }
    void allocate(uint32_t first, uint32_t n, bool hard)
    {
        call(AllocateSlots{first, n, hard, "*", "", {}, {}});
    }
    Json send_request(const std::string &line) { return mpiexec.send_request(1, line).at(0); }
    Json slots() { return send_request(R"({"id":1,"op":"slots"})"); }
    std::string grant(int number, int slot_request, const std::string &hosts)
    {
        Json answer =
            send_request(R"({"id":1,"op":"grant","wish":)" + std::to_string(slot_request) +
                         R"(,"grant":)" + std::to_string(number) + R"(,"hosts":)" + hosts + "}");
        return answer.at("ok") == true ? "" : answer.at("error").at("code").get<std::string>();
    }

    FakeMpiexec mpiexec;
    uint32_t calls = 0;
};

TEST_F(StepSlotsTest, AManagerIsQueriedAndNotified)
{
    begin(true);
    EXPECT_EQ(send_request(R"({"id":1,"op":"slots","most":3})").at("wishes"), Json::array());
    allocate(1, 2, true);
    Json slot_request = mpiexec.last_event(SIZE_REQUESTED);
    EXPECT_EQ(slot_request.at("kind"), "slots");
    EXPECT_EQ(slot_request.at("count"), 2);
    EXPECT_EQ(slot_request.at("hard"), true);
    Json before = slots();
    EXPECT_EQ(before.at("wishes").at(0).at(REQUEST_NUMBER), slot_request.at(REQUEST_NUMBER));
    EXPECT_EQ(grant(1, 1, R"(["a:2"])"), "");
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUEST_ENDED).at("result"), "granted");
    EXPECT_EQ(mpiexec.count_events("granted"), 1);
    EXPECT_EQ(grant(1, 1, R"(["a:2"])"), "") << "repeated";
    EXPECT_EQ(mpiexec.count_events("granted"), 1);
    EXPECT_EQ(grant(3, 1, R"(["a"])"), "stale");
    EXPECT_EQ(grant(2, 1, R"(["a b"])"), "field");
    Json after = slots();
    EXPECT_EQ(after.at("granted"), 1);
    EXPECT_GT(after.at("told"), before.at("told"));
    EXPECT_EQ(after.at("hosts"), Json::parse(R"([{"name":"a","places":2}])"));
    mpiexec.exited(0, 0, 0);
    EXPECT_GE(mpiexec.wake_ms, 0) << "to release what nobody uses";
    mpiexec.time(mpiexec.wake_ms);
    EXPECT_EQ(mpiexec.last_event("released").at("hosts"),
              Json::parse(R"([{"name":"a","places":2}])"));
    EXPECT_EQ(slots().at("hosts"), Json::array());
}

TEST_F(StepSlotsTest, SpawnedProcessesAreReported)
{
    begin(true);
    EXPECT_EQ(slots().at("spawned"), Json::array());
    const step_spawned proxies[] = {{"b", 2}, {"a", 1}, {"b", 2}};
    stepmgr_spawned(mpiexec.core, mpiexec.now_ms, proxies, 3);
    const Json hosts = Json::parse(R"([{"name":"a","processes":1},{"name":"b","processes":4}])");
    EXPECT_EQ(mpiexec.last_event("spawned").at("processes"), 5);
    EXPECT_EQ(mpiexec.last_event("spawned").at("hosts"), hosts);
    EXPECT_EQ(slots().at("spawned"), hosts);
    EXPECT_EQ(mpiexec.status().at("spawned"), hosts);
    stepmgr_spawned(mpiexec.core, mpiexec.now_ms, proxies, 3);
    EXPECT_EQ(mpiexec.count_events("spawned"), 1) << "no change";
    stepmgr_spawned(mpiexec.core, mpiexec.now_ms, nullptr, 0);
    EXPECT_EQ(mpiexec.last_event("spawned").at("processes"), 0);
}

TEST_F(StepSlotsTest, SpawnsBeyondTheLimitAreRefused)
{
    char error[512] = "";
    mpiexec.config.processes_max = 6;
    begin(true);
    EXPECT_EQ(stepmgr_check_spawn(mpiexec.core, 4, error, sizeof error), 0) << error;
    EXPECT_EQ(stepmgr_check_spawn(mpiexec.core, 5, error, sizeof error), -1);
    EXPECT_NE(std::string(error).find("the job has 2 of 6"), std::string::npos) << error;
    EXPECT_NE(std::string(error).find("--places 5"), std::string::npos) << error;
    allocate(1, 1, true);
    EXPECT_EQ(grant(1, 1, R"(["a"])"), "");
    const step_spawned spawned[] = {{"b", 2}};
    stepmgr_spawned(mpiexec.core, mpiexec.now_ms, spawned, 1);
    EXPECT_EQ(stepmgr_check_spawn(mpiexec.core, 1, error, sizeof error), 0) << error;
    EXPECT_EQ(stepmgr_check_spawn(mpiexec.core, 2, error, sizeof error), -1);
}

TEST_F(StepSlotsTest, MoreThanTheManagerCouldGiveIsRefusedAtOnce)
{
    begin(true);
    send_request(R"({"id":1,"op":"slots","most":3})");
    allocate(1, 4, true);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 0);
    allocate(1, 3, true);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 1);
    EXPECT_EQ(send_request(R"({"id":1,"op":"refuse","wish":1,"reason":"no"})").at("ok"), true);
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUEST_ENDED).at("reason"), "no");
    EXPECT_EQ(
        send_request(R"({"id":1,"op":"refuse","wish":1,"reason":"no"})").at("error").at("code"),
        "nothing");
}

TEST_F(StepSlotsTest, AManagerIsWaitedForThatIsNotThereYet)
{
    begin(true);
    allocate(1, 2, true);
    allocate(3, 1, false);
    EXPECT_EQ(slots().at("wishes").size(), 2u);
    EXPECT_EQ(send_request(R"({"id":1,"op":"slots","most":1})").at("wishes").size(), 2u)
        << "it refuses by itself";
    EXPECT_EQ(send_request(R"({"id":1,"op":"refuse","wish":1,"reason":"no"})").at("ok"), true);
    EXPECT_EQ(grant(1, 2, R"(["a"])"), "");
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 2);
}

TEST_F(StepSlotsTest, AManagerWithoutSlotsIsNotQueried)
{
    begin(true);
    send_request(R"({"id":1,"op":"slots","most":0})");
    allocate(1, 1, false);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 0);
    EXPECT_EQ(slots().at("wishes"), Json::array());
}

TEST_F(StepSlotsTest, AGrantOfMoreThanAJobCanHaveIsRefused)
{
    begin(true);
    EXPECT_EQ(grant(1, 1, R"(["a:4097"])"), "change");
    EXPECT_EQ(grant(1, 1, R"(["a:1048576","a:1048576"])"), "change");
    EXPECT_EQ(grant(1, 1, R"(["a:4095"])"), "");
    EXPECT_EQ(grant(2, 1, R"(["a:2"])"), "change");
    EXPECT_EQ(grant(1, 1, R"(["a:4097"])"), "") << "it is known, whatever it contains now";
    EXPECT_EQ(grant(3, 1, R"(["a:2"])"), "stale");
    EXPECT_EQ(grant(2, 1, R"(["b"])"), "");
    EXPECT_EQ(slots().at("hosts"),
              Json::parse(R"([{"name":"a","places":4095},{"name":"b","places":1}])"));
}

/* A process that requests and cancels, and never fetches the result. */
TEST_F(StepSlotsTest, AProgramThatDoesNotPollGetsNoMoreSlots)
{
    begin(false);
    auto answer = [&] {
        uint32_t code;
        std::memcpy(&code, mpiexec.sent.back().payload.data() + 8, sizeof code);
        return code;
    };
    uint32_t next = 1, gotten = 0;
    for (; next <= 5 * PMI_TASKS_MAX; next++) {
        allocate(next, 1, false);
        gotten += answer() == PMI_SET_OK;
        call(ReleaseSlot{next});
    }
    EXPECT_EQ(gotten, 4u * PMI_TASKS_MAX);
    call(AwaitTaskEvents{});
    allocate(next, 1, false);
    EXPECT_EQ(answer(), PMI_SET_OK);
}

TEST_F(StepSlotsTest, WithoutAManagerNobodyGrants)
{
    begin(false);
    EXPECT_EQ(grant(1, 1, R"(["a"])"), "managed");
    EXPECT_EQ(slots().at("hosts"), Json::array());
}

/* Hosts without a process of the world: relay proxies. */
class RelayProxyTest : public StepSlotsTest {
  protected:
    void begin_on_hosts_of_mpiexec()
    {
        static const char *const hosts[] = {"a", "b"};
        mpiexec.config.hosts = hosts;
        mpiexec.config.n_hosts = 2;
        begin(false);
    }
    void start(uint32_t number)
    {
        call(StartTask{number, std::string("\4\0\0\0true\0\0\0\0", 12)});
    }
    void task(int group, uint32_t number, pmi_task_stage stage)
    {
        mpiexec.report(group, 0, REPORT_TASK, 0,
                       write_task_head({0, number, static_cast<uint32_t>(stage), 0}));
    }
    /* The proxies that received orders to run a process. */
    std::string runs() const
    {
        std::string text;
        for (const SentMessage &m : mpiexec.sent) {
            if (m.command == STEP_TASK)
                text += std::to_string(m.group) + "." + std::to_string(m.proxy) + " ";
        }
        return text;
    }
    void run_to_the_end(int group, uint32_t number)
    {
        task(group, number, PMI_TASK_STARTED);
        task(group, number, PMI_TASK_EXITED);
    }
};

TEST_F(RelayProxyTest, ASlotOnAnotherHostGetsAProxyThere)
{
    begin(true);
    send_request(R"({"id":1,"op":"slots","most":3})");
    allocate(1, 2, true);
    EXPECT_EQ(grant(1, 1, R"(["a","b"])"), "");
    ASSERT_EQ(mpiexec.launches.size(), 1u);
    EXPECT_EQ(mpiexec.launches[0].program, STEP_NO_PROGRAM);
    EXPECT_EQ(mpiexec.launches[0].hosts, std::vector<std::string>{"b"});
    EXPECT_EQ(stepmgr_owns_failure(mpiexec.core, 1), 1);
    mpiexec.start_group(1, {"b"});
    start(1);
    start(2);
    EXPECT_EQ(runs(), "0.0 ") << "the other one waits for its proxy";
    stepmgr_proxy_up(mpiexec.core, mpiexec.now_ms, 1);
    EXPECT_EQ(runs(), "0.0 1.0 ");
    EXPECT_EQ(send_request(R"({"id":1,"op":"tasks"})").at("total"), 2);
    run_to_the_end(1, 1);
    EXPECT_EQ(
        send_request(R"({"id":1,"op":"tasks"})").at("tasks"),
        Json::parse(R"([{"host":"a","program":"true","uid":0,"number":2,"state":"starting"}])"));
    EXPECT_TRUE(mpiexec.killed.empty()) << "the slot is still held";
    mpiexec.time(mpiexec.now_ms + Slots::LINGER_MS);
    EXPECT_EQ(mpiexec.last_event("released").at("hosts"),
              Json::parse(R"([{"name":"b","places":1}])"));
    EXPECT_EQ(mpiexec.killed, std::vector{1}) << "the host is somebody else's from now on";
    mpiexec.exited(1, 0, 0, 9);
    mpiexec.disconnected(1, 0);
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(RelayProxyTest, WithoutAManagerItIsOnAHostOfMpiexecAndLingers)
{
    begin_on_hosts_of_mpiexec();
    allocate(1, 2, true);
    ASSERT_EQ(mpiexec.launches.size(), 1u);
    stepmgr_proxy_up(mpiexec.core, mpiexec.now_ms, 1);
    start(2);
    EXPECT_EQ(runs(), "1.0 ");
    run_to_the_end(1, 2);
    mpiexec.time(mpiexec.now_ms + 5000);
    EXPECT_TRUE(mpiexec.killed.empty());
    allocate(3, 1, true);
    EXPECT_EQ(mpiexec.launches.size(), 1u);
    call(ReleaseSlot{3});
    ASSERT_GE(mpiexec.wake_ms, 0);
    mpiexec.time(mpiexec.wake_ms);
    EXPECT_EQ(mpiexec.killed, std::vector{1});
    allocate(4, 1, true);
    EXPECT_EQ(mpiexec.launches.size(), 2u) << "another one";
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
}

TEST_F(RelayProxyTest, OneThatCannotBeHadEndsWhatWasToStartThere)
{
    begin_on_hosts_of_mpiexec();
    allocate(1, 2, true);
    start(2);
    mpiexec.disconnected(1, 0);
    EXPECT_EQ(mpiexec.status().at("places"), 1) << "it is over, with code 127";
    allocate(3, 1, true);
    EXPECT_EQ(mpiexec.launches.size(), 1u) << "the next one is elsewhere";
    mpiexec.refuse_launch = "no capacity";
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(RelayProxyTest, ItEndsWithTheJob)
{
    begin(true);
    allocate(1, 1, true);
    grant(1, 1, R"(["b"])");
    stepmgr_proxy_up(mpiexec.core, mpiexec.now_ms, 1);
    start(1);
    task(1, 1, PMI_TASK_STARTED);
    mpiexec.exited(0, 0, 0);
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(runs(), "1.0 1.0 ") << "signalled to end";
    EXPECT_TRUE(mpiexec.killed.empty()) << "it has two seconds";
    task(1, 1, PMI_TASK_EXITED);
    EXPECT_EQ(mpiexec.killed, std::vector{1});
}

TEST_F(StepSlotsTest, ATimeThatIsNoneIsAnError)
{
    begin(false, 8);
    for (const char *words :
         {"timeout=1", "timeout=abc", "timeout=", "timeout", "reason=x;timeout=-1s"}) {
        call(AllocateSlots{1, 1, true, "*", words, {}, {}});
        EXPECT_EQ(slots().at("hosts"), Json::array()) << words;
        call(AllocateSlots{1, 1, true, "*", "", {words}, {}});
        EXPECT_EQ(slots().at("hosts"), Json::array()) << words;
    }
    call(AllocateSlots{1, 1, true, "*", "timeout=1s", {"timeout=2s"}, {}});
    EXPECT_EQ(slots().at("hosts").at(0).at("places"), 1);
}

/* MPIX_Comm_modify and all other ways to grow share one limit. */
TEST_F(StepSlotsTest, AProgramThatGrowsItselfDoesNotUseHeldSlots)
{
    begin(false, 4);
    for (uint32_t rank = 0; rank < 2; rank++)
        mpiexec.report(0, 0, REPORT_INIT, 0, write_init({rank, REPORT_MODE_MODIFY, 0, "addr"}));
    allocate(1, 2, true);
    mpiexec.report(0, 0, REPORT_SIZE_REQUEST, 0, write_size_request({0, 1, 3, 3, 3, 0, "", true}));
    EXPECT_EQ(mpiexec.launches.size(), 0u);
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUEST_ENDED).at("result"), "refused");
    auto reason = mpiexec.last_event(SIZE_REQUEST_ENDED).at("reason").get<std::string>();
    EXPECT_NE(reason.find("2 slots are held"), std::string::npos) << reason;
}

TEST_F(StepSlotsTest, WorldAndSlotsShareTheRange)
{
    begin(false, 4);
    allocate(1, 2, true);
    EXPECT_EQ(slots().at("hosts"), Json::parse(R"([{"name":"a","places":2}])"));
    Json refused = send_request(R"({"id":1,"op":"resize","size":3})");
    EXPECT_EQ(refused.at("error").at("code"), "change");
    EXPECT_NE(refused.at("error").at("message").get<std::string>().find("2 slots are held"),
              std::string::npos);
    call(ReleaseSlot{1});
    EXPECT_EQ(send_request(R"({"id":1,"op":"resize","size":3})").at("ok"), true);
    allocate(3, 1, false);
    EXPECT_EQ(slots().at("hosts"), Json::parse(R"([{"name":"a","places":1}])"))
        << "a growth is under way";
}

TEST_F(StepSlotsTest, ARequestForMoreProcessesWaitsForSlots)
{
    begin(false, 4);
    allocate(1, 2, true);
    mpiexec.report(0, 0, REPORT_SIZE_REQUEST, 0, write_size_request({0, 1, 4, 4, 4, 0, ""}));
    EXPECT_EQ(mpiexec.count_events("requested"), 0);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 0);
    call(ReleaseSlot{1});
    call(ReleaseSlot{2});
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 4);
}

/* ---- processes that start together: DC1, DC3, DA9 ---- */

class StepWorldTest : public StepSlotsTest {
  protected:
    void SetUp() override
    {
        begin(false);
        allocate(1, 3, true);
        mpiexec.sent.clear();
    }
    void start(const std::vector<uint32_t> &numbers)
    {
        StartWorld world{"parent", {}};
        for (uint32_t number : numbers)
            world.members.push_back({number, {"prog", std::to_string(number)}});
        call(world);
    }
    void notify(int proxy, uint32_t number, pmi_task_stage stage, uint32_t code = 0)
    {
        mpiexec.report(1, proxy, REPORT_TASK, 0,
                       write_task_head({0, number, static_cast<uint32_t>(stage), code}));
    }
    /* "2:3@1.0", number, kind and proxy of each order about a process. */
    std::string orders()
    {
        std::string text;
        for (const SentMessage &message : mpiexec.sent) {
            task_head head;
            if (message.command != STEP_TASK || message.payload.size() < sizeof head)
                continue;
            memcpy(&head, message.payload.data(), sizeof head);
            text += (text.empty() ? "" : " ") + std::to_string(head.number) + ":" +
                    std::to_string(head.kind) + "@" + std::to_string(message.group) + "." +
                    std::to_string(message.proxy);
        }
        mpiexec.sent.clear();
        return text;
    }
    Json held() { return slots().at("hosts"); }
};

TEST_F(StepWorldTest, AGroupIsLaunchedWhoseProcessesAreTheRequests)
{
    start({3, 1});
    ASSERT_EQ(mpiexec.worlds, std::vector<std::string>{"0 3@a=prog,3 1@a=prog,1 parent"});
    EXPECT_EQ(stepmgr_owns_failure(mpiexec.core, 1), 1);
    mpiexec.start_group(1, {"a", "a"});
    notify(0, 3, PMI_TASK_STARTED);
    notify(0, 1, PMI_TASK_STARTED);
    call(SignalTask{3, "INT"});
    EXPECT_EQ(orders(), "3:2@1.0");
    notify(0, 3, PMI_TASK_EXITED, 5);
    mpiexec.exited(1, 0, 0, 5 << 8);
    EXPECT_EQ(held().at(0).at("places"), 2);
    mpiexec.disconnected(1, 0);
    EXPECT_EQ(held().at(0).at("places"), 1) << "the one that is not started";
    EXPECT_EQ(stepmgr_owns_failure(mpiexec.core, 1), 1);
    EXPECT_EQ(mpiexec.count_events("unexpected"), 0);
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(StepWorldTest, CommandsBeforeTheProxyConnectsComeLater)
{
    start({1, 2});
    mpiexec.start_group(1, {"a", "a"});
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(orders(), "");
    notify(0, 1, PMI_TASK_STARTED);
    notify(0, 2, PMI_TASK_STARTED);
    EXPECT_EQ(orders(), "1:3@1.0 2:3@1.0");
    notify(0, 1, PMI_TASK_EXITED, 143);
    notify(0, 2, PMI_TASK_EXITED, 143);
    EXPECT_EQ(held(), Json::array());
}

TEST_F(StepWorldTest, WhatIsNotWholeIsNotStarted)
{
    start({1, 1});
    start({1, 4});
    call(StartTask{2, std::string("\4\0\0\0true\0\0\0\0", 12)});
    start({1, 2});
    EXPECT_TRUE(mpiexec.worlds.empty());
    start({1, 3});
    EXPECT_EQ(mpiexec.worlds.size(), 1u);
}

TEST_F(StepWorldTest, WhatCannotBeLaunchedHasEnded)
{
    mpiexec.refuse_launch = "no capacity";
    start({1, 2, 3});
    EXPECT_EQ(held(), Json::array());
    EXPECT_EQ(orders(), "");
}

TEST_F(StepWorldTest, ACallIsReadAsItIsWritten)
{
    std::string bytes = write_task_call(StartWorld{"p", {{4, {"a", "b", ""}}, {2, {"c"}}}});
    auto bytes_of = [](const std::string &text) {
        return Bytes(reinterpret_cast<const unsigned char *>(text.data()), text.size());
    };
    auto call = parse_task_call(bytes_of(bytes));
    ASSERT_TRUE(call && std::holds_alternative<StartWorld>(*call));
    EXPECT_EQ(write_task_call(*call), bytes);
    for (size_t n = 0; n < bytes.size(); n++)
        EXPECT_FALSE(parse_task_call(bytes_of(bytes.substr(0, n)))) << n;
    EXPECT_FALSE(parse_task_call(bytes_of(write_task_call(StartWorld{"p", {}}))));
}

}  // namespace
}  // namespace elastic
