/*
 * Calls on process sets in a proxy with four processes: one search for all of them (sets.c).
 * mpiexec is the test.
 */

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "stepmgr/proto/pset_call.h"

extern "C" {
#include "pmip.h"
#include "state.h"
#include "pmip_adapt.h"
#include "answers.h"
#include "exits.h"
#include "output.h"
#include "pmi_adapt_set.h"
#include "reports.h"
#include "sets.h"
#include "spawned.h"
#include "wire/event_loop.h"
#include "wire/kinds.h"
#include "wire/keepalive.h"

struct HYD_pmcd_pmip_s HYD_pmcd_pmip;
struct HYD_proxy_state HYD_proxy_state;
}

namespace {

using elastic::LookupSet;
using elastic::SetMembers;

constexpr int PROCESSES = 4;
constexpr uint32_t FIRST_RANK = 2, FIRST_UID = 10, FIRST_FD = 100;

struct Report {
    uint32_t kind = 0;
    std::string payload;
};
std::vector<Report> sent;       /* to mpiexec */
std::string line;               /* to a process, the last one */

uint32_t number_at(const std::string &bytes, size_t at)
{
    uint32_t number = 0;
    EXPECT_LE(at + sizeof number, bytes.size());
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}

void append(std::string &bytes, uint32_t number)
{
    bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
}

SetMembers list(std::vector<uint32_t> uids)
{
    return *SetMembers::of_list(uids);
}

class ProxySetsTest : public testing::Test {
  protected:
    void SetUp() override
    {
        static int ranks[PROCESSES], fds[PROCESSES], active[PROCESSES];
        for (int i = 0; i < PROCESSES; i++) {
            ranks[i] = static_cast<int>(FIRST_RANK) + i;
            fds[i] = static_cast<int>(FIRST_FD) + i;
        }
        HYD_pmcd_pmip.downstream = {ranks, fds, active};
        HYD_pmcd_pmip.local.proxy_process_count = PROCESSES;
        HYD_proxy_state = {};
        HYD_proxy_state.processes = processes_;
        HYD_proxy_state.join.first_uid = FIRST_UID - FIRST_RANK;
        ASSERT_EQ(HYD_board_create(&HYD_proxy_state.board, "sets", PROCESSES), 0);
        sent.clear();
    }
    void TearDown() override
    {
        for (int i = 0; i < PROCESSES; i++)
            HYD_sets_ended(i);
        HYD_board_destroy(&HYD_proxy_state.board);
    }
    /* A process queries; false: its query has not been passed on (yet). */
    bool query(int process, const elastic::SetCall &call, uint32_t id = 1)
    {
        static const char digits[] = "0123456789abcdef";
        std::string hex = "call=", number = "id=" + std::to_string(id), more = "more=0",
                    answer = "board=0";
        for (unsigned char byte : elastic::write_set_call(call))
            hex += {digits[byte >> 4], digits[byte & 15]};
        char *words[] = {number.data(), more.data(), answer.data(), hex.data(), nullptr};
        size_t before = sent.size();
        EXPECT_EQ(HYD_pmcd_pmip_adapt_fn_set_call(HYD_pmcd_pmip.downstream.pmi_fd[process], words),
                  HYD_SUCCESS);
        return sent.size() > before && sent.back().kind == REPORT_SET_CALL;
    }
    static std::string head(int process, uint32_t id)
    {
        std::string bytes;
        append(bytes, FIRST_UID + static_cast<uint32_t>(process));
        append(bytes, id);
        return bytes;
    }
    static void answer(int process, const std::string &text, uint32_t id = 1)
    {
        std::string payload = head(process, id) + text;
        EXPECT_EQ(HYD_sets_answered(payload.data(), payload.size()), HYD_SUCCESS);
    }
    static void share(int process, const std::string &text, const SetMembers &others,
                      const SetMembers &bcs = {}, uint32_t id = 1)
    {
        std::string payload = head(process, id);
        elastic::append_members(payload, others);
        elastic::append_members(payload, bcs);
        payload += text;
        EXPECT_EQ(HYD_sets_shared(payload.data(), payload.size()), HYD_SUCCESS);
    }
    /* A process fetches its reply; "": none yet. */
    std::string fetch(int process, uint32_t id = 1)
    {
        std::string number = "id=" + std::to_string(id), at = "at=0";
        char *words[] = {number.data(), at.data(), nullptr};
        EXPECT_EQ(HYD_pmcd_pmip_adapt_fn_set_fetch(HYD_pmcd_pmip.downstream.pmi_fd[process], words),
                  HYD_SUCCESS);
        std::string hex = line.substr(line.find("data=") + 5), text;
        for (size_t i = 0; i + 1 < hex.size(); i += 2)
            text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
        return text;
    }
    /* The process whose query was passed on last. */
    static uint32_t asker() { return number_at(sent.back().payload, 0) - FIRST_RANK; }

    HYD_proxy_process processes_[PROCESSES] = {};
    /* Different in each test, because replies of earlier tests are still cached. */
    static inline int tests = 0;
    const std::string name_ = "app://main/" + std::to_string(tests++);
    const LookupSet main_ = {name_, false};
    const SetMembers all_ = list({10, 11, 12, 13});
};

TEST_F(ProxySetsTest, one_query_serves_equal_ones)
{
    EXPECT_TRUE(query(0, main_));
    for (int i = 1; i < 3; i++)
        EXPECT_FALSE(query(i, main_));
    EXPECT_EQ(fetch(1), "");
    share(0, "first", all_);
    EXPECT_FALSE(query(3, main_)) << "it is known by now";
    for (int i = 0; i < PROCESSES; i++)
        EXPECT_EQ(fetch(i), "first") << i;
    EXPECT_EQ(sent.size(), 1u);
}

TEST_F(ProxySetsTest, another_question_is_another_one)
{
    EXPECT_TRUE(query(0, main_));
    EXPECT_TRUE(query(1, LookupSet{name_, true}));
    EXPECT_TRUE(query(2, LookupSet{"app://other", false}));
    EXPECT_TRUE(query(3, elastic::FreeSet{name_}));
    EXPECT_TRUE(query(0, elastic::FreeSet{name_}, 2)) << "only queries are";
    EXPECT_TRUE(query(0, main_, 3)) << "the same process' own";
}

TEST_F(ProxySetsTest, data_of_one_process_is_queried_by_each)
{
    EXPECT_TRUE(query(0, main_));
    EXPECT_FALSE(query(1, main_));
    EXPECT_FALSE(query(2, main_));
    answer(0, "answer 0");
    EXPECT_EQ(sent.size(), 3u);
    answer(2, "answer 2");
    answer(1, "answer 1");
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(fetch(i), "answer " + std::to_string(i));
    for (int i = 0; i < PROCESSES; i++)
        EXPECT_TRUE(query(i, main_, 2)) << "nobody waits twice the next time";
    share(0, "first", all_, {}, 2);
    EXPECT_EQ(fetch(0, 2), "first");
    EXPECT_EQ(fetch(1, 2), "");
    HYD_board_invalidate(&HYD_proxy_state.board);
    EXPECT_TRUE(query(0, main_, 3));
    EXPECT_FALSE(query(1, main_, 3)) << "it may get several again";
}

TEST_F(ProxySetsTest, a_process_that_needs_more_sends_its_own_query)
{
    EXPECT_TRUE(query(0, main_));
    EXPECT_FALSE(query(1, main_));
    EXPECT_FALSE(query(2, main_));
    share(0, "first", list({12}));
    EXPECT_EQ(sent.size(), 2u);
    EXPECT_EQ(asker(), 1u);
    EXPECT_EQ(fetch(2), "first");
    EXPECT_FALSE(query(3, main_));
    EXPECT_EQ(fetch(3), "") << "nor is the first answer for this one";
    share(1, "more", all_);
    EXPECT_EQ(fetch(1), "more");
    EXPECT_EQ(fetch(3), "more");
    EXPECT_FALSE(query(2, main_, 2));
    EXPECT_EQ(fetch(2, 2), "more") << "the latest";
}

TEST_F(ProxySetsTest, mpiexec_is_notified_of_delivered_business_cards)
{
    EXPECT_TRUE(query(0, main_));
    EXPECT_FALSE(query(2, main_));
    EXPECT_FALSE(query(1, main_));
    share(0, "first", all_, list({20, 21, 23}));
    ASSERT_EQ(sent.size(), 2u);
    std::string expected;
    elastic::append_members(expected, list({20, 21, 23}));
    const std::string bcs = expected;
    for (uint32_t process : {2u, 1u})
        append(expected, FIRST_RANK + process);
    EXPECT_EQ(sent[1].kind, static_cast<uint32_t>(REPORT_SET_SHARED));
    EXPECT_EQ(sent[1].payload, expected);
    EXPECT_FALSE(query(3, main_));
    ASSERT_EQ(sent.size(), 3u);
    expected = bcs;
    append(expected, FIRST_RANK + 3);
    EXPECT_EQ(sent[2].payload, expected);
}

TEST_F(ProxySetsTest, SA1_invalid_data_is_not_sent_to_others)
{
    EXPECT_TRUE(query(0, main_));
    EXPECT_FALSE(query(1, main_));
    HYD_board_invalidate(&HYD_proxy_state.board);
    EXPECT_TRUE(query(2, main_))
        << "it may know of something that the answer to the first question does not contain";
    EXPECT_FALSE(query(3, main_));
    share(0, "old", all_);
    EXPECT_EQ(fetch(0), "old");
    EXPECT_EQ(fetch(1), "old") << "it had queried before";
    EXPECT_EQ(fetch(3), "");
    EXPECT_FALSE(query(1, main_, 2)) << "nor is the old answer stored";
    EXPECT_EQ(fetch(1, 2), "");
    share(2, "new", all_);
    EXPECT_EQ(fetch(2), "new");
    EXPECT_EQ(fetch(3), "new");
    EXPECT_EQ(fetch(1, 2), "new");
    HYD_board_invalidate(&HYD_proxy_state.board);
    EXPECT_TRUE(query(0, main_, 2));
}

TEST_F(ProxySetsTest, the_first_caller_may_end)
{
    EXPECT_TRUE(query(0, main_));
    for (int i = 1; i < PROCESSES; i++)
        EXPECT_FALSE(query(i, main_));
    HYD_sets_ended(2);
    EXPECT_EQ(sent.size(), 1u);
    HYD_sets_ended(0);
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(asker(), 1u);
    share(0, "late", all_);
    EXPECT_EQ(fetch(1), "") << "it is nobody's";
    share(1, "first", all_);
    EXPECT_EQ(fetch(1), "first");
    EXPECT_EQ(fetch(3), "first");
}

TEST_F(ProxySetsTest, what_waits_for_others_counts)
{
    EXPECT_TRUE(query(0, main_));
    for (uint32_t id = 1; id <= PMI_SET_CALLS_MAX + 2; id++)
        query(1, main_, id);
    share(0, "first", all_);
    EXPECT_EQ(fetch(1, PMI_SET_CALLS_MAX), "first");
    EXPECT_EQ(fetch(1, PMI_SET_CALLS_MAX + 1), "") << "it was one too many";
}

/* Calls in parts, so that a later query is complete before an earlier one. */
TEST_F(ProxySetsTest, any_order_of_parts)
{
    std::string number = "id=1", more = "more=1", answer = "board=0", nothing = "call=";
    char *words[] = {number.data(), more.data(), answer.data(), nothing.data(), nullptr};
    EXPECT_EQ(HYD_pmcd_pmip_adapt_fn_set_call(static_cast<int>(FIRST_FD) + 1, words), HYD_SUCCESS);
    EXPECT_TRUE(query(0, main_));
    EXPECT_FALSE(query(1, main_));
    share(0, "first", all_);
    EXPECT_EQ(fetch(0), "first");
    EXPECT_EQ(fetch(1), "first");
}

TEST_F(ProxySetsTest, what_is_malformed_is_an_error)
{
    EXPECT_TRUE(query(0, main_));
    for (uint32_t runs : {1u, UINT32_MAX}) {
        std::string payload = head(0, 1);
        append(payload, runs);
        append(payload, 0);
        EXPECT_NE(HYD_sets_shared(payload.data(), payload.size()), HYD_SUCCESS);
    }
    EXPECT_NE(HYD_sets_shared("short", 5), HYD_SUCCESS);
    EXPECT_EQ(fetch(0), "");
}

}  // namespace

extern "C" {

HYD_status HYD_answer(int, const char *text, size_t bytes)
{
    line.assign(text, bytes);
    return HYD_SUCCESS;
}
HYD_status HYD_reports_send(uint32_t kind, uint32_t, uint32_t, const void *payload, size_t bytes)
{
    sent.push_back({kind, {static_cast<const char *>(payload), bytes}});
    return HYD_SUCCESS;
}
int HYD_answers_wait(int) { return 0; }
HYD_status HYD_pmcd_pmip_adapt_read_pmi(int) { return HYD_SUCCESS; }
HYD_status HYD_pmcd_pmip_adapt_channel(void) { return HYD_SUCCESS; }
void HYD_pmcd_pmip_adapt_count_output(void) {}
HYD_status HYD_exits_watch(void) { return HYD_SUCCESS; }
void HYD_exits_report_earlier(void) {}
void HYD_loop_outdate(void) {}
void HYD_keepalive_watch(int) {}
void HYD_spawned_began(int) {}

}
