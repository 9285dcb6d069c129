/* Texts of process sets: one by one, and in random runs of processes, boards and proxies that are
 * slow and fail. */

#include <gtest/gtest.h>

#include <cstring>
#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <span>

#include "stepmgr/psets/psets.h"

namespace elastic {
namespace {

/* "" (nothing), a text, or "code N". */
std::string read(const std::string &answer)
{
    uint32_t head[3] = {};
    std::memcpy(head, answer.data(), std::min(sizeof head, answer.size()));
    if (head[0] != PMI_SET_OK)
        return "code " + std::to_string(head[0]);
    return head[1] == 1 ? answer.substr(sizeof head) : "";
}
const std::string ABORTED = "code " + std::to_string(PMI_SET_MEMBER_ENDED);
const std::string PENDING = "code " + std::to_string(PMI_SET_PENDING);

SetMembers first(uint32_t n)
{
    std::vector<SetMembers::Run> runs = {{0, n}};
    return *SetMembers::of_runs(runs);
}

class SetBcastsTest : public testing::Test {
  protected:
    /* Processes 0, 1, 2; proxy 10 has the first two. */
    static SetCaller by(uint32_t uid) { return {uid, 1, uid < 2 ? 10u : 11u}; }
    void join_all()
    {
        for (uint32_t uid = 0; uid < 3; uid++)
            bcasts.join(by(uid), "set", first(3), 5, ended);
    }
    std::string give(uint32_t uid, const std::string &text)
    {
        return read(bcasts.give(by(uid), 5, text, ended));
    }
    std::string turn(uint32_t uid, uint64_t number)
    {
        auto answer = bcasts.turn(by(uid), 5, number, ended);
        return answer ? read(*answer) : "waits";
    }
    void count(uint64_t proxy_id, uint32_t text, uint64_t ceiling)
    {
        bcasts.frozen(proxy_id, {1, text, ceiling}, ended);
    }
    void end(uint32_t uid)
    {
        ended.insert(uid);
        bcasts.without(uid, ended);
    }
    /* "2:10,11": order and proxies; with the value of gates. */
    std::string ordered()
    {
        std::string text;
        for (const auto &order : bcasts.take_orders()) {
            text += (text.empty() ? "" : " ") + std::to_string(order.order.what);
            if (order.order.what == BCAST_GATE)
                text += order.order.value == PMI_ADAPT_GATE_OPEN
                            ? "=open"
                            : "=" + std::to_string(order.order.value);
            for (uint64_t proxy_id : order.proxy_ids)
                text += ":" + std::to_string(proxy_id);
        }
        return text;
    }

    SetBcasts bcasts{4};
    Uids ended;
};

TEST_F(SetBcastsTest, SB1_a_text_is_delivered_in_the_call_that_nobody_has_come_to)
{
    join_all();
    EXPECT_EQ(ordered(), "1:10 1:10 1:11");
    EXPECT_EQ(give(0, "text"), "");
    EXPECT_EQ(ordered(), "2:10:11");
    EXPECT_EQ(turn(1, 8), "waits");
    EXPECT_EQ(turn(2, 4), "waits");
    count(10, 1, 8);
    EXPECT_EQ(ordered(), "");
    count(11, 1, 4);
    EXPECT_EQ(ordered(), "3=8:10:11");
    auto replies = bcasts.take_replies();
    ASSERT_EQ(replies.size(), 2u);
    EXPECT_EQ(replies[0].caller.uid, 1u);
    EXPECT_EQ(read(replies[0].answer), "text");
    EXPECT_EQ(read(replies[1].answer), "");
    EXPECT_EQ(turn(0, 8), "text");
    EXPECT_EQ(turn(1, 9), "") << "once";
    EXPECT_EQ(ordered(), "") << "one process is not notified yet";
    EXPECT_EQ(turn(2, 8), "text");
    EXPECT_EQ(ordered(), "3=open:10:11");
}

TEST_F(SetBcastsTest, SB2_one_text_waits_for_another)
{
    join_all();
    give(0, "first");
    count(10, 1, 2);
    count(11, 1, 2);
    EXPECT_EQ(turn(0, 2), "first");
    EXPECT_EQ(give(0, "second"), "") << "delivered here";
    EXPECT_EQ(give(0, "third"), PENDING);
    turn(1, 2);
    ordered();
    turn(2, 2);
    EXPECT_EQ(ordered(), "2:10:11");
    count(10, 2, 5);
    count(11, 2, 3);
    EXPECT_EQ(turn(2, 5), "second");
}

TEST_F(SetBcastsTest, only_the_first_member_that_lives_gives_texts)
{
    join_all();
    EXPECT_EQ(give(1, "text"), "code " + std::to_string(PMI_SET_WRONG));
    end(0);
    EXPECT_EQ(give(1, "text"), "");
    count(10, 1, 3);
    count(11, 1, 3);
    EXPECT_EQ(turn(2, 3), ABORTED) << "a member has ended";
}

TEST_F(SetBcastsTest, SB2_a_member_that_ends_before_delivery)
{
    join_all();
    give(0, "text");
    EXPECT_EQ(turn(0, 4), "waits");
    count(10, 1, 4);
    end(2);                     /* the only process of the proxy that has not counted */
    auto replies = bcasts.take_replies();
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(read(replies[0].answer), ABORTED);
    EXPECT_EQ(turn(1, 4), ABORTED);
    ordered();
    count(11, 1, 9);
    EXPECT_EQ(ordered(), "") << "too late";
}

TEST_F(SetBcastsTest, SB2_all_get_the_same_if_a_member_ends_after_the_first_has_got_it)
{
    join_all();
    give(0, "text");
    count(10, 1, 4);
    count(11, 1, 4);
    EXPECT_EQ(turn(0, 4), "text");
    end(2);
    EXPECT_EQ(turn(1, 4), "text");
}

TEST_F(SetBcastsTest, a_member_that_comes_later_finds_the_text)
{
    bcasts.join(by(0), "set", first(3), 5, ended);
    give(0, "text");
    bcasts.join(by(1), "set", first(3), 5, ended);
    EXPECT_EQ(bcasts.take_orders().back().order.value, PMI_ADAPT_GATE_SHUT);
    count(10, 1, 2);
    bcasts.join(by(2), "set", first(3), 5, ended);
    EXPECT_EQ(bcasts.take_orders().back().order.value, 2u);
    EXPECT_EQ(turn(2, 2), "text");
    end(0);
    EXPECT_EQ(turn(1, 2), "text");
    end(1);
    end(2);
    EXPECT_TRUE(bcasts.empty());
}

TEST_F(SetBcastsTest, a_set_that_is_freed_keeps_nobody)
{
    join_all();
    give(0, "text");
    EXPECT_EQ(turn(1, 4), "waits");
    ordered();
    bcasts.discard("set");
    EXPECT_EQ(ordered(), "4:10:11");
    EXPECT_EQ(read(bcasts.take_replies().at(0).answer), "code " + std::to_string(PMI_SET_UNKNOWN));
    EXPECT_EQ(turn(2, 1), "code " + std::to_string(PMI_SET_UNKNOWN));
    EXPECT_EQ(give(0, "text"), "code " + std::to_string(PMI_SET_UNKNOWN));
    EXPECT_TRUE(bcasts.empty());
}

TEST_F(SetBcastsTest, a_slot_counts_for_one_set_and_a_process_in_one_slot)
{
    join_all();
    EXPECT_EQ(bcasts.join(by(0), "set", first(3), 6, ended), SetAnswer().number(5).bytes());
    bcasts.join(by(0), "other", first(1), 5, ended);
    EXPECT_EQ(give(0, "text"), "");
    bcasts.join(by(0), "set", first(3), 6, ended);
    for (uint32_t i = 0; i < 2; i++)
        EXPECT_EQ(read(bcasts.join(by(0), "more" + std::to_string(i), first(1), 10 + i, ended)),
                  "");
    EXPECT_EQ(read(bcasts.join(by(0), "most", first(1), 20, ended)),
              "code " + std::to_string(PMI_SET_FULL));
}

/* ---- calls of processes ---------------------------------------------------------------------- */

Bytes bytes_of(const std::string &text)
{
    return {reinterpret_cast<const unsigned char *>(text.data()), text.size()};
}

uint32_t code(Sets &sets, uint32_t uid, const SetCall &call)
{
    auto replies = sets.call({uid, 1, 0}, bytes_of(write_set_call(call)));
    uint32_t code = UINT32_MAX;
    if (!replies.empty())
        std::memcpy(&code, replies.front().answer.data(), sizeof code);
    return code;
}

TEST(SetBcastsCallTest, calls_are_checked)
{
    auto holds = [](const SetCall &call) {
        return parse_set_call(bytes_of(write_set_call(call))).has_value();
    };
    EXPECT_TRUE(holds(JoinBcast{{"app://a", {}}, PMI_SET_BCASTS_MAX - 1}));
    EXPECT_FALSE(holds(JoinBcast{{"app://a", {}}, PMI_SET_BCASTS_MAX}));
    EXPECT_TRUE(holds(GiveText{0, std::string(PMI_SET_TEXT_MAX, 'x')}));
    EXPECT_FALSE(holds(GiveText{0, std::string(PMI_SET_TEXT_MAX + 1, 'x')}));
    EXPECT_FALSE(holds(GiveText{PMI_SET_BCASTS_MAX, ""}));
    EXPECT_FALSE(holds(TakeTurn{PMI_SET_BCASTS_MAX, 1}));
    auto turn = parse_set_call(bytes_of(write_set_call(TakeTurn{3, uint64_t{5} << 32 | 7})));
    EXPECT_EQ(std::get<TakeTurn>(*turn).number, uint64_t{5} << 32 | 7);
}

TEST(SetBcastsCallTest, only_members_of_a_set_take_part_under_its_name)
{
    Sets sets;
    sets.grow(4);
    sets.add("app://a", first(2));
    EXPECT_EQ(code(sets, 3, JoinBcast{{"app://a", {}}, 0}), PMI_SET_WRONG);
    EXPECT_EQ(code(sets, 0, JoinBcast{{"app://b", {}}, 0}), PMI_SET_UNKNOWN);
    EXPECT_EQ(code(sets, 0, JoinBcast{{"mpix://ALL", {}}, 0}), PMI_SET_WRONG);
    EXPECT_EQ(code(sets, 0, JoinBcast{{"mpi://WORLD", first(5)}, 0}), PMI_SET_FOREIGN);
    EXPECT_EQ(code(sets, 0, JoinBcast{{"app://a", {}}, 0}), PMI_SET_OK);
    EXPECT_EQ(code(sets, 0, MoveSet{"app://a", "app://b"}), PMI_SET_OK);
    EXPECT_EQ(code(sets, 0, TakeTurn{0, 1}), PMI_SET_UNKNOWN) << "the name means nothing any more";
    EXPECT_EQ(code(sets, 0, JoinBcast{{"app://b", {}}, 0}), PMI_SET_OK);
    EXPECT_EQ(code(sets, 1, FreeSet{"app://b"}), PMI_SET_OK);
    EXPECT_EQ(code(sets, 0, GiveText{0, "text"}), PMI_SET_UNKNOWN);
}

/* ---- random runs ----------------------------------------------------------------------------- */

/* Processes make random calls.  Messages between them and the step manager are delayed, and in
 * order for each proxy. */
class RandomRun {
  public:
    explicit RandomRun(uint32_t seed) : random_(seed)
    {
        for (uint32_t uid = 0; uid < 5; uid++)
            processes_[uid].proxy_id = uid / 2;
    }

    void run(bool deaths)
    {
        for (int step = 0; step < 600; step++) {
            if (deaths && random_() % 300 == 0)
                die(random_() % 5);
            go();
        }
        giving_ = false;
        for (int step = 0; step < 20000 && !after_events(); step++)
            go();
        EXPECT_TRUE(after_events()) << "somebody waits for ever";
        const auto &longest = std::ranges::max_element(processes_, {}, [](const auto &p) {
                                  return p.second.delivered.size();
                              })->second.delivered;
        for (const auto &[uid, p] : processes_) {
            bool prefix =
                std::ranges::equal(p.delivered, std::span(longest).first(p.delivered.size()));
            EXPECT_TRUE(prefix) << "process " << uid << " has got something else";
            EXPECT_TRUE(p.delivered.size() == longest.size() || ended_.contains(uid))
                << "process " << uid;
        }
    }
    size_t delivered() const { return processes_.at(4).delivered.size(); }

  private:
    struct Process {
        uint64_t proxy_id = 0, count = 0, gate = PMI_ADAPT_GATE_SHUT, done = 0;
        bool joined = false, queries = false;
        std::vector<std::pair<uint64_t, std::string>> delivered;
    };

    void go()
    {
        uint64_t proxy_id = random_() % 3;
        switch (random_() % 4) {
            case 0:
            case 1:
                return call(random_() % 5);
            case 2:
                return up(proxy_id);
            default:
                return down(proxy_id);
        }
    }
    void call(uint32_t uid)
    {
        Process &p = processes_[uid];
        if (p.queries || ended_.contains(uid))
            return;
        if (!p.joined) {
            p.queries = true;
            to_manager_[p.proxy_id].push_back([this, uid, &p] {
                reply({{uid, 0, p.proxy_id},
                       bcasts_.join({uid, 0, p.proxy_id}, "set", first(5), 0, ended_)});
            });
            return;
        }
        p.count++;
        if (p.count >= p.gate && !(p.gate > 0 && p.gate <= p.done)) {
            p.queries = true;
            to_manager_[p.proxy_id].push_back([this, uid, &p] {
                if (auto answer = bcasts_.turn({uid, 0, p.proxy_id}, 0, p.count, ended_))
                    reply({{uid, 0, p.proxy_id}, *answer});
            });
        } else if (giving_ && random_() % 8 == 0 && first(5).first_without(ended_) == uid) {
            p.queries = true;
            to_manager_[p.proxy_id].push_back([this, uid, &p] {
                reply({{uid, 0, p.proxy_id},
                       bcasts_.give({uid, 0, p.proxy_id}, 0, std::to_string(++texts_), ended_)});
            });
        }
    }
    void reply(const SetReply &reply)
    {
        flush();
        Process &p = processes_[reply.caller.uid];
        to_proxy_[p.proxy_id].push_back(
            [this, &p, uid = reply.caller.uid, text = read(reply.answer)] {
                if (ended_.contains(uid))
                    return;
                p.queries = false;
                if (p.joined && !text.empty() && text != PENDING) {
                    p.delivered.push_back({p.count, text});
                    p.done = p.count;
                }
                p.joined = true;
            });
    }
    void flush()
    {
        for (const auto &order : bcasts_.take_orders()) {
            for (uint64_t proxy_id : order.proxy_ids)
                to_proxy_[proxy_id].push_back(
                    [this, proxy_id, o = order.order] { obey(proxy_id, o); });
        }
        for (const SetReply &late : bcasts_.take_replies())
            reply(late);
    }
    void obey(uint64_t proxy_id, const bcast_order &order)
    {
        uint64_t ceiling = 0;
        for (auto &[uid, p] : processes_) {
            if (p.proxy_id != proxy_id || ended_.contains(uid) ||
                (order.what == BCAST_SLOT && order.uid != uid))
                continue;
            ceiling = std::max(ceiling, p.count);
            if (order.what == BCAST_SLOT || order.what == BCAST_GATE)
                p.gate = order.value;
        }
        if (order.what != BCAST_FREEZE)
            return;
        ceiling++;
        for (auto &[uid, p] : processes_) {
            if (p.proxy_id == proxy_id)
                p.gate = ceiling;
        }
        to_manager_[proxy_id].push_back([this, proxy_id, order, ceiling] {
            bcasts_.frozen(proxy_id, {order.bcast, static_cast<uint32_t>(order.value), ceiling},
                           ended_);
            flush();
        });
    }
    void die(uint32_t uid)
    {
        if (ended_.size() == 4 || !ended_.insert(uid).second)
            return;
        bcasts_.without(uid, ended_);
        flush();
    }
    void up(uint64_t proxy_id) { deliver(to_manager_[proxy_id]); }
    void down(uint64_t proxy_id) { deliver(to_proxy_[proxy_id]); }
    static void deliver(std::deque<std::function<void()>> &queue)
    {
        if (queue.empty())
            return;
        auto next = std::move(queue.front());
        queue.pop_front();
        next();
    }
    bool after_events()
    {
        for (uint64_t proxy_id = 0; proxy_id < 3; proxy_id++) {
            if (!to_manager_[proxy_id].empty() || !to_proxy_[proxy_id].empty())
                return false;
        }
        return std::ranges::all_of(processes_, [&](const auto &entry) {
            const auto &[uid, p] = entry;
            return ended_.contains(uid) ||
                   (p.joined && !p.queries && p.gate == PMI_ADAPT_GATE_OPEN);
        });
    }

    std::mt19937 random_;
    std::map<uint32_t, Process> processes_;
    std::map<uint64_t, std::deque<std::function<void()>>> to_manager_, to_proxy_;
    SetBcasts bcasts_{1};
    Uids ended_;
    bool giving_ = true;
    int texts_ = 0;
};

TEST(SetBcastsRunTest, SB1_all_get_the_same_texts_in_the_same_calls)
{
    size_t delivered = 0;
    for (uint32_t seed = 0; seed < 300; seed++) {
        SCOPED_TRACE(seed);
        RandomRun run(seed);
        run.run(false);
        delivered += run.delivered();
    }
    EXPECT_GT(delivered, 500u);
}

TEST(SetBcastsRunTest, SB2_all_live_processes_get_the_same_and_none_waits_for_failed_ones)
{
    for (uint32_t seed = 0; seed < 300; seed++) {
        SCOPED_TRACE(seed);
        RandomRun(seed).run(true);
    }
}

}  // namespace
}  // namespace elastic
