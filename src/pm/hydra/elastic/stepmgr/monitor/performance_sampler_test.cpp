/* Replies of mpiexec to the operation `performance`, and the path of the processes' measurements to
 * mpiexec. */

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "stepmgr/sim/fake_mpiexec.h"
#include "pmi_adapt_measured.h"
#include "stepmgr/common/size_request.h"

namespace elastic {
namespace {

constexpr uint64_t MS = 1000 * 1000;

class StepPerformanceTest : public testing::Test {
  protected:
    /* Ranks 0 and 1 on node a, 2 on node b. */
    void start()
    {
        ASSERT_EQ(mpiexec.create(), "");
        mpiexec.start_group(0, {"a", "a", "b"});
        mpiexec.time(1000);
        for (uint32_t rank = 0; rank < 3; rank++)
            mpiexec.init(0, rank / 2, rank);
    }
    std::vector<Json> send_request(int client = 1)
    {
        return mpiexec.send_request(client, R"({"id":7,"op":"performance"})");
    }
    uint32_t sample() const { return mpiexec.sent.back().epoch; }
    void report(int proxy, std::vector<PerformanceReport> rows, std::optional<uint32_t> number = {},
                const LoopSet &loops = {}, uint32_t stale = 0)
    {
        mpiexec.report(0, proxy, REPORT_PERFORMANCE, number.value_or(sample()),
                       write_performance(rows, loops, stale));
    }
    void report_all(uint64_t probes = 100)
    {
        report(0, {{0, 1, probes, 10, 1000 * MS, 10 * MS},
                   {1, 1, probes + 2, 10, 1000 * MS, 300 * MS}});
        report(1, {{2, 2, probes + 1, 10, 1000 * MS, 290 * MS}});
    }
    Json last(int client = 1) { return mpiexec.replies[client].back(); }

    FakeMpiexec mpiexec;
};

TEST_F(StepPerformanceTest, J1_proxies_are_queried_and_processes_summed_up)
{
    start();
    mpiexec.time(11000);
    EXPECT_TRUE(send_request().empty()) << "answered before the proxies have";
    EXPECT_EQ(mpiexec.sent_text(), "performance:0.0 performance:0.1");
    report_all();
    Json answer = last();
    EXPECT_EQ(answer.at("id"), 7);
    EXPECT_EQ(answer.at("available"), true);
    EXPECT_EQ(answer.at("epoch"), 0);
    EXPECT_EQ(answer.at("size"), 3);
    EXPECT_EQ(answer.at("processes"), 3);
    const Json &progress = answer.at("progress");
    EXPECT_EQ(progress.at("probes"), 100) << "of the straggler";
    EXPECT_EQ(progress.at("ms"), 10000);
    EXPECT_DOUBLE_EQ(progress.at("per_second"), 10);
    EXPECT_TRUE(progress.at("recent_per_second").is_null());
    ASSERT_EQ(answer.at("loops").size(), 1u);
    const Json &loop = answer.at("loops").at(0);
    EXPECT_EQ(loop.at("ranks"), "0-2");
    EXPECT_EQ(loop.at("iterations"), 30);
    EXPECT_EQ(loop.at("measured_every"), 2);
    EXPECT_EQ(loop.at("loop_us"), 3000000);
    EXPECT_EQ(loop.at("mpi_us"), 600000);
    EXPECT_DOUBLE_EQ(loop.at("ratio_min"), 0.01);
    EXPECT_DOUBLE_EQ(loop.at("ratio_max"), 0.3);
    EXPECT_EQ(loop.at("slowest").at(0).at("rank"), 0) << "the others wait for it in MPI";
    EXPECT_EQ(loop.at("slowest").at(0).at("host"), "a");
}

/* elasticd reads lines of 1 MiB. */
TEST_F(StepPerformanceTest, the_ranks_of_a_large_world_are_cut)
{
    ASSERT_EQ(mpiexec.create(), "");
    std::vector<std::string> hosts(1000, "a");
    mpiexec.start_group(0, hosts);
    std::vector<PerformanceReport> rows;
    for (uint32_t rank = 0; rank < 1000; rank++) {
        mpiexec.init(0, 0, rank);
        rows.push_back({rank, 1, 100, rank % 2 ? 10u : 0u, 1000 * MS, 10 * MS});
    }
    send_request();
    report(0, rows);
    std::string ranks = last().at("loops").at(0).at("ranks");
    EXPECT_EQ(last().at("loops").at(0).at("processes"), 500);
    EXPECT_LE(ranks.size(), 255u);
    EXPECT_TRUE(ranks.starts_with("1,3,5,") && ranks.ends_with(" ...")) << ranks;
}

/* A loop as a proxy makes it. */
LoopSet loops_of(uint32_t rank, std::vector<loop_item> items, uint64_t key, uint64_t parent,
                 uint64_t loop_ns, uint64_t mpi_ns)
{
    loop_ranks range = {rank, rank};
    loop one = {};
    one.key = key;
    one.parent = parent;
    one.iterations = 10;
    one.loop_ns = loop_ns;
    one.mpi_ns = mpi_ns;
    one.ratio_min = one.ratio_max = static_cast<uint32_t>(mpi_ns * LOOP_PPM / loop_ns);
    one.items = static_cast<uint32_t>(items.size());
    one.ranges = 1;
    snprintf(one.name, sizeof one.name, "solver+0x1a2b");
    one.item = items.data();
    one.range = &range;
    loop_set from = {&one, 1, 1, 0};
    LoopSet set;
    loop_set_merge(set.get(), &from);
    return set;
}

const loop_item PROBE = {1, LOOP_PROBE, 0}, MESSAGES = {0, LOOP_P2P, 0},
                SUM = {77, LOOP_COLLECTIVE, 0};

/* Ranks of a proxy's processes become world ranks; equal loops of two proxies become one. */
TEST_F(StepPerformanceTest, loops_of_all_proxies_are_put_together)
{
    start();
    send_request();
    LoopSet a = loops_of(1, {SUM, MESSAGES}, 5, 9, 1000 * MS, 100 * MS);
    a.merge(loops_of(1, {PROBE}, 9, 0, 2000 * MS, 100 * MS));
    report(0, {{0, 1, 9, 10, 1000 * MS, 10 * MS}, {1, 1, 9, 10, 1000 * MS, 10 * MS}}, {}, a, 1);
    report(1, {{2, 1, 9, 10, 1000 * MS, 10 * MS}}, {},
           loops_of(2, {SUM, MESSAGES}, 5, 9, 1000 * MS, 300 * MS));
    Json answer = last();
    EXPECT_EQ(answer.at("stale"), 1);
    ASSERT_EQ(answer.at("loops").size(), 2u) << answer;
    EXPECT_EQ(answer.at("loops").at(0).at("key"), "probe");
    const Json &loop = answer.at("loops").at(1);
    EXPECT_EQ(loop.at("parent"), "probe");
    EXPECT_EQ(loop.at("name"), "solver+0x1a2b");
    EXPECT_EQ(loop.at("ranks"), "1-2");
    EXPECT_EQ(loop.at("processes"), 2);
    EXPECT_EQ(loop.at("iterations"), 20);
    EXPECT_EQ(loop.at("loop_us"), 2000000);
    EXPECT_EQ(loop.at("mpi_us"), 400000);
    EXPECT_EQ(loop.at("items"), Json({"collective", "p2p"}));
    EXPECT_DOUBLE_EQ(loop.at("ratio_min"), 0.1);
    EXPECT_DOUBLE_EQ(loop.at("ratio_max"), 0.3);
}

/* Loops that were merged in the tree have numbers of their group, belong to processes of several
 * proxies, and arrive before the rows. */
TEST_F(StepPerformanceTest, J1_loops_that_the_tree_has_put_together)
{
    start();
    send_request();
    LoopSet both = loops_of(0, {SUM, MESSAGES}, 5, 0, 1000 * MS, 100 * MS);
    both.merge(loops_of(2, {SUM, MESSAGES}, 5, 0, 1000 * MS, 300 * MS));
    LoopSet nobody = loops_of(7, {SUM}, 6, 0, 1000 * MS, 100 * MS),
            late = loops_of(1, {SUM}, 6, 0, 1000 * MS, 0);
    report(0, {{0, 1, 9, 10, 1000 * MS, 10 * MS}, {1, 1, 9, 10, 1000 * MS, 10 * MS}});
    mpiexec.report(0, 0, REPORT_LOOPS, sample(), write_loops({0, std::move(both)}));
    mpiexec.report(0, 0, REPORT_LOOPS, sample(), write_loops({0, std::move(nobody)}));
    mpiexec.report(0, 0, REPORT_LOOPS, sample() + 1, write_loops({0, std::move(late)}));
    LoopSet other_step = loops_of(0, {SUM}, 6, 0, 1000 * MS, 0);
    mpiexec.report(0, 0, REPORT_LOOPS, sample(), write_loops({4, std::move(other_step)}));
    report(1, {{2, 1, 9, 10, 1000 * MS, 10 * MS}});
    Json answer = last();
    ASSERT_EQ(answer.at("loops").size(), 2u) << answer;
    const Json &loop = answer.at("loops").at(1);
    EXPECT_EQ(loop.at("ranks"), "0,2");
    EXPECT_EQ(loop.at("iterations"), 20);
    EXPECT_DOUBLE_EQ(loop.at("ratio_max"), 0.3);
}

/* A proxy may only report its own processes. */
TEST_F(StepPerformanceTest, loops_of_processes_of_others_are_left_out)
{
    start();
    send_request();
    report(0, {{0, 1, 9, 10, 1000 * MS, 10 * MS}, {1, 1, 9, 10, 1000 * MS, 10 * MS}});
    report(1, {{2, 1, 9, 10, 1000 * MS, 10 * MS}}, {},
           loops_of(0, {SUM}, 5, 0, 1000 * MS, 10 * MS));
    EXPECT_EQ(last().at("loops").size(), 1u);
}

TEST_F(StepPerformanceTest, J1_B1_the_interval_reaches_the_boards)
{
    start();
    mpiexec.send_request(1, R"({"op":"performance","interval_ms":2000})");
    EXPECT_EQ(mpiexec.sent_text(), "performance:0.0 performance:0.1");
    uint32_t interval_ms = 0;
    ASSERT_EQ(mpiexec.sent.back().payload.size(), sizeof interval_ms);
    memcpy(&interval_ms, mpiexec.sent.back().payload.data(), sizeof interval_ms);
    EXPECT_EQ(interval_ms, 2000u);
    report_all();
    for (const char *bad : {"1", "999", "3600001", "-1", "\"1s\""})
        EXPECT_TRUE(
            mpiexec
                .send_request(2, R"({"op":"performance","interval_ms":)" + std::string(bad) + "}")
                .back()
                .contains("error"))
            << bad;
}

TEST_F(StepPerformanceTest, the_recent_rate_is_that_since_an_earlier_sample)
{
    start();
    mpiexec.time(11000);
    send_request();
    report_all(100);
    mpiexec.time(13000);
    send_request();
    report_all(160);
    EXPECT_DOUBLE_EQ(last().at("progress").at("recent_per_second"), 30);
    EXPECT_NEAR(last().at("progress").at("per_second"), 160 / 12.0, 1e-9);
}

TEST_F(StepPerformanceTest, a_concurrent_query_gets_the_same_sample)
{
    start();
    send_request(1);
    send_request(2);
    EXPECT_EQ(mpiexec.sent.size(), 2u);
    send_request(3);
    stepmgr_client_disconnected(mpiexec.core, 3);
    report_all();
    EXPECT_EQ(mpiexec.replies[1].size(), 1u);
    EXPECT_EQ(mpiexec.replies[2].size(), 1u);
    EXPECT_TRUE(mpiexec.replies[3].empty()) << "an answer to a client that has disconnected";
}

TEST_F(StepPerformanceTest, answers_under_way_are_bounded)
{
    start();
    for (int i = 0; i < 64; i++)
        ASSERT_TRUE(send_request().empty());
    EXPECT_EQ(send_request().at(0).at("error").at("code"), "busy");
}

TEST_F(StepPerformanceTest, J1_a_silent_proxy_is_left_out_and_its_late_answer_ignored)
{
    start();
    send_request();
    uint32_t first = sample();
    report(1, {{2, 1, 100, 10, 1000 * MS, 290 * MS}});
    EXPECT_TRUE(mpiexec.replies[1].empty());
    ASSERT_GE(mpiexec.wake_ms, 0);
    mpiexec.time(mpiexec.wake_ms);
    EXPECT_EQ(last().at("available"), true);
    EXPECT_EQ(last().at("processes"), 1);
    EXPECT_EQ(last().at("loops").at(0).at("ranks"), "2");
    send_request();
    report(0, {{0, 1, 100, 10, 1000 * MS, 10 * MS}}, first);
    EXPECT_EQ(mpiexec.replies[1].size(), 1u) << "an old answer was taken for a new one";
    mpiexec.disconnected(0, 0);
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
}

TEST_F(StepPerformanceTest, a_failed_proxy_is_not_awaited)
{
    start();
    send_request();
    report(0, {{0, 1, 100, 10, 1000 * MS, 10 * MS}});
    mpiexec.disconnected(0, 1);
    EXPECT_EQ(last().at("available"), false);
    EXPECT_EQ(last().at("reason"), "the job is ending");
}

TEST_F(StepPerformanceTest, what_cannot_be_is_not_believed)
{
    start();
    send_request();
    report(0, {{0, 1, 100, 10, 1000 * MS, 1001 * MS},   /* more time in MPI than in total */
               {1, 0, 100, 0, 0, 0},    /* nothing measured */
               {2, 1, 0, 10, 1000 * MS, 1},     /* process of another proxy */
               {77, 1, 0, 10, 1000 * MS, 1}});
    report(1, {});
    EXPECT_EQ(last().at("processes"), 2);
    EXPECT_TRUE(last().at("loops").empty()) << last().dump();
    EXPECT_EQ(last().at("progress").at("probes"), 100);
    mpiexec.report(0, 0, REPORT_PERFORMANCE, 1, "x");
    EXPECT_EQ(mpiexec.status().at("unexpected"), 1);
}

TEST_F(StepPerformanceTest,
       a_flood_of_messages_that_do_not_fit_is_counted_and_does_not_fill_the_log)
{
    start();
    for (int i = 0; i < 1000; i++)
        mpiexec.report(0, 0, REPORT_PERFORMANCE, 1, "x");
    EXPECT_EQ(mpiexec.status().at("unexpected"), 1000);
    EXPECT_EQ(mpiexec.count_events("unexpected"), RequestRate::AT_ONCE);
}

TEST_F(StepPerformanceTest, N8_a_rigid_program_has_none_and_that_is_no_error)
{
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a"});
    EXPECT_EQ(send_request().at(0).at("available"), false);
    mpiexec.init(0, 0, 0, false);
    Json answer = send_request().at(0);
    EXPECT_EQ(answer.at("ok"), true);
    EXPECT_EQ(answer.at("available"), false);
    EXPECT_TRUE(answer.at("reason").get<std::string>().starts_with("the program is rigid"));
    EXPECT_TRUE(mpiexec.sent.empty());
}

/* One thread writes pairs of numbers; the other must never read a mixed pair. */
TEST(MeasuredSlot, IsReadWholeOrNotAtAll)
{
    pmi_adapt_slot slot = {};
    std::atomic<bool> stop = false;
    std::thread writer([&] {
        for (uint64_t n = 1; !stop; n++) {
            pmi_adapt_measured measured = {n, 10 * n, 3 * n, static_cast<uint32_t>(n)};
            pmi_adapt_write_measured(&slot, &measured);
        }
    });
    int whole = 0;
    for (int i = 0; i < 200000 || whole < 1000; i++) {
        pmi_adapt_measured seen;
        if (!pmi_adapt_read_measured(&slot, &seen))
            continue;
        whole++;
        ASSERT_EQ(seen.loop_ns, 10 * seen.iterations);
        ASSERT_EQ(seen.mpi_ns, 3 * seen.iterations);
        ASSERT_EQ(seen.every, static_cast<uint32_t>(seen.iterations));
    }
    stop = true;
    writer.join();
    slot.perf_seq |= 1;
    pmi_adapt_measured seen;
    EXPECT_FALSE(pmi_adapt_read_measured(&slot, &seen)) << "in the middle of a write";
}

PerformanceReport in_phase(uint32_t rank, uint64_t phase, uint64_t iteration, int64_t total,
                           uint64_t element)
{
    PerformanceReport row = {rank, 1, 100, 10, 1000 * MS, 10 * MS};
    row.phase = phase;
    row.iteration = iteration;
    row.total = total;
    row.element = element;
    return row;
}

/* SPEC-epop L1, L2. */
TEST_F(StepPerformanceTest, the_phase_that_most_processes_are_in)
{
    LoopSet loops = loops_of(0, {{77, LOOP_ELASTIC_PHASE, 0}}, 5, 0, 1000 * MS, 10 * MS);
    start();
    send_request();
    report(0, {in_phase(0, 77, 412, 1000, 1), in_phase(1, 77, 415, 1000, 1)}, {}, loops);
    report(1, {in_phase(2, 78, 3, -1, 3)});
    Json phase = last().at("phase");
    EXPECT_EQ(phase.at("element"), 1);
    EXPECT_EQ(phase.at("name"), "solver+0x1a2b");
    EXPECT_EQ(phase.at("rigid"), false);
    EXPECT_EQ(phase.at("processes"), 2);
    EXPECT_EQ(phase.at("iteration"), 412);
    EXPECT_EQ(phase.at("iteration_max"), 415);
    EXPECT_EQ(phase.at("total"), 1000);
    EXPECT_EQ(phase.at("iteration_us"), 100000);
    ASSERT_EQ(phase.at("behind").size(), 1u);
    EXPECT_EQ(phase.at("behind").at(0).at("rank"), 0);
    EXPECT_EQ(phase.at("behind").at(0).at("host"), "a");

    send_request();
    report(0, {in_phase(0, 78, 3, -1, 3), in_phase(1, 78, 4, -1, 3)});
    report(1, {in_phase(2, 78, 3, -1, 3)});
    phase = last().at("phase");
    EXPECT_TRUE(phase.at("name").is_null()) << "its loop has not been written yet";
    EXPECT_TRUE(phase.at("total").is_null());
    EXPECT_EQ(phase.at("behind"), Json::array()) << "one iteration is a chance";
}

TEST_F(StepPerformanceTest, an_impossible_position_is_not_reported)
{
    start();
    send_request();
    report(0, {in_phase(0, 77, UINT64_MAX, 1000, 1), in_phase(1, 77, 1, INT64_MIN, 1)});
    report(1, {in_phase(2, 77, 1, 10, UINT64_MAX)});
    EXPECT_TRUE(last().at("phase").is_null());
    send_request();
    report_all();
    EXPECT_TRUE(last().at("phase").is_null()) << "a program without phases";
}

}  // namespace
}  // namespace elastic
