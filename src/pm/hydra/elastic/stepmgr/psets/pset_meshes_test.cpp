/* Full meshes: processes that have had a rendezvous, alone and in random simulations of
 * rendezvous. */

#include "stepmgr/proto/payload_fixture.h"
#include "stepmgr/psets/pset_meshes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "stepmgr/psets/pset_rendezvous.h"

namespace elastic {
namespace {

using Uids = std::vector<uint32_t>;

SetMembers list(const Uids &uids)
{
    return *SetMembers::of_list(uids);
}

TEST(PsetMeshes, BeginWithARendezvous)
{
    PsetMeshes meshes;
    EXPECT_FALSE(meshes.hold(list({0, 1})));
    EXPECT_TRUE(meshes.join(list({2, 0, 1})));
    EXPECT_TRUE(meshes.hold(list({0, 1, 2})));
    EXPECT_TRUE(meshes.hold(list({2, 1}))) << "any of them, in any order";
    EXPECT_FALSE(meshes.hold(list({2, 3})));
}

TEST(PsetMeshes, GrowTogetherAsAWhole)
{
    PsetMeshes meshes;
    ASSERT_TRUE(meshes.join(list({0, 1})));
    ASSERT_TRUE(meshes.join(list({2, 3})));
    EXPECT_FALSE(meshes.join(list({0, 1, 2}))) << "0 does not know whether 3 knows it";
    EXPECT_FALSE(meshes.hold(list({0, 2})));
    EXPECT_TRUE(meshes.hold(list({0, 1})));
    EXPECT_TRUE(meshes.join(list({0, 1, 2, 3, 9})));
    EXPECT_TRUE(meshes.hold(list({9, 3, 0})));
}

TEST(PsetMeshes, AProcessThatLeftIsInNone)
{
    PsetMeshes meshes;
    ASSERT_TRUE(meshes.join(list({0, 1, 2})));
    meshes.disconnected(1);
    meshes.disconnected(7);
    EXPECT_TRUE(meshes.hold(list({0, 2})));
    EXPECT_TRUE(meshes.join(list({0, 2, 3}))) << "nobody else is left";
    for (uint32_t uid : {0, 2, 3})
        meshes.disconnected(uid);
    EXPECT_FALSE(meshes.hold(list({0, 2})));
}

/* Processes, each with several threads, make communicators of groups.  A process in a full mesh
 * with all others does so without a rendezvous, while others of the same group request one, or
 * already wait in one.  Some processes begin with an introduction to all others, each of which has
 * to decide before the new process sends to it.  Replies take any time. */
class Simulation {
  public:
    explicit Simulation(unsigned seed) : random_(seed), seed_(seed) {}

    void run()
    {
        for (int i = 0; i < 4; i++)
            start();
        for (int step = 0; step < 3000; step++) {
            uint32_t what = pick(100);
            if (what < 1 && alive_.size() < 7)
                start();
            else if (what < 2 && alive_.size() > 3)
                end(any());
            else if (what < 40)
                begin();
            else if (what < 70)
                come();
            else
                deliver();
            check();
        }
        drain();
        for (const Creation &creation : creations_)
            require(creation.done.size() + creation.failed.size() == creation.group.size(),
                    "nobody waits at the end");
        EXPECT_GT(skipped, 0) << "seed " << seed_;
        EXPECT_GT(released, 0) << "seed " << seed_;
    }

    int skipped = 0, released = 0, introduced = 0, waited = 0;

  private:
    struct Process {
        std::set<uint32_t> knows, mesh;
        std::set<uint32_t> introduced_to;       /* processes that have to decide first */
        std::set<uint32_t> decided;     /* processes for which it has decided */
        std::deque<std::pair<uint32_t, std::string>> answers;   /* by query */
    };
    struct Creation {
        Uids group;
        std::string tag;
        std::set<uint32_t> skips, done, failed;
        std::set<uint32_t> awaits;      /* processes whose decision it awaits */
        std::map<uint32_t, uint32_t> queries;   /* by uid: the query without a reply */
        Uids to_come;
        std::map<uint32_t, int> rounds;
    };

    uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    uint32_t any()
    {
        return *std::next(alive_.begin(), pick(static_cast<uint32_t>(alive_.size())));
    }
    void require(bool holds, const char *what) { ASSERT_TRUE(holds) << what << "; seed " << seed_; }

    void start()
    {
        uint32_t uid = next_++;
        alive_.insert(uid);
        processes_[uid].knows = {uid};
        bcs_.give(uid, "addr");
        if (pick(2))
            introduce(uid);
    }
    /* Introduces the process to all others, if these are in a full mesh. */
    void introduce(uint32_t uid)
    {
        Process &process = processes_[uid];
        Uids others;
        std::ranges::copy_if(alive_, std::back_inserter(others),
                             [&](uint32_t other) { return other != uid; });
        Uids all = others;
        all.push_back(uid);
        if (others.empty() || !rendezvous_.know_each_other(list(others)))
            return;
        introduced++;
        require(rendezvous_.introduce(list(all), bcs_), "they are a full mesh");
        process.introduced_to.insert(others.begin(), others.end());
        process.knows.insert(others.begin(), others.end());
        process.mesh.insert(all.begin(), all.end());
        take_replies();
    }
    /* The process ends; it may have entered a rendezvous and sent messages before. */
    void end(uint32_t uid)
    {
        alive_.erase(uid);
        bcs_.disconnected(uid);
        rendezvous_.without(uid);
        for (Creation &creation : creations_) {
            std::erase(creation.to_come, uid);
            if (std::ranges::find(creation.group, uid) == creation.group.end())
                continue;
            creation.queries.erase(uid);
            creation.awaits.erase(uid);
            if (!creation.done.contains(uid))
                creation.failed.insert(uid);
        }
        take_replies();
    }
    bool has_ended_members(const Creation &creation) const
    {
        return !std::ranges::all_of(creation.group,
                                    [&](uint32_t uid) { return alive_.contains(uid); });
    }
    void begin()
    {
        Uids group(alive_.begin(), alive_.end());
        std::ranges::shuffle(group, random_);
        if (pick(2))
            group.resize(2 + pick(static_cast<uint32_t>(group.size()) - 1));
        if (creations_.size() - over_ < 5)
            creations_.push_back(
                {group, "tag " + std::to_string(creations_.size()), {}, {}, {}, {}, {}, group, {}});
    }
    Creation *any_to_come()
    {
        std::vector<Creation *> waiting;
        for (Creation &creation : creations_) {
            if (!creation.to_come.empty())
                waiting.push_back(&creation);
        }
        return waiting.empty() ? nullptr : waiting[pick(static_cast<uint32_t>(waiting.size()))];
    }
    void come()
    {
        Creation *creation = any_to_come();
        if (!creation)
            return;
        uint32_t uid = creation->to_come[pick(static_cast<uint32_t>(creation->to_come.size()))];
        std::erase(creation->to_come, uid);
        const Process &process = processes_.at(uid);
        auto is_met = [&](uint32_t other) { return process.mesh.contains(other); };
        if (std::ranges::all_of(creation->group, is_met)) {
            skipped++;
            creation->skips.insert(uid);
            decide(*creation, uid);
            await_decisions(*creation, uid);
        } else {
            send_request(*creation, uid, 1);
        }
    }
    void send_request(Creation &creation, uint32_t uid, int round)
    {
        const Process &process = processes_.at(uid);
        uint32_t question = ++questions_;
        bool knows = std::ranges::all_of(
            creation.group, [&](uint32_t other) { return process.knows.contains(other); });
        creation.queries[uid] = question;
        creation.rounds[uid] = round;
        requested_[question] = &creation;
        if (has_ended_members(creation)) {
            answer(uid, question, SetAnswer::error(PMI_SET_MEMBER_ENDED, ""));
            return;
        }
        RendezvousMembers call{std::to_string(round) + " " + creation.tag, "", list(creation.group),
                               knows};
        if (auto text = rendezvous_.come({uid, question, 0}, call, bcs_))
            answer(uid, question, *text);
        take_replies();
    }
    void answer(uint32_t uid, uint32_t question, const std::string &text)
    {
        processes_.at(uid).answers.push_back({question, text});
    }
    void take_replies()
    {
        for (const SetReply &reply : rendezvous_.take_replies())
            answer(reply.caller.uid, reply.caller.id, reply.answer);
    }
    void deliver()
    {
        uint32_t uid = any();
        Process &process = processes_.at(uid);
        if (process.answers.empty())
            return;
        auto [question, text] = process.answers.front();
        process.answers.pop_front();
        Creation &creation = *requested_.at(question);
        creation.queries.erase(uid);
        if (number_at(text, 0) != PMI_SET_OK) {
            creation.failed.insert(uid);
            return;
        }
        uint32_t bcs = number_at(text, 4);
        bool mesh = number_at(text, text.size() - 4) == 1;
        process.knows.insert(creation.group.begin(), creation.group.end());
        if (mesh)
            process.mesh.insert(creation.group.begin(), creation.group.end());
        if (bcs > 0) {
            require(creation.rounds[uid] == 1 && !mesh, "there are two rounds");
            send_request(creation, uid, 2);
        } else {
            released += mesh && creation.queries.size() + creation.to_come.size() + 1 ==
                                    creation.group.size();
            decide(creation, uid);
            if (!mesh)
                processes_.at(uid).introduced_to =
                    without(processes_.at(uid).introduced_to, creation.group);
            await_decisions(creation, uid);
        }
    }
    static std::set<uint32_t> without(std::set<uint32_t> uids, const Uids &others)
    {
        for (uint32_t other : others)
            uids.erase(other);
        return uids;
    }
    /* Decides for the processes that were introduced to this one. */
    void decide(Creation &creation, uint32_t uid)
    {
        for (uint32_t other : creation.group) {
            if (processes_.at(other).introduced_to.contains(uid))
                processes_.at(uid).decided.insert(other);
        }
    }
    bool awaits_decision(const Creation &creation, uint32_t uid)
    {
        const std::set<uint32_t> &to = processes_.at(uid).introduced_to;
        return std::ranges::any_of(creation.group, [&](uint32_t other) {
            return to.contains(other) && !processes_.at(other).decided.contains(uid);
        });
    }
    /* Fails if a member has ended. */
    void await_decisions(Creation &creation, uint32_t uid)
    {
        bool awaits = awaits_decision(creation, uid);
        waited += awaits && !creation.awaits.contains(uid);
        if (awaits && has_ended_members(creation)) {
            creation.awaits.erase(uid);
            creation.failed.insert(uid);
        } else if (awaits) {
            creation.awaits.insert(uid);
        } else {
            creation.awaits.erase(uid);
            complete(creation, uid);
        }
    }
    /* The process may exchange messages with all others now. */
    void complete(Creation &creation, uint32_t uid)
    {
        creation.done.insert(uid);
        for (uint32_t other : creation.group) {
            require(!alive_.contains(other) || processes_.at(other).knows.contains(uid),
                    "nobody sends to a process of another job");
            require(processes_.at(uid).knows.contains(other), "nor waits for one");
        }
    }
    bool is_answered(uint32_t uid, uint32_t question) const
    {
        return std::ranges::any_of(processes_.at(uid).answers,
                                   [&](const auto &one) { return one.first == question; });
    }
    void check()
    {
        over_ = 0;
        for (Creation &creation : creations_) {
            for (uint32_t uid : std::set<uint32_t>(creation.awaits))
                await_decisions(creation, uid);
            bool all_have_come = creation.to_come.empty(), some_skip = !creation.skips.empty();
            over_ += all_have_come && creation.queries.empty() && creation.awaits.empty();
            for (const auto &[uid, question] : creation.queries) {
                if (some_skip)
                    require(is_answered(uid, question),
                            "nobody waits for one that does not come to a rendezvous");
            }
        }
    }
    void drain()
    {
        while (any_to_come())
            come();
        for (bool more = true; std::exchange(more, false);) {
            for (uint32_t uid : alive_)
                more = more || !processes_.at(uid).answers.empty();
            if (more)
                deliver();
            check();
        }
    }

    std::mt19937 random_;
    unsigned seed_;
    uint32_t next_ = 0, questions_ = 0;
    size_t over_ = 0;
    std::set<uint32_t> alive_;
    std::map<uint32_t, Process> processes_;
    std::deque<Creation> creations_;
    std::map<uint32_t, Creation *> requested_;
    PsetBcTable bcs_;
    PsetRendezvous rendezvous_{64};
};

TEST(PsetMeshesSimulation, SI8_no_process_waits_for_one_without_rendezvous)
{
    int introduced = 0, waited = 0;
    for (unsigned seed = 1; seed <= 40; seed++) {
        Simulation simulation(seed);
        simulation.run();
        if (testing::Test::HasFatalFailure())
            return;
        introduced += simulation.introduced;
        waited += simulation.waited;
    }
    EXPECT_GT(introduced, 40);
    EXPECT_GT(waited, 40);
}

}  // namespace
}  // namespace elastic
