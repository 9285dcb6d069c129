/*
 * A simulated job that changes through process sets: its processes, their knowledge, and their
 * calls.  For pset_change_simulation_test.cpp.
 */

#ifndef ELASTIC_PSET_CHANGE_SIMULATION_FIXTURE_H_INCLUDED
#define ELASTIC_PSET_CHANGE_SIMULATION_FIXTURE_H_INCLUDED

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <numeric>
#include <random>

#include "base/change.h"
#include "stepmgr/proto/payload_fixture.h"
#include "stepmgr/proto/pset_call.h"
#include "stepmgr/sim/fake_mpiexec.h"

namespace elastic {

struct PsetJobOutcome {
    int added = 0, removed = 0, declined = 0, orphaned = 0, failed = 0, withdrawn = 0, meetings = 0,
        failed_rendezvous = 0;
    int granted = 0, refused = 0, offers_seen = 0, own = 0, synced = 0, introduced = 0;
};

class SimulatedPsetJob {
  protected:
    explicit SimulatedPsetJob(uint64_t seed) : seed_(seed), random_(seed) {}

    enum class Stage { STARTS, ENTERS, PREPARED, WAITS, LET_GO, RUNS, ENDED };
    enum class Question { NOTHING, ENTER, AWAIT, CHANGE, LOOK, MEET, REQUEST, QUERY, OWN };
    struct Process {
        int group = 0;
        uint32_t rank = 0;
        Stage stage = Stage::STARTS;
        bool doomed = false;    /* its group will be removed */
        uint32_t calls = 0;
        std::map<uint32_t, Question> questions; /* not answered */
        std::vector<uint32_t> rendezvous_with;  /* processes with which it waits in a rendezvous */
        std::set<uint32_t> knows;       /* processes whose addresses it has */
        std::set<uint32_t> prepared_for;        /* processes that need no rendezvous with it */
    };

    uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    void require(bool holds, const std::string &what)
    {
        EXPECT_TRUE(holds) << what << "; seed " << seed_ << ", after: " << mpiexec_.events();
    }
    void add_group(int group, uint32_t first_uid, uint32_t n)
    {
        for (uint32_t rank = 0; rank < n; rank++)
            processes_[first_uid + rank] = {group, rank, Stage::STARTS, false, 0, {}, {}, {}, {}};
        mpiexec_.start_group(group, std::vector<std::string>(n, "a"));
    }
    std::vector<uint32_t> all_in(Stage stage) const
    {
        std::vector<uint32_t> uids;
        for (const auto &[uid, process] : processes_) {
            if (process.stage == stage)
                uids.push_back(uid);
        }
        return uids;
    }
    size_t running() const { return all_in(Stage::RUNS).size(); }
    uint32_t any(Stage stage)
    {
        auto uids = all_in(stage);
        return uids.empty() ? UINT32_MAX : uids[pick(static_cast<uint32_t>(uids.size()))];
    }

    template <class Call> void send_request(uint32_t uid, const Call &call, Question question)
    {
        Process &process = processes_.at(uid);
        if (uid == on_its_way_of_)
            pass_on();
        process.questions[++process.calls] = question;
        mpiexec_.report(process.group, 0, REPORT_SET_CALL, 0,
                        write_set_report(process.rank, process.calls, write_set_call(call)));
    }
    void end(uint32_t uid, uint32_t status)
    {
        Process &process = processes_.at(uid);
        if (uid == on_its_way_of_)
            pass_on();
        process.stage = Stage::ENDED;
        process.questions.clear();
        if (uid == sent_to_)
            sent_to_ = UINT32_MAX, outcome_.orphaned++;
        mpiexec_.exited(process.group, 0, process.rank, status);
    }
    void pass_on()
    {
        const Process &process = processes_.at(std::exchange(on_its_way_of_, UINT32_MAX));
        for (const std::string &call : std::exchange(on_its_way_, {}))
            mpiexec_.report(process.group, 0, REPORT_SET_CALL, 0,
                            write_set_report(process.rank, 0, call));
    }

    uint64_t seed_;
    std::mt19937_64 random_;
    FakeMpiexec mpiexec_;
    std::map<uint32_t, Process> processes_;     /* by uid */
    std::vector<uint32_t> launched_;
    size_t launches_ = 0, killed_ = 0, logged_ = 0, sent_ = 0;  /* read so far */
    uint64_t request_ = 0;      /* under way, 0: none */
    size_t size_ = 0, epoch_ = 0;       /* as logged */
    bool joins_ = false, accepted_ = false;
    int joining_group_ = -1;
    std::set<int> complete_;
    uint32_t sent_to_ = UINT32_MAX, tag_ = 0;
    uint32_t number_ = 0, end_ = 0;     /* numbers of sets that the process may make by itself */
    std::string own_;           /* the last one */
    uint32_t on_its_way_of_ = UINT32_MAX;
    std::vector<std::string> on_its_way_;
    std::string delta_;
    std::vector<uint32_t> leaving_;
    /* content of the board of each group; a group has one proxy */
    std::map<int, uint32_t> size_source_;
    size_t lookups_ = 0;
    int offers_seen_ = 0;
    bool offer_seen_ = false;
    PsetJobOutcome outcome_;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_CHANGE_SIMULATION_FIXTURE_H_INCLUDED */
