/*
 * Jobs that change through process sets, from seeds: processes that query, accept, decline,
 * initialise, wait in a rendezvous and end, a user that requests sizes, and failures, in any order
 * that is possible.  A seed gives the same history each time.  ELASTIC_SIMULATION_SEEDS is their
 * number: twice as many.
 *
 * Invariants:
 *   SR3  a change is notified when all its joining processes wait, and at once where nobody joins
 *   SR4  to one process, and to another one only if that has ended; it is the same change then
 *        (SF1)
 *   SR7  joining processes return when their change is accepted, and only then
 *   SR9  at the end of a removal its processes have ended, at that of an addition its processes
 *        have initialised
 *   SR2  boards show a change as long as a process can be notified of it, and no other change
 *   SI8  no process waits in a rendezvous with an ended member; a process that does not know
 *        a member is not notified that no rendezvous with it is needed, unless one of the two was
 *        introduced to the other
 *   SA1  a query for a set that was made before never finds it unknown, even if the notified
 *        process has made it by itself and its message is in transit for as long as no process
 *        queries
 *   SL3  a process that leaves with an accepted removal may end in any way, and the job continues
 *   each request has one end; the size is that of the processes that run, and a replay of the log
 *   gives it, with the epoch; nothing is unexpected; the job ends once
 */

#include <cstdlib>

#include "stepmgr/psets/pset_change_simulation_fixture.h"

namespace elastic {
namespace {

class SetsJob : SimulatedPsetJob {
  public:
    explicit SetsJob(uint64_t seed) : SimulatedPsetJob(seed) {}

    PsetJobOutcome run()
    {
        mpiexec_.config.range_min = 1;  /* range in which requests of the program are granted */
        mpiexec_.config.range_max = 6;
        EXPECT_EQ(mpiexec_.create(), "");
        uint32_t n = 1 + pick(4);
        add_group(0, 0, n);
        launched_.resize(n);
        std::iota(launched_.begin(), launched_.end(), 0u);
        for (uint32_t uid = 0; uid < n; uid++)
            processes_[uid].stage = Stage::RUNS;
        send_request(0, BecomeDynamic{}, Question::NOTHING);
        for (int i = 0; i < 360 && running() > 0 && !testing::Test::HasFailure(); i++) {
            act();
            lookup();
        }
        for (auto &[uid, process] : processes_) {
            if (process.stage != Stage::ENDED)
                end(uid, process.doomed ? 9 : 0);
            lookup();
        }
        require(mpiexec_.count_events("ended") == 1, "the job ends once");
        require(request_ == 0, "each request has an end");
        outcome_.offers_seen = offers_seen_;
        return outcome_;
    }

  private:
    void act()
    {
        uint32_t uid = any(Stage::RUNS), joining_process = any(Stage::STARTS),
                 may_exit = any(Stage::LET_GO);
        switch (pick(20)) {
            case 0: case 1:
                resize();
                break;
            case 2: case 3: case 4: case 5: case 6:
                if (joining_process != UINT32_MAX && !processes_.at(joining_process).doomed) {
                    processes_.at(joining_process).stage = Stage::ENTERS;
                    send_request(joining_process,
                                 EnterJob{"addr " + std::to_string(joining_process)},
                                 Question::ENTER);
                } else {
                    await_accept(any(Stage::PREPARED));
                }
                break;
            case 7: case 8:
                send_request(uid, GetChange{{"", bound()}, false}, Question::CHANGE);
                break;
            case 9: case 10:
                answer_change();
                break;
            case 11: case 12:
                if (may_exit != UINT32_MAX && !processes_.at(may_exit).doomed) {
                    processes_.at(may_exit).stage = Stage::RUNS;
                    send_request(may_exit, HasEntered{}, Question::NOTHING);
                }
                break;
            case 13:
                join_rendezvous(uid);
                break;
            case 14:
                end_one(uid);
                break;
            case 16:
                send_request(uid, RequestOp{"mpix://WORLD/0", static_cast<pmi_set_op>(1 + pick(6)),
                                       pick(3), pick(3)},
                             Question::REQUEST);
                break;
            case 17:
                query(uid);
                break;
            case 18:
                make_own();
                break;
            case 19:
                if (!own_.empty())
                    send_request(uid, LookupSet{own_}, Question::OWN);
                break;
            case 15:
                if (pick(4) == 0)
                    mpiexec_.send_request(1, R"({"id":1,"op":"cancel"})");
                break;
        }
    }
    /* The notified process makes a set; its proxy does not read the report yet. */
    void make_own()
    {
        if (sent_to_ == UINT32_MAX || processes_.at(sent_to_).stage != Stage::RUNS ||
            number_ == 0 || number_ == end_)
            return;
        on_its_way_of_ = sent_to_;
        own_ = "mpix://op/" + std::to_string(sent_to_) + "." + std::to_string(number_);
        on_its_way_.push_back(write_set_call(
            MadeSet{number_++, PMI_SET_OP_UNION, {}, *SetMembers::of_list(std::vector{sent_to_})}));
        outcome_.own++;
    }
    void query(uint32_t uid)
    {
        const std::string bound = "mpix://WORLD/0";
        if (pick(2))
            send_request(uid, CloseOp{bound}, Question::NOTHING);
        else
            send_request(uid, QueryOp{{"mpi://SELF", SetMembers::of_list(std::vector{uid})}, bound},
                         Question::QUERY);
    }
    void resize()
    {
        uint32_t size = 1 + pick(6);
        mpiexec_.send_request(1, R"({"id":1,"op":"resize","size":)" + std::to_string(size) + "}");
    }
    void take_launches()
    {
        if (mpiexec_.launches.size() > launches_) {
            const LaunchCall &launch = mpiexec_.launches.at(launches_++);
            add_group(launch.group, launch.first_uid, static_cast<uint32_t>(launch.count));
            joining_group_ = launch.group;
        }
    }
    std::optional<SetMembers> bound()
    {
        if (pick(2))
            return std::nullopt;
        auto uids = all_in(Stage::RUNS);
        std::erase_if(uids, [&](uint32_t) { return pick(4) == 0; });
        return SetMembers::of_list(uids);
    }
    void answer_change()
    {
        if (sent_to_ == UINT32_MAX || processes_.at(sent_to_).stage != Stage::RUNS)
            return;
        uint32_t uid = std::exchange(sent_to_, UINT32_MAX);
        number_ = 0;
        bool accepts = pick(4) > 0;
        if (tag_ == request_)   /* the change may be over */
            accepted_ = accepts;
        if (accepts)
            send_request(uid, AcceptChange{tag_, {}}, Question::NOTHING);
        else
            send_request(uid, DeclineChange{tag_}, Question::NOTHING);
    }
    /* Processes of a removal leave; others seldom, and joining ones may be killed. */
    void end_one(uint32_t uid)
    {
        uint32_t doomed = UINT32_MAX;
        for (const auto &[other, process] : processes_) {
            if (process.doomed && process.stage != Stage::ENDED)
                doomed = other;
        }
        uint32_t joining_process =
            any(std::array{Stage::PREPARED, Stage::WAITS, Stage::LET_GO, Stage::LET_GO}[pick(4)]);
        if (doomed != UINT32_MAX)
            end(doomed, 9);
        else if (!leaving_.empty() && accepted_)
            end(leaving_[pick(static_cast<uint32_t>(leaving_.size()))],
                pick(3) == 0 ? 9 : pick(2) << 8);
        else if (joining_process != UINT32_MAX && pick(8) == 0)
            end(joining_process, 9);
        else if (pick(6) == 0)
            end(uid, 0);
    }
    void join_rendezvous(uint32_t uid)
    {
        std::vector<uint32_t> all = all_in(Stage::RUNS);
        if (!processes_.at(uid).rendezvous_with.empty() || all.size() < 2)
            return;
        processes_.at(uid).rendezvous_with = all;
        bool knows = std::ranges::all_of(all, [&](uint32_t other) {
            return other == uid || processes_.at(uid).knows.contains(other);
        });
        send_request(
            uid, RendezvousMembers{"tag", std::to_string(uid), *SetMembers::of_list(all), knows},
            Question::MEET);
    }

    /* ---- what came of it ---- */

    void lookup()
    {
        const Json status = mpiexec_.status();  /* the query may cause events */
        for (; killed_ < mpiexec_.killed.size(); killed_++) {
            for (auto &[uid, process] : processes_)
                process.doomed = process.doomed || process.group == mpiexec_.killed[killed_];
        }
        for (; logged_ < mpiexec_.logged.size(); logged_++)
            observe_event(mpiexec_.logged[logged_]);
        take_launches();
        take_messages();
        observe_offer();
        for (const auto &[uid, process] : processes_) {
            for (const auto &[id, question] : process.questions)
                require(question != Question::REQUEST || request_ != 0,
                        "SC6: what waits has something to wait for");
        }
        std::erase_if(leaving_,
                      [&](uint32_t uid) { return processes_.at(uid).stage == Stage::ENDED; });
        for (const auto &[uid, process] : processes_) {
            for (uint32_t other : process.rendezvous_with)
                require(process.stage == Stage::ENDED || process.doomed ||
                            processes_.at(other).stage != Stage::ENDED,
                        "a process without a rendezvous does not wait: " + std::to_string(uid) +
                            " for " + std::to_string(other));
        }
        require(status.at("unexpected") == 0, "nothing is unexpected");
        require(status.at("state") != "ending" || members() == 0, "SL3");
        if (status.at("state") == "ending")
            return;
        require(request_ != 0 ? status.at("size") >= members() : status.at("size") == members(),
                "the size is that of the processes that run");
        require(status.at("size") == size_ && status.at("epoch") == epoch_,
                "who follows the log knows as much");
    }
    void take_messages()
    {
        for (; sent_ < mpiexec_.sent.size(); sent_++) {
            const SentMessage message = mpiexec_.sent[sent_];
            if (message.command == STEP_INVALIDATE || message.command == STEP_BY_SETS)
                mpiexec_.report(message.group, message.proxy, REPORT_INVALIDATED, 0,
                                message.payload);
            if (message.command == STEP_SETS && message.group == 0)
                mpiexec_.report(0, 0, REPORT_STARTED, 0, write_started({0, launched_}));
            if (message.command == STEP_SYNC) {
                if (number_at(message.payload, sizeof(uint64_t)) == on_its_way_of_)
                    pass_on();
                outcome_.synced++;
                std::string number = message.payload.substr(0, sizeof(uint64_t));
                mpiexec_.report(message.group, message.proxy, REPORT_SYNCED, 0, number);
            }
            if (message.command == STEP_OFFER)
                size_source_[message.group] = number_at(message.payload, 0);
            else if (message.command == STEP_SET_ANSWER)
                observe_answer(message.payload);
        }
    }
    /* By a query without effect of one member after the other. */
    void observe_offer()
    {
        std::vector<uint32_t> uids;
        for (const auto &[uid, process] : processes_) {
            if (is_member(process))
                uids.push_back(uid);
        }
        if (uids.empty())
            return;
        uint32_t uid = uids[lookups_++ % uids.size()];
        offer_seen_ = size_source_[processes_.at(uid).group] != 0;
        send_request(uid, GetChange{{"", {}}, true}, Question::LOOK);
        take_messages();
    }
    bool is_member(const Process &process) const
    {
        return process.stage == Stage::RUNS &&
               (process.group == 0 || complete_.contains(process.group));
    }
    /* Processes of an addition belong to it when it is complete. */
    size_t members() const
    {
        size_t n = 0;
        for (const auto &[uid, process] : processes_)
            n += is_member(process);
        return n;
    }
    void observe_event(const Json &event)
    {
        std::string name = event.at("event");
        if (name == "requested") {
            require(request_ == 0, "one at a time");
            request_ = event.at("request");
            joins_ = event.at("joining") > 0;
            accepted_ = false;
        } else if (name == "accepted") {
            accepted_ = true;
        } else if (name == "started") {
            size_ = event.at("size");
        } else if (name == "left") {
            require(request_ == 0, "not while a change is under way");
            observe_world(event);
        } else if (name == "committed" || name == "withdrawn" || name == "failed") {
            if (name == "committed")
                observe_world(event);
            require(event.at("request") == request_, "what ends was under way");
            observe_end(name);
            request_ = 0;
            sent_to_ = accepted_ ? UINT32_MAX : sent_to_;
        }
    }
    void observe_world(const Json &event)
    {
        require(event.at("epoch") == ++epoch_, "epochs follow each other");
        require(event.at("old_size") == size_, "nobody comes or goes between two events");
        size_t leaving = event.at("leaving").size(), joining = event.value("joining", 0u);
        size_ = event.at("size");
        require(size_ + leaving == event.at("old_size").get<size_t>() + joining, "all are named");
    }
    void observe_end(const std::string &name)
    {
        if (name == "committed" && joins_) {
            outcome_.added++;
            require(accepted_, "SR7");
            complete_.insert(joining_group_);
            for (const auto &[uid, process] : processes_) {
                bool waits = process.stage != Stage::RUNS && process.stage != Stage::ENDED;
                require(process.group != joining_group_ || !waits, "SR9: all have initialised");
            }
        } else if (name == "committed") {
            outcome_.removed++;
            for (uint32_t uid : leaving_)
                require(processes_.at(uid).stage == Stage::ENDED, "SR9: all have ended");
        } else {
            (name == "failed" ? outcome_.failed : outcome_.withdrawn)++;
            outcome_.declined += mpiexec_.last_event(name).at("reason") == "declined";
        }
        leaving_.clear();
        delta_.clear();
    }
    void observe_answer(const std::string &payload)
    {
        uint32_t uid = number_at(payload, 0), code = number_at(payload, 8);
        Process &process = processes_.at(uid);
        auto question = process.questions.find(number_at(payload, 4));
        if (process.stage == Stage::ENDED)
            return;
        ASSERT_NE(question, process.questions.end()) << "one answer to each; seed " << seed_;
        if (question->second == Question::ENTER) {
            if (code == PMI_SET_OK && process.stage == Stage::ENTERS)
                prepare(uid, payload.substr(16));
        } else if (question->second == Question::AWAIT) {
            require(code == PMI_SET_OK && accepted_ && process.stage == Stage::WAITS, "SR7");
            process.stage = Stage::LET_GO;
        } else if (question->second == Question::MEET) {
            observe_rendezvous(uid, payload.substr(8));
        } else if (question->second == Question::OWN) {
            require(code == PMI_SET_OK, "SA1: a set that was made is known");
        } else if (question->second == Question::LOOK) {
            require(code == PMI_SET_OK && (number_at(payload, 12) != 0) == offer_seen_,
                    "SR2: none is left untold");
            offers_seen_ += offer_seen_;
        } else if (question->second == Question::CHANGE && code == PMI_SET_OK &&
                   number_at(payload, 12) != 0) {
            observe_change(uid, payload.substr(16));
        } else if (question->second == Question::REQUEST || question->second == Question::QUERY) {
            require(code == PMI_SET_OK || process.doomed, "SC6");
            if (code == PMI_SET_OK)
                observe_done(payload.substr(12), question->second == Question::REQUEST);
        }
        process.questions.erase(question);
    }
    /* u32 n, n * (u32 uid, text business card), before it waits. */
    void prepare(uint32_t uid, const std::string &bcs)
    {
        Process &process = processes_.at(uid);
        size_t at = sizeof(uint32_t);
        for (uint32_t i = 0; i < number_at(bcs, 0); i++) {
            process.prepared_for.insert(number_at(bcs, at));
            at += 2 * sizeof(uint32_t) + number_at(bcs, at + sizeof(uint32_t));
        }
        process.knows.insert(process.prepared_for.begin(), process.prepared_for.end());
        for (const auto &[other, its] : processes_) {
            if (its.group == process.group)     /* they share a world */
                process.knows.insert(other);
        }
        process.stage = Stage::PREPARED;
    }
    void await_accept(uint32_t uid)
    {
        if (uid == UINT32_MAX || processes_.at(uid).doomed)
            return;
        processes_.at(uid).stage = Stage::WAITS;
        send_request(uid, AwaitAccept{!processes_.at(uid).prepared_for.empty() && pick(8) > 0},
                     Question::AWAIT);
    }
    /* u32 code, u32 n, n * text business card, u32 whether they need no rendezvous. */
    void observe_rendezvous(uint32_t uid, const std::string &answer)
    {
        Process &process = processes_.at(uid);
        bool met = number_at(answer, 0) == PMI_SET_OK,
             needless = met && number_at(answer, answer.size() - 4) == 1;
        const std::vector<uint32_t> rendezvous_with = std::exchange(process.rendezvous_with, {});
        (met ? outcome_.meetings : outcome_.failed_rendezvous)++;
        if (met)
            process.knows.insert(rendezvous_with.begin(), rendezvous_with.end());
        for (uint32_t other : rendezvous_with) {
            const Process &its = processes_.at(other);
            if (!needless || other == uid)
                continue;
            bool was_introduced =
                its.prepared_for.contains(uid) || process.prepared_for.contains(other);
            outcome_.introduced += was_introduced;
            require(was_introduced || its.knows.contains(uid) || its.stage == Stage::ENDED,
                    "SI8: nobody sends to a process of another job");
        }
    }
    /* Text delta, u32 tag. */
    void observe_change(uint32_t uid, const std::string &notified)
    {
        std::string delta = notified.substr(4, number_at(notified, 0));
        uint32_t tag = number_at(notified, 4 + delta.size());
        require(tag == request_, "the announced change is under way");
        require(sent_to_ == UINT32_MAX || tag != tag_, "SR4: to one process");
        require(delta_.empty() || delta_ == delta, "SF1: the same change");
        sent_to_ = uid;
        tag_ = tag;
        std::memcpy(&number_, notified.data() + notified.size() - 2 * sizeof number_,
                    sizeof number_);
        end_ = number_ + PMI_SET_GRANT;
        for (const auto &[other, process] : processes_)
            require(!joins_ || process.group != joining_group_ || process.stage == Stage::WAITS,
                    "SR3: all wait");
        if (delta_.empty() && !joins_)
            read_leaving(delta);
        delta_ = delta;
    }
    /* u32 op, u32 n, n * text name: one of them is of the change under way, unless it is over or an
     * earlier one. */
    void observe_done(const std::string &done, bool was_requested)
    {
        size_t at = 8;
        (number_at(done, 0) == 0 ? outcome_.refused : outcome_.granted) += was_requested;
        for (uint32_t i = 0; i < number_at(done, 4); i++) {
            std::string name = done.substr(at + 4, number_at(done, at));
            at += 4 + name.size();
            if (name != "mpix://rc/" + std::to_string(request_))
                continue;
            require(accepted_, "SC6: notified and accepted in one");
            if (!joins_ && leaving_.empty())
                read_leaving(name);
        }
    }
    void read_leaving(const std::string &name)
    {
        const Json answer = mpiexec_.send_request(1, R"({"id":1,"op":"psets"})").at(0);
        for (const Json &set : answer.at("psets")) {
            if (set.at("name") != name)
                continue;
            auto uids = parse_ranks(set.at("uids").get<std::string>(), ',');
            for (int uid : uids.value())
                leaving_.push_back(static_cast<uint32_t>(uid));
        }
        require(!leaving_.empty(), "a removal has processes");
    }
};

TEST(SetChangeSimulationTest, seeds)
{
    const char *text = getenv("ELASTIC_SIMULATION_SEEDS");
    uint64_t seeds = 2 * (text ? strtoull(text, nullptr, 10) : 100);
    PsetJobOutcome sum;
    for (uint64_t seed = 1; seed <= seeds && !HasFailure(); seed++) {
        PsetJobOutcome outcome = SetsJob(seed).run();
        sum.added += outcome.added;
        sum.removed += outcome.removed;
        sum.declined += outcome.declined;
        sum.orphaned += outcome.orphaned;
        sum.failed += outcome.failed;
        sum.withdrawn += outcome.withdrawn;
        sum.meetings += outcome.meetings;
        sum.failed_rendezvous += outcome.failed_rendezvous;
        sum.granted += outcome.granted;
        sum.refused += outcome.refused;
        sum.offers_seen += outcome.offers_seen;
        sum.own += outcome.own;
        sum.synced += outcome.synced;
        sum.introduced += outcome.introduced;
    }
    printf(
        "%llu jobs: %d added, %d removed, %d declined, %d tellers ended, %d failed, %d withdrawn; "
        "%d met, %d not; "
        "%d granted, %d not; %d sets of tellers, %d proxies queried for them; %d introduced\n",
        static_cast<unsigned long long>(seeds), sum.added, sum.removed, sum.declined, sum.orphaned,
        sum.failed, sum.withdrawn, sum.meetings, sum.failed_rendezvous, sum.granted, sum.refused,
        sum.own, sum.synced, sum.introduced);
    if (seeds < 200)
        return;
    /* The seeds reach all intended cases. */
    EXPECT_GT(sum.added, 100);
    EXPECT_GT(sum.removed, 100);
    EXPECT_GT(sum.declined, 50);
    EXPECT_GT(sum.orphaned, 10);
    EXPECT_GT(sum.failed, 20);
    EXPECT_GT(sum.withdrawn, 50);
    EXPECT_GT(sum.meetings, 100);
    EXPECT_GT(sum.failed_rendezvous, 10);
    EXPECT_GT(sum.granted, 50);
    EXPECT_GT(sum.refused, 50);
    EXPECT_GT(sum.offers_seen, 500);
    EXPECT_GT(sum.own, 50);
    EXPECT_GT(sum.synced, 20);
    EXPECT_GT(sum.introduced, 50);
}

}  // namespace
}  // namespace elastic
