/* Reports on their way up the tree of proxies: of one proxy with a parent and proxies below it. */

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "stepmgr/proto/loops.h"
#include "stepmgr/proto/payload.h"

extern "C" {
#include "hydra.h"
#include "proxy/upward.h"
#include "wire/send_queue.h"
}

namespace {

using elastic::LoopSet;

struct Report {                   /* to mpiexec */
    uint32_t kind, epoch, sequence;
    std::string payload;
};
std::vector<Report> reports;
std::vector<std::string> sent;  /* to the parent */
char slot;
HYD_connection *const PARENT = reinterpret_cast<HYD_connection *>(&slot);

constexpr HYD_relay_origin OWN = {0, 3};

std::string entry(HYD_relay_origin origin, uint32_t kind, uint32_t epoch, uint32_t sequence,
                  std::string payload = "")
{
    HYD_relay_entry head = {origin, {kind, epoch, payload.size(), sequence, 0}};
    std::string bytes(reinterpret_cast<const char *>(&head), sizeof head);
    bytes += payload;
    bytes.resize(HYD_relay_entry_bytes(&head));
    return bytes;
}

/* Takes entries as from a proxy below. */
int take(const std::string &entries)
{
    HYD_relay_reports head = {0, 0, entries.size()};
    std::string message(reinterpret_cast<const char *>(&head), sizeof head);
    HYD_status status = HYD_SUCCESS;
    int taken = HYD_upward_take((message + entries).data(), &status);
    EXPECT_EQ(status, HYD_SUCCESS);
    return taken;
}

struct Entry {
    HYD_relay_entry head;
    std::string payload;
};

std::vector<Entry> entries_of(const std::string &bytes)
{
    std::vector<Entry> entries;
    for (size_t at = 0; at < bytes.size();) {
        HYD_relay_entry head;
        memcpy(&head, bytes.data() + at, sizeof head);
        EXPECT_TRUE(HYD_relay_entry_holds(&head, bytes.size() - at));
        entries.push_back({head, bytes.substr(at + sizeof head, head.message.bytes)});
        at += HYD_relay_entry_bytes(&head);
    }
    return entries;
}

std::vector<Entry> sent_entries(size_t i)
{
    HYD_relay_reports head;
    memcpy(&head, sent.at(i).data(), sizeof head);
    EXPECT_EQ(head.id, 0u);
    EXPECT_EQ(head.bytes, sent[i].size() - sizeof head);
    return entries_of(sent[i].substr(sizeof head));
}

LoopSet loops_of(uint32_t rank, uint64_t key, uint64_t mpi_ns)
{
    loop_item item = {key, LOOP_COLLECTIVE, 0};
    loop_ranks range = {rank, rank};
    loop one = {};
    one.key = key;
    one.iterations = 10;
    one.loop_ns = 1000000;
    one.mpi_ns = mpi_ns;
    one.ratio_min = one.ratio_max = static_cast<uint32_t>(mpi_ns);
    one.items = one.ranges = 1;
    one.item = &item;
    one.range = &range;
    loop_set from = {&one, 1, 1, 0};
    LoopSet set;
    loop_set_merge(set.get(), &from);
    return set;
}

class UpwardTest : public testing::Test {
  protected:
    void SetUp() override
    {
        HYD_upward_path(nullptr, 1);
        HYD_upward_flush();
        HYD_upward_complete();
        reports.clear();
        sent.clear();
    }
    void wait_until_due()
    {
        EXPECT_LE(HYD_upward_wait_ms(), UPWARD_WAIT_MS);
        while (HYD_upward_wait_ms() > 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        EXPECT_EQ(HYD_upward_wait_ms(), 0);
        HYD_upward_due();
    }
};

TEST_F(UpwardTest, without_a_tree_they_go_directly)
{
    HYD_upward_report(REPORT_PREPARED, 4, nullptr, 0);
    HYD_upward_report(REPORT_PERFORMANCE, 9, "sample", 6);
    ASSERT_EQ(reports.size(), 2u);
    EXPECT_EQ(reports[0].kind, static_cast<uint32_t>(REPORT_PREPARED));
    EXPECT_EQ(reports[0].epoch, 4u);
    EXPECT_EQ(reports[1].payload, "sample");
    EXPECT_EQ(reports[1].sequence, reports[0].sequence + 1);
    EXPECT_EQ(HYD_upward_wait_ms(), -1);
}

TEST_F(UpwardTest, who_has_nobody_below_reports_to_the_one_above_at_once)
{
    HYD_upward_path(PARENT, 1);
    HYD_upward_report(REPORT_COMMITTED, 4, nullptr, 0);
    ASSERT_EQ(sent.size(), 1u);
    ASSERT_EQ(sent_entries(0).size(), 1u);
    EXPECT_EQ(sent_entries(0)[0].head.origin.proxy, OWN.proxy);
    EXPECT_TRUE(reports.empty());
}

TEST_F(UpwardTest, those_of_all_below_go_on_together)
{
    HYD_upward_path(PARENT, 4);
    EXPECT_TRUE(
        take(entry({0, 5}, REPORT_COMMITTED, 4, 1) + entry({2, 0}, REPORT_COMMITTED, 4, 7)));
    HYD_upward_report(REPORT_COMMITTED, 4, nullptr, 0);
    EXPECT_TRUE(sent.empty());
    EXPECT_TRUE(take(entry({0, 6}, REPORT_COMMITTED, 4, 2)));
    ASSERT_EQ(sent.size(), 1u);
    auto entries = sent_entries(0);
    ASSERT_EQ(entries.size(), 4u);
    EXPECT_EQ(entries[1].head.origin.group, 2u);
    EXPECT_EQ(entries[1].head.message.sequence, 7u);
    EXPECT_EQ(entries[2].head.origin.proxy, OWN.proxy);
    EXPECT_EQ(HYD_upward_wait_ms(), -1);
}

/* Also if some of the others were forwarded before.  Reports of another kind or epoch do not
 * count. */
TEST_F(UpwardTest, the_last_one_does_not_wait)
{
    HYD_upward_path(nullptr, 3);
    take(entry({0, 5}, REPORT_PREPARED, 4, 1) + entry({0, 5}, REPORT_GREETED, 4, 2));
    wait_until_due();
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].kind, static_cast<uint32_t>(HYD_ADAPT_GATHERED));
    HYD_upward_report(REPORT_PREPARED, 4, nullptr, 0);
    EXPECT_EQ(reports.size(), 1u);
    take(entry({0, 6}, REPORT_PREPARED, 4, 1));
    ASSERT_EQ(reports.size(), 2u);
    EXPECT_EQ(entries_of(reports[1].payload).size(), 2u);
}

TEST_F(UpwardTest, what_waits_is_bounded)
{
    const size_t large = UPWARD_WAIT_BYTES / 4 + 100;
    HYD_upward_path(PARENT, 1000);
    for (uint32_t i = 0; i < 40; i++)
        take(entry({0, 10 + i}, REPORT_PERFORMANCE, 1, 1, std::string(large, 'x')));
    EXPECT_EQ(sent.size(), 10u);
}

/* SPEC-performance N6, J1: merged on the way with the same result as in mpiexec. */
TEST_F(UpwardTest, N6_loops_are_merged_on_the_way)
{
    auto sample = [](uint32_t rank, const LoopSet &loops) {
        elastic::PerformanceReport row = {rank, 1, 9, 10, 1000000, 1000};
        return elastic::write_performance({&row, 1}, loops, rank % 2);
    };
    auto bytes = [](const std::string &text) {
        return elastic::Bytes(reinterpret_cast<const unsigned char *>(text.data()), text.size());
    };
    std::string own = sample(3, loops_of(3, 77, 300000));
    LoopSet all = loops_of(3, 77, 300000), below;
    for (uint32_t rank = 4; rank < 8; rank++) {
        all.merge(loops_of(rank, rank < 6 ? 77 : 88, 100000 * rank));
        below.merge(loops_of(rank, rank < 6 ? 77 : 88, 100000 * rank));
    }
    HYD_upward_path(PARENT, 3);
    take(entry({0, 5}, REPORT_LOOPS, 21, 1, elastic::write_loops({0, std::move(below)})) +
         entry({0, 5}, REPORT_PERFORMANCE, 21, 2, sample(4, LoopSet())));
    LoopSet others = loops_of(0, 99, 1);
    take(entry({6, 0}, REPORT_PERFORMANCE, 21, 1, sample(0, others)));
    HYD_upward_report(REPORT_PERFORMANCE, 21, own.data(), own.size());
    ASSERT_EQ(sent.size(), 1u);
    auto entries = sent_entries(0);
    ASSERT_EQ(entries.size(), 5u) << "loops of two groups, rows of three proxies";
    for (size_t i = 0; i < 2; i++) {
        EXPECT_EQ(entries[i].head.message.kind, static_cast<uint32_t>(REPORT_LOOPS))
            << "they come first";
        auto report = elastic::parse_loops(bytes(entries[i].payload));
        ASSERT_TRUE(report);
        EXPECT_EQ(report->loops.write(), (report->group == 0 ? all : others).write());
    }
    for (size_t i = 2; i < 5; i++) {
        auto report = elastic::parse_performance(bytes(entries[i].payload));
        ASSERT_TRUE(report);
        EXPECT_EQ(report->rows.size(), 1u);
        EXPECT_TRUE(report->loops.loops().empty());
    }
}

/* mpiexec reports the error in it. */
TEST_F(UpwardTest, a_sample_that_is_none_goes_on_as_it_is)
{
    HYD_upward_path(PARENT, 2);
    take(entry({0, 5}, REPORT_PERFORMANCE, 21, 1, "rubbish") +
         entry({0, 5}, REPORT_LOOPS, 21, 2, "more rubbish"));
    HYD_upward_flush();
    auto entries = sent_entries(0);
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].payload, "rubbish");
    EXPECT_EQ(entries[1].payload, "more rubbish");
}

TEST_F(UpwardTest, a_proxy_above_fails)
{
    HYD_upward_failed(PARENT);
    EXPECT_TRUE(reports.empty()) << "nothing was sent that way";
    HYD_upward_path(PARENT, 1);
    HYD_upward_report(REPORT_PREPARED, 4, nullptr, 0);
    HYD_upward_report(REPORT_COMMITTED, 4, nullptr, 0);
    HYD_upward_failed(PARENT);
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].kind, static_cast<uint32_t>(HYD_ADAPT_LOST));
    HYD_upward_repeat_all();
    ASSERT_EQ(reports.size(), 3u);
    for (size_t i = 0; i < 2; i++) {
        EXPECT_EQ(reports[1 + i].kind,
                  static_cast<uint32_t>(i ? REPORT_COMMITTED : REPORT_PREPARED));
        EXPECT_EQ(reports[1 + i].sequence, sent_entries(i)[0].head.message.sequence)
            << "so that each counts once";
    }
    HYD_upward_report(REPORT_PERFORMANCE, 9, "sample", 6);
    EXPECT_EQ(sent.size(), 2u) << "the failed one is not used any more";
}

/* This proxy stores reports of others, and has forwarded only its own.  The others repeat theirs,
 * and waiting reports are sent directly. */
TEST_F(UpwardTest, queued_data_of_a_failed_relay_is_sent_directly)
{
    HYD_upward_path(PARENT, 3);
    take(entry({0, 5}, REPORT_PREPARED, 4, 1));
    HYD_upward_repeat_all();
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].kind, static_cast<uint32_t>(HYD_ADAPT_GATHERED));
}

/* An end that arrived before the commit would count as a failure. */
TEST_F(UpwardTest, a_direct_report_does_not_overtake_them)
{
    HYD_upward_path(PARENT, 1);
    HYD_upward_report(REPORT_COMMITTED, 4, nullptr, 0);
    HYD_upward_repeat();
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].kind, static_cast<uint32_t>(REPORT_COMMITTED));
    HYD_upward_repeat();
    EXPECT_EQ(reports.size(), 1u) << "once is enough";
    HYD_upward_report(REPORT_COMMITTED, 5, nullptr, 0);
    HYD_upward_complete();
    HYD_upward_repeat();
    EXPECT_EQ(reports.size(), 1u) << "mpiexec has released them, so that it has it";
}

TEST_F(UpwardTest, false_reports_of_a_proxy_below_are_ignored)
{
    HYD_upward_path(PARENT, 8);
    EXPECT_FALSE(take(entry({0, 5}, REPORT_EXITED, 4, 1))) << "it goes directly";
    EXPECT_FALSE(take(entry({0, 5}, REPORT_COMMITTED, 4, 0))) << "without a number";
    EXPECT_FALSE(take(entry({0, 5}, REPORT_COMMITTED, 4, 1).substr(8))) << "not whole";
    std::string longer = entry({0, 5}, REPORT_COMMITTED, 4, 1);
    reinterpret_cast<HYD_relay_entry *>(longer.data())->message.bytes = UINT64_MAX;
    EXPECT_FALSE(take(longer)) << "longer than it is";
    HYD_upward_flush();
    EXPECT_TRUE(sent.empty());
}

}  // namespace

extern "C" {

void HYD_connection_queue(HYD_connection *c, HYD_block *block)
{
    EXPECT_EQ(c, PARENT);
    sent.emplace_back(block->data, block->bytes);
    HYD_block_drop(block);
}

HYD_status HYD_connection_send(HYD_connection *)
{
    return HYD_SUCCESS;
}

HYD_relay_origin HYD_upward_origin(void)
{
    return OWN;
}

HYD_status HYD_upward_to_mpiexec(uint32_t kind, uint32_t epoch, uint32_t sequence,
                                 const void *payload, size_t bytes)
{
    reports.push_back(
        {kind, epoch, sequence, std::string(static_cast<const char *>(payload), bytes)});
    return HYD_SUCCESS;
}

}
