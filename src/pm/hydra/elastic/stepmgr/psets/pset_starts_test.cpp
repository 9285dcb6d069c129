/*
 * SR1, SA1: processes begin to use MPI at random.  Messages of one proxy arrive in order, those of
 * different proxies in any order.  A caller does not get "starting" if all had begun before it
 * queried, because a message may have notified it of that.  Nor does it get "running" while a
 * process has not begun.
 */

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "stepmgr/proto/payload_fixture.h"
#include "stepmgr/sim/fake_mpiexec.h"
#include "stepmgr/proto/pset_call.h"

namespace elastic {
namespace {

constexpr uint32_t PROXIES = 3, PROCESSES = 2 * PROXIES;
const std::string NAME = "app://all";

class StartsRun {
  public:
    explicit StartsRun(uint64_t seed) : random_(seed)
    {
        EXPECT_EQ(mpiexec_.create(), "");
        mpiexec_.start_group(0, {"a", "a", "b", "b", "c", "c"});
        begun_.insert(0);
        std::vector<uint32_t> all(PROCESSES);
        for (uint32_t uid = 0; uid < PROCESSES; uid++)
            all[uid] = uid;
        send_request(0, write_set_call(MakeFromList{NAME, *SetMembers::of_list(all)}));
    }
    /* Returns the number of replies with each state. */
    std::map<uint32_t, int> run()
    {
        for (int i = 0; i < 400; i++)
            act();
        for (uint32_t uid = 0; uid < PROCESSES; uid++)
            begun_.insert(uid);
        while (deliver_one())
            continue;
        EXPECT_TRUE(requested_.empty()) << "all are answered";
        lookup(0);
        while (deliver_one())
            continue;
        EXPECT_EQ(last_, uint32_t{PMI_SET_RUNNING});
        EXPECT_EQ(mpiexec_.status().at("unexpected"), 0);
        return notified_;
    }

  private:
    struct Proxy {
        std::deque<SentMessage> down;
        std::deque<std::string> up;     /* payloads of REPORT_STARTED, and "" before a call */
        std::deque<std::string> calls;
        bool notifies = false;  /* notifies others that it has begun */
        std::set<uint32_t> known;
    };

    uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    void send_request(uint32_t uid, const std::string &call)
    {
        Proxy &proxy = proxies_[uid / 2];
        notice(proxy, uid);    /* the proxy reads earlier messages */
        proxy.up.push_back("");
        proxy.calls.push_back(write_set_report(uid, ++ids_[uid], call));
    }
    void lookup(uint32_t uid)
    {
        send_request(uid, write_set_call(LookupSet{NAME}));
        requested_[{uid, ids_[uid]}] = begun_.size() == PROCESSES;
    }
    /* The proxy reads the first line of a process. */
    void notice(Proxy &proxy, uint32_t uid)
    {
        if (begun_.contains(uid) && proxy.notifies && proxy.known.insert(uid).second)
            proxy.up.push_back(write_started({0, {uid}}));
    }
    void act()
    {
        uint32_t uid = pick(PROCESSES);
        switch (pick(8)) {
            case 0:
                if (pick(12) == 0)
                    begun_.insert(uid);
                break;
            case 1:
                if (pick(4) == 0)
                    notice(proxies_[uid / 2], uid);
                break;
            case 2:
                if (begun_.contains(uid))
                    lookup(uid);
                break;
            default:
                deliver_one();
        }
    }
    void take_sent()
    {
        for (; sent_ < mpiexec_.sent.size(); sent_++)
            proxies_[static_cast<size_t>(mpiexec_.sent[sent_].proxy)].down.push_back(
                mpiexec_.sent[sent_]);
    }
    bool deliver_one()
    {
        take_sent();
        uint32_t first = pick(PROXIES);
        for (uint32_t i = 0; i < PROXIES; i++) {
            uint32_t number = (first + i) % PROXIES;
            Proxy &proxy = proxies_[number];
            if (!proxy.up.empty() && (pick(2) || proxy.down.empty())) {
                rise(static_cast<int>(number), proxy);
                return true;
            }
            if (!proxy.down.empty()) {
                SentMessage message = proxy.down.front();
                proxy.down.pop_front();
                arrive(number, proxy, message);
                return true;
            }
        }
        return false;
    }
    void rise(int number, Proxy &proxy)
    {
        std::string report = proxy.up.front();
        proxy.up.pop_front();
        if (!report.empty())
            return mpiexec_.report(0, number, REPORT_STARTED, 0, report);
        std::string call = proxy.calls.front();
        proxy.calls.pop_front();
        mpiexec_.report(0, number, REPORT_SET_CALL, 0, call);
    }
    void arrive(uint32_t number, Proxy &proxy, const SentMessage &message)
    {
        StartedReport started;
        if (message.command == STEP_SET_ANSWER)
            return take_answer(message.payload);
        if (message.command == STEP_STARTS)
            std::memcpy(&started.number, message.payload.data(), sizeof started.number);
        else if (message.command != STEP_SETS)
            return;
        proxy.notifies = true;
        for (uint32_t uid = 2 * number; uid < 2 * number + 2; uid++) {
            if (begun_.contains(uid) && proxy.known.insert(uid).second)
                started.ranks.push_back(uid);
        }
        proxy.up.push_back(write_started(started));
    }
    void take_answer(const std::string &payload)
    {
        auto requested = requested_.find({number_at(payload, 0), number_at(payload, 4)});
        if (requested == requested_.end())
            return;             /* reply that the set was made */
        last_ = number_at(payload, 16 + NAME.size());
        notified_[last_]++;
        EXPECT_FALSE(requested->second && last_ == PMI_SET_STARTING)
            << "all had begun before its query";
        EXPECT_FALSE(begun_.size() < PROCESSES && last_ == PMI_SET_RUNNING) << "one has not begun";
        requested_.erase(requested);
    }

    std::mt19937_64 random_;
    FakeMpiexec mpiexec_;
    std::set<uint32_t> begun_;  /* and may have notified any process of that */
    std::map<uint32_t, Proxy> proxies_;
    std::map<uint32_t, uint32_t> ids_;
    std::map<std::pair<uint32_t, uint32_t>, bool> requested_;   /* value: whether all had begun */
    std::map<uint32_t, int> notified_;
    uint32_t last_ = 0;
    size_t sent_ = 0;
};

TEST(SetStartsRunTest, SR1_no_notification_precedes_the_start_of_its_sender)
{
    std::map<uint32_t, int> notified;
    for (uint64_t seed = 1; seed <= 300 && !HasFailure(); seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        for (const auto &[state, times] : StartsRun(seed).run())
            notified[state] += times;
    }
    EXPECT_GT(notified[PMI_SET_STARTING], 1000);
    EXPECT_GT(notified[PMI_SET_RUNNING], 300);
}

}  // namespace
}  // namespace elastic
