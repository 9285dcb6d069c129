/* The plan, read as libmpi reads it, and the world that it describes. */

#include "stepmgr/adapt/plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "pmi_adapt_plan.h"

namespace elastic {
namespace {

class PlanTest : public testing::Test {
  protected:
    PlanTest()
    {
        step_process launch[] = {{0, "a"}, {0, "a"}, {1, "b"}, {1, "b"}};
        world.add_group(0, 0, launch);
        for (Process *process : world.members())
            process->bc = std::string(process->uid + 1, 'x');
    }
    std::span<const Process> join()
    {
        step_process joining[] = {{0, "b"}, {0, "b"}, {1, "c"}};
        world.add_group(1, 4, joining);
        for (Process &process : world.processes(1)) {
            process.bc = "joining" + std::to_string(process.rank);
            process.segment = {static_cast<uint32_t>(100 + process.rank), 7, 4096, 0, 0, 0};
        }
        world.processes(1)[1].segment = {};     /* only the lowest rank of a host names a segment */
        return world.processes(1);
    }

    World world;
};

const pmi_adapt_member &member(const std::string &plan, size_t index)
{
    const auto *header = reinterpret_cast<const pmi_adapt_plan *>(plan.data());
    return reinterpret_cast<const pmi_adapt_member *>(plan.data() + header->members_offset)[index];
}

TEST_F(PlanTest, header_members_hosts_and_business_cards)
{
    Change change{{0, 3}, 3, 5};
    std::string plan = build_plan({9, 1234, "because"}, change, world.members(), join());
    const auto *header = reinterpret_cast<const pmi_adapt_plan *>(plan.data());
    EXPECT_EQ(header->magic, PMI_ADAPT_MAGIC);
    EXPECT_EQ(header->bytes, plan.size());
    EXPECT_EQ(header->epoch, 9u);
    EXPECT_EQ(header->pre, 4u);
    EXPECT_EQ(header->joining, 3u);
    EXPECT_EQ(header->leaving, 2u);
    EXPECT_EQ(header->n_hosts, 3u);
    EXPECT_EQ(header->deadline_ms, 1234u);
    EXPECT_STREQ(header->reason, "because");
    const uint32_t flags[] = {1, 0, 0, 1, 2, 2, 2}, hosts[] = {0, 0, 1, 1, 1, 1, 2};
    for (size_t i = 0; i < 7; i++) {
        const pmi_adapt_member &m = member(plan, i);
        EXPECT_EQ(m.uid, i);
        EXPECT_EQ(m.flags, flags[i]) << i;
        EXPECT_EQ(m.host, hosts[i]) << i;
        ASSERT_LE(m.bc_offset + m.bc_bytes, plan.size());
        std::string expected = i < 4 ? std::string(i + 1, 'x') : "joining" + std::to_string(i - 4);
        EXPECT_EQ(plan.substr(m.bc_offset, m.bc_bytes), expected);
    }
    const auto *host = reinterpret_cast<const pmi_adapt_host *>(plan.data() + header->hosts_offset);
    EXPECT_EQ(host[0].segment_pid, 0u) << "nobody joins on a";
    EXPECT_EQ(host[1].segment_pid, 100u);
    EXPECT_EQ(host[2].segment_pid, 102u);
    EXPECT_EQ(host[2].segment_bytes, 4096u);
}

/* Checks that offsets, as a reader follows them, stay within the plan. */
void expect_within(const std::string &plan)
{
    const auto *header = reinterpret_cast<const pmi_adapt_plan *>(plan.data());
    const uint64_t members = uint64_t{header->pre} + header->joining;
    ASSERT_LE(header->members_offset, plan.size());
    ASSERT_LE(members, (plan.size() - header->members_offset) / sizeof(pmi_adapt_member));
    ASSERT_LE(header->hosts_offset, plan.size());
    ASSERT_LE(header->n_hosts, (plan.size() - header->hosts_offset) / sizeof(pmi_adapt_host));
    for (size_t i = 0; i < members; i++) {
        const pmi_adapt_member &m = member(plan, i);
        ASSERT_LT(m.host, header->n_hosts) << i;
        ASSERT_LE(m.bc_offset, plan.size()) << i;
        ASSERT_LE(m.bc_bytes, plan.size() - m.bc_offset) << i;
    }
}

bool holds(const std::string &plan)
{
    return pmi_adapt_plan_holds(reinterpret_cast<const pmi_adapt_plan *>(plan.data()),
                                plan.size()) != 0;
}

/* Each process on a host of its own. */
TEST(PlanHostsTest, more_than_4096_hosts)
{
    constexpr int HOSTS = 5000;
    std::vector<std::string> names;
    std::vector<step_process> launch;
    for (int i = 0; i <= HOSTS; i++)
        names.push_back("n" + std::to_string(i));
    for (int i = 0; i < HOSTS; i++)
        launch.push_back({i, names[static_cast<size_t>(i)].c_str()});
    const step_process joining[] = {{0, names[HOSTS].c_str()}};
    World world;
    world.add_group(0, 0, launch);
    for (Process *process : world.members())
        process->bc = "addr" + std::to_string(process->uid);
    world.add_group(1, HOSTS, joining);
    world.processes(1)[0].bc = "joining";
    world.processes(1)[0].segment = {100, 7, 4096, 0, 0, 0};
    const Change change{{0, HOSTS - 1}, 1, HOSTS - 1};
    const std::string plan = build_plan({1, 0, ""}, change, world.members(), world.processes(1));
    ASSERT_TRUE(holds(plan));
    expect_within(plan);
    const auto *header = reinterpret_cast<const pmi_adapt_plan *>(plan.data());
    EXPECT_EQ(header->n_hosts, static_cast<uint32_t>(HOSTS + 1));
    for (size_t i = 0; i <= HOSTS; i++) {
        const pmi_adapt_member &m = member(plan, i);
        EXPECT_EQ(m.host, i);
        EXPECT_EQ(plan.substr(m.bc_offset, m.bc_bytes),
                  i < HOSTS ? "addr" + std::to_string(i) : "joining");
    }
    world.commit(change, 1);
    EXPECT_EQ(world.size(), HOSTS - 1);
    EXPECT_EQ(world.processes(1)[0].world_rank, HOSTS - 2);
    EXPECT_EQ(world.members()[0]->uid, 1u);
}

TEST_F(PlanTest, a_plan_that_is_not_one_is_refused)
{
    const std::string plan =
        build_plan({9, 1234, "because"}, {{0, 3}, 3, 5}, world.members(), join());
    ASSERT_TRUE(holds(plan));
    for (size_t bytes = 0; bytes < plan.size(); bytes++)
        EXPECT_FALSE(holds(plan.substr(0, bytes))) << bytes;
    EXPECT_FALSE(holds(plan + "12345678"));
    const struct {
        const char *what;
        void (*change)(pmi_adapt_plan &header, pmi_adapt_member *members);
    } changes[] = {
        {"magic", [](pmi_adapt_plan &header, pmi_adapt_member *) { header.magic++; }},
        {"epoch", [](pmi_adapt_plan &header, pmi_adapt_member *) { header.epoch = 0; }},
        {"pre", [](pmi_adapt_plan &header, pmi_adapt_member *) { header.pre += 1; }},
        {"nobody",
         [](pmi_adapt_plan &header, pmi_adapt_member *) { header.pre = header.leaving = 0; }},
        {"joining",
         [](pmi_adapt_plan &header, pmi_adapt_member *) { header.joining = UINT32_MAX; }},
        {"leaving", [](pmi_adapt_plan &header, pmi_adapt_member *) { header.leaving++; }},
        {"hosts", [](pmi_adapt_plan &header, pmi_adapt_member *) { header.n_hosts = INT32_MAX; }},
        {"reason",
         [](pmi_adapt_plan &header, pmi_adapt_member *) {
             std::memset(header.reason, 'x', sizeof header.reason);
         }},
        {"members in the header",
         [](pmi_adapt_plan &header, pmi_adapt_member *) { header.members_offset = 0; }},
        {"members past the end",
         [](pmi_adapt_plan &header, pmi_adapt_member *) {
             header.members_offset = UINT64_MAX - 7;
         }},
        {"odd members",
         [](pmi_adapt_plan &header, pmi_adapt_member *) { header.members_offset += 4; }},
        {"hosts past the end",
         [](pmi_adapt_plan &header, pmi_adapt_member *) {
             header.hosts_offset = header.bytes - 8;
         }},
        {"host of a member",
         [](pmi_adapt_plan &header, pmi_adapt_member *m) { m[6].host = header.n_hosts; }},
        {"a member that both leaves and joins",
         [](pmi_adapt_plan &, pmi_adapt_member *m) { m[0].flags = 3; }},
        {"a joining member that was there",
         [](pmi_adapt_plan &, pmi_adapt_member *m) { m[1].flags = 2; }},
        {"a new member that does not join",
         [](pmi_adapt_plan &, pmi_adapt_member *m) { m[6].flags = 0; }},
        {"one that stays but is counted as leaving",
         [](pmi_adapt_plan &, pmi_adapt_member *m) { m[0].flags = 0; }},
        {"addr",
         [](pmi_adapt_plan &header, pmi_adapt_member *m) { m[2].bc_offset = header.bytes; }},
        {"length of an address",
         [](pmi_adapt_plan &, pmi_adapt_member *m) { m[2].bc_bytes = UINT32_MAX; }},
    };
    for (const auto &[what, change] : changes) {
        std::string changed = plan;
        auto *header = reinterpret_cast<pmi_adapt_plan *>(changed.data());
        change(*header,
               reinterpret_cast<pmi_adapt_member *>(changed.data() + header->members_offset));
        EXPECT_FALSE(holds(changed)) << what;
    }
}

TEST_F(PlanTest, what_holds_stays_within_its_bytes)
{
    const std::string plan =
        build_plan({9, 1234, "because"}, {{0, 3}, 3, 5}, world.members(), join());
    std::minstd_rand random(1);
    int held = 0;
    for (int i = 0; i < 100000; i++) {
        std::string changed = plan;
        for (int n = 1 + static_cast<int>(random() % 3); n > 0; n--)
            changed[random() % changed.size()] ^= static_cast<char>(1 << random() % 8);
        if (holds(changed)) {
            held++;
            expect_within(changed);
        }
    }
    EXPECT_GT(held, 0);
}

TEST_F(PlanTest, processes_of_a_host_that_grows_are_in_one_pid_namespace)
{
    join();
    std::span<Process> joining = world.processes(1);
    EXPECT_EQ(cannot_share_memory(world.members(), joining), "") << "where nothing is known";
    for (Process *process : world.members())
        process->pid_namespace = process->host == "b" ? 7 : 6;
    world.members()[0]->pid_namespace = 5;
    joining[0].pid_namespace = joining[1].pid_namespace = 7;
    joining[2].pid_namespace = 9;
    EXPECT_EQ(cannot_share_memory(world.members(), joining), "") << "nobody joins on a";
    joining[1].pid_namespace = 8;
    EXPECT_NE(cannot_share_memory(world.members(), joining).find("host b"), std::string::npos);
    joining[0].pid_namespace = 8;
    EXPECT_NE(cannot_share_memory(world.members(), joining).find("host b"), std::string::npos);
    EXPECT_EQ(cannot_share_memory({}, joining), "");
}

TEST_F(PlanTest, a_long_reason_is_cut)
{
    std::string plan = build_plan({1, 0, std::string(200, 'r')}, Change{{3}, 0, 3},
                                  world.members(), {});
    const auto *header = reinterpret_cast<const pmi_adapt_plan *>(plan.data());
    EXPECT_EQ(strnlen(header->reason, PMI_ADAPT_REASON_MAX), PMI_ADAPT_REASON_MAX - 1u);
}

TEST_F(PlanTest, commit_keeps_the_old_order_and_appends)
{
    join();
    auto left = world.commit(Change{{0, 3}, 3, 5}, 1);
    ASSERT_EQ(left.size(), 2u);
    EXPECT_EQ(left[0]->uid, 0u);
    EXPECT_EQ(left[1]->world_rank, -1);
    std::vector<uint32_t> uids;
    for (const Process *process : world.members())
        uids.push_back(process->uid);
    EXPECT_EQ(uids, (std::vector<uint32_t>{1, 2, 4, 5, 6}));
    EXPECT_EQ(world.find(1, 2)->world_rank, 4);
    EXPECT_EQ(world.members_on("b"), 3);
}

TEST_F(PlanTest, groups_are_removed_when_all_have_left)
{
    join();
    world.commit(Change{{0, 1, 2, 3}, 3, 3}, 1);
    world.remove_empty_groups();
    EXPECT_TRUE(world.has_group(0)) << "its proxies still run";
    EXPECT_EQ(world.mark_disconnected({0, 0}).size(), 2u);
    world.mark_disconnected({0, 1});
    world.remove_empty_groups();
    EXPECT_FALSE(world.has_group(0));
    EXPECT_TRUE(world.has_group(1));
    EXPECT_TRUE(world.disconnected({0, 0})) << "also when nothing is known of it any more";
}

}  // namespace
}  // namespace elastic
