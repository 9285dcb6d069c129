/* The fixed back end with a core: its nodes after a change of the configuration. */

#include "backend/local/fixed_backend.h"

#include <gtest/gtest.h>

#include "core/core.h"
#include "core/invariants.h"

namespace elastic::rm {
namespace {

constexpr int64_t PATIENCE_MS = 60000;

class FixedBackendTest : public testing::Test {
  protected:
    FixedBackendTest() { notify(Configure{Config()}); }

    void notify(EventContent content)
    {
        core_.handle({core_.state().seq + 1, ++now_ms_, std::move(content)});
        EXPECT_TRUE(violations(core_.state()).empty());
    }
    /* Like elasticd with another configuration. */
    void start(std::map<std::string, int> nodes)
    {
        backend_ = std::make_unique<FixedBackend>(
            loop_, std::move(nodes), "fork", std::vector<std::string>());
        auto later = [this](EventContent content) { inbox_.push_back(std::move(content)); };
        ASSERT_EQ(backend_->start(core_.state(), later), "");
        deliver();
    }
    void deliver()
    {
        for (EventContent &content : std::exchange(inbox_, {}))
            notify(std::move(content));
    }
    bool turn_until(const std::function<bool()> &condition)
    {
        bool late = false;
        Loop::TimerId timer = loop_.after(PATIENCE_MS, [&] { late = true; });
        loop_.turn_again();
        loop_.run([&] {
            deliver();
            if (late || condition())
                loop_.stop();
        });
        loop_.cancel(timer);
        return condition();
    }
    const Node &node(const std::string &name) const { return *core_.state().node(name); }
    JobId submit(int processes, bool whole_nodes = false)
    {
        JobSpec spec;
        spec.minimum = spec.maximum = processes;
        spec.whole_nodes = whole_nodes;
        JobId job = core_.state().last_job + 1;
        notify(Submit{"job" + std::to_string(job), spec});
        return job;
    }
    void run(JobId job) { notify(StepStarted{{job, 1}}); }
    void end(JobId job) { notify(StepEnded{job, 1, 0, ""}); }
    JobState state_of(JobId job) const { return core_.state().job(job)->state; }

    Loop loop_;
    Core core_;
    int64_t now_ms_ = 1000;
    std::vector<EventContent> inbox_;
    std::unique_ptr<FixedBackend> backend_;
};

TEST_F(FixedBackendTest, more_cores_count_at_once)
{
    start({{"n0", 4}});
    run(submit(4));
    JobId next = submit(3);
    ASSERT_EQ(state_of(next), JobState::PENDING);
    start({{"n0", 8}});
    EXPECT_EQ(node("n0").cores, 8);
    EXPECT_EQ(state_of(next), JobState::STARTING);
    EXPECT_EQ(core_.state().unexpected, 0U);
}

TEST_F(FixedBackendTest, fewer_cores_wait_until_the_jobs_fit)
{
    start({{"n0", 8}});
    JobId large = submit(5), small = submit(2);
    run(large);
    run(small);
    start({{"n0", 4}});
    JobId next = submit(1);
    EXPECT_EQ(node("n0").cores, 8);
    EXPECT_NE(node("n0").why().find("4 cores instead of 8"), std::string::npos);
    EXPECT_EQ(state_of(next), JobState::PENDING) << "else it would never fit";
    end(large);
    EXPECT_TRUE(turn_until([&] { return node("n0").cores == 4; }));
    EXPECT_EQ(node("n0").state(), NodeState::UP);
    EXPECT_EQ(node("n0").used, 3);
    EXPECT_EQ(state_of(small), JobState::RUNNING);
    EXPECT_EQ(state_of(next), JobState::STARTING);
    EXPECT_EQ(core_.state().unexpected, 0U);
}

TEST_F(FixedBackendTest, a_job_that_has_the_whole_node_ends_first)
{
    start({{"n0", 4}});
    JobId whole = submit(2, true);
    run(whole);
    start({{"n0", 8}});
    EXPECT_EQ(node("n0").cores, 4);
    EXPECT_EQ(node("n0").state(), NodeState::DRAINING);
    end(whole);
    EXPECT_TRUE(turn_until([&] { return node("n0").cores == 8; }));
    EXPECT_EQ(node("n0").state(), NodeState::UP);
}

TEST_F(FixedBackendTest, the_former_number_again_ends_the_wait)
{
    start({{"n0", 8}});
    run(submit(6));
    start({{"n0", 4}});
    ASSERT_EQ(node("n0").state(), NodeState::DRAINING);
    start({{"n0", 8}});
    EXPECT_EQ(node("n0").state(), NodeState::UP);
}

}  // namespace
}  // namespace elastic::rm
