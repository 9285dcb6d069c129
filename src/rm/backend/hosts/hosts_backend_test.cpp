/* The back end hosts with a core and a scripted ssh: the states of nodes on correct, faulty,
 * slow and failed hosts. */

#include "backend/hosts/hosts_backend.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/no_descriptors.h"
#include "core/core.h"

namespace elastic::rm {
namespace {

namespace fs = std::filesystem;

constexpr int64_t PATIENCE_MS = 60000;

/* A file with the name of a host holds its behaviour: `well` answers, `hang` sends nothing,
 * other text is ssh's last line. */
constexpr const char *SSH = R"(#!/bin/sh
folder=$(dirname "$0")
shift $(($# - 3))
: >"$folder/running.$$"
is=$(cat "$folder/host.$1" 2>/dev/null || echo "ssh: Could not resolve hostname $1: no such name")
ls "$folder" | grep -c '^running' >>"$folder/at_once"
case $is in
    well) sh -s; code=$? ;;
    hang) rm "$folder/running.$$"; exec sleep 1000 ;;
    *) echo "$is" >&2; code=255 ;;
esac
rm "$folder/running.$$"
exit $code
)";

class HostsBackendTest : public testing::Test {
  protected:
    HostsBackendTest()
    {
        sigprocmask(SIG_BLOCK, nullptr, &signals_before_);
        char name[] = "/tmp/hosts-test-XXXXXX";
        folder_ = mkdtemp(name);
        std::ofstream(folder_ / "ssh") << SSH;
        fs::permissions(folder_ / "ssh", fs::perms::owner_all);
        settings_ = default_settings();
        settings_.backend = "hosts";
        settings_.ssh = folder_ / "ssh";
        settings_.mpiexec = folder_ / "bin" / "mpiexec";
        settings_.check_interval_ms = 100;
        settings_.check_timeout_ms = 20000;
        loop_.watch_signals({SIGCHLD}, [this](int) { loop_.reap_children(); });
        notify(Configure{settings_.core()});
    }
    ~HostsBackendTest() override
    {
        backend_.reset();
        turn_until([] {
            siginfo_t info = {};
            return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0;
        });
        sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
        fs::remove_all(folder_);
    }

    void notify(EventContent content)
    {
        core_.handle({core_.state().seq + 1, ++now_ms_, std::move(content)});
    }
    void set(const std::string &host, const std::string &reports)
    {
        std::ofstream(folder_ / "new") << reports << "\n";
        fs::rename(folder_ / "new", folder_ / ("host." + host));
    }
    void start(std::vector<std::string> hosts)
    {
        settings_.hosts = std::move(hosts);
        backend_ = std::make_unique<HostsBackend>(settings_, loop_);
        auto notify = [this](EventContent content) { inbox_.push_back(std::move(content)); };
        EXPECT_EQ(backend_->start(core_.state(), notify), "");
    }
    const Node *node(const std::string &name) const { return core_.state().node(name); }

    bool turn_until(const std::function<bool()> &condition)
    {
        bool late = false;
        Loop::TimerId timer = loop_.after(PATIENCE_MS, [&] { late = true; }), ticking = 0;
        std::function<void()> tick = [&] { ticking = loop_.after(5, tick); };
        tick();
        loop_.run([&] {
            for (EventContent &content : std::exchange(inbox_, {}))
                notify(std::move(content));
            if (late || condition())
                loop_.stop();
        });
        loop_.cancel(timer);
        loop_.cancel(ticking);
        return condition();
    }
    bool turn_until_state(const std::string &name, NodeState state)
    {
        return turn_until([&] { return node(name) && node(name)->state() == state; });
    }
    /* Waits until this number of further probes of all hosts together have begun, and have their
     * results. */
    bool turn_for_polls(int count)
    {
        int before = polls();
        return turn_until([&] { return polls() >= before + count; });
    }
    std::vector<int> at_once() const
    {
        std::ifstream file(folder_ / "at_once");
        return {std::istream_iterator<int>(file), {}};
    }
    int polls() const { return static_cast<int>(at_once().size()); }
    void occupy(int processes)
    {
        JobSpec spec;
        spec.minimum = spec.maximum = processes;
        spec.elasticity = Elasticity::RIGID;
        notify(Submit{"job", spec});
        ASSERT_EQ(core_.state().job(1)->state, JobState::STARTING);
        notify(StepStarted{{1, 1}});
    }

    fs::path folder_;
    sigset_t signals_before_;
    Settings settings_;
    Loop loop_;
    Core core_;
    int64_t now_ms_ = 1000;
    std::vector<EventContent> inbox_;
    std::unique_ptr<HostsBackend> backend_;
};

TEST_F(HostsBackendTest, WellHostsComeUpWithTheirCores)
{
    set("a", "well");
    set("b", "well");
    start({"a:3", "b"});
    EXPECT_FALSE(backend_->capacity_known());
    ASSERT_TRUE(turn_until_state("a", NodeState::UP));
    ASSERT_TRUE(turn_until_state("b", NodeState::UP));
    EXPECT_EQ(node("a")->cores, 3);
    EXPECT_GE(node("b")->cores, 1);
    EXPECT_TRUE(backend_->capacity_known());
    uint64_t seq = core_.state().seq;
    EXPECT_TRUE(turn_for_polls(6));
    EXPECT_EQ(core_.state().seq, seq) << "what has not changed is not reported again";
}

TEST_F(HostsBackendTest, AWrongHostIsDownWithWhatToDo)
{
    set("a", "well");
    start({"a", "nowhere:4"});
    ASSERT_TRUE(turn_until_state("a", NodeState::UP));
    ASSERT_TRUE(turn_until([&] {
        return node("nowhere")->reason.find("Could not resolve") != std::string::npos;
    }));
    EXPECT_EQ(node("nowhere")->state(), NodeState::DOWN);
    EXPECT_EQ(node("nowhere")->cores, 4);
    set("nowhere", "well");
    EXPECT_TRUE(turn_until_state("nowhere", NodeState::UP)) << "it comes by itself";
    EXPECT_EQ(node("nowhere")->why(), "");
}

TEST_F(HostsBackendTest, ASilentHostIsSuspectBeforeItsJobsAreEnded)
{
    settings_.check_failures = 8;
    set("a", "well");
    start({"a:4"});
    ASSERT_TRUE(turn_until_state("a", NodeState::UP));
    occupy(2);
    set("a", "ssh: connect to host a port 22: No route to host");
    ASSERT_TRUE(turn_until_state("a", NodeState::DRAINING));
    EXPECT_EQ(core_.state().job(1)->state, JobState::RUNNING);
    EXPECT_NE(node("a")->why().find("No route"), std::string::npos);
    set("a", "well");
    ASSERT_TRUE(turn_until_state("a", NodeState::UP));
    set("a", "ssh: connect to host a port 22: No route to host");
    ASSERT_TRUE(turn_until_state("a", NodeState::DOWN));
    EXPECT_EQ(core_.state().job(1)->state, JobState::COMPLETING);
    EXPECT_NE(core_.state().job(1)->reason.find("node a is down"), std::string::npos);
    set("a", "well");
    EXPECT_TRUE(turn_until_state("a", NodeState::UP));
}

TEST_F(HostsBackendTest, AHostThatLetsNobodyInKeepsItsJobs)
{
    settings_.check_failures = 2;
    set("a", "well");
    start({"a:4"});
    ASSERT_TRUE(turn_until_state("a", NodeState::UP));
    occupy(2);
    set("a", "root@a: Permission denied (publickey).");
    ASSERT_TRUE(turn_until_state("a", NodeState::DRAINING));
    EXPECT_TRUE(turn_for_polls(8));
    EXPECT_EQ(node("a")->state(), NodeState::DRAINING);
    EXPECT_EQ(core_.state().job(1)->state, JobState::RUNNING);
    notify(StepEnded{1, 1, 0, "", false});
    EXPECT_TRUE(turn_until_state("a", NodeState::DOWN)) << "nobody is hurt now";
}

TEST_F(HostsBackendTest, OneFailureAloneIsForgiven)
{
    settings_.check_interval_ms = 3600 * 1000;
    set("a", "well");
    start({"a:4"});
    ASSERT_TRUE(turn_until_state("a", NodeState::UP));
    set("a", "kex_exchange_identification: read: Connection reset by peer");
    uint64_t seq = core_.state().seq;
    backend_->check_node("a");
    EXPECT_TRUE(turn_for_polls(1));
    set("a", "well");
    /* A probe in progress counts: so this requests probes until one begins; then the one before
     * has been evaluated. */
    for (int next : {polls() + 1, polls() + 2})
        EXPECT_TRUE(turn_until([&] { return backend_->check_node("a"), polls() >= next; }));
    EXPECT_EQ(node("a")->state(), NodeState::UP);
    EXPECT_EQ(core_.state().seq, seq);
}

TEST_F(HostsBackendTest, WithoutDescriptorsNoHostIsSuspect)
{
    set("a", "well");
    set("b", "well");
    start({"a:4", "b:4"});
    ASSERT_TRUE(turn_until_state("a", NodeState::UP));
    ASSERT_TRUE(turn_until_state("b", NodeState::UP));
    occupy(2);
    uint64_t seq = core_.state().seq;
    {
        NoDescriptors no_descriptors;
        int64_t until_ms = monotonic_ms() + 1000;
        turn_until([&] { return monotonic_ms() >= until_ms; });
    }
    EXPECT_EQ(core_.state().seq, seq) << node("a")->why() << node("b")->why();
    set("b", "ssh: connect to host b port 22: No route to host");
    EXPECT_TRUE(turn_until_state("b", NodeState::DOWN)) << "hosts are checked again";
}

TEST_F(HostsBackendTest, AfterAFailedStepTheFirstFailureCounts)
{
    settings_.check_interval_ms = 3600 * 1000;
    set("a", "well");
    set("b", "well");
    start({"a:4", "b:4"});
    ASSERT_TRUE(turn_until_state("a", NodeState::UP));
    ASSERT_TRUE(turn_until_state("b", NodeState::UP));
    occupy(2);
    set("a", "ssh: connect to host a port 22: Connection timed out");
    backend_->step_failed_on({"a", "unknown"});
    EXPECT_TRUE(turn_until_state("a", NodeState::DRAINING));
    EXPECT_EQ(node("b")->state(), NodeState::UP);
    /* It does not answer at all: it gets no new processes before that is certain. */
    set("b", "hang");
    backend_->step_failed_on({"b"});
    EXPECT_TRUE(turn_until_state("b", NodeState::DRAINING));
    EXPECT_NE(node("b")->why().find("has not answered yet"), std::string::npos) << node("b")->why();
}

TEST_F(HostsBackendTest, ManyHostsFewPollsAtOnce)
{
    settings_.checks_at_once = 3;
    std::vector<std::string> hosts;
    for (int i = 0; i < 30; i++) {
        hosts.push_back("h" + std::to_string(i) + ":1");
        set("h" + std::to_string(i), "well");
    }
    start(hosts);
    ASSERT_TRUE(turn_until([&] { return core_.state().indices().up_cores == 30; }));
    std::vector<int> counts = at_once();
    EXPECT_LE(*std::max_element(counts.begin(), counts.end()), 3);
}

TEST_F(HostsBackendTest, AnotherListAfterARestart)
{
    set("a", "well");
    set("b", "well");
    start({"a:4", "b:4"});
    ASSERT_TRUE(turn_until_state("a", NodeState::UP));
    ASSERT_TRUE(turn_until_state("b", NodeState::UP));
    backend_.reset();
    start({"b:8"});
    ASSERT_TRUE(turn_until([&] { return node("b")->cores == 8 && !node("a"); }));
    EXPECT_TRUE(backend_->capacity_known());
}

TEST_F(HostsBackendTest, FewerCoresCountWhenTheJobsFit)
{
    set("a", "well");
    start({"a:4"});
    ASSERT_TRUE(turn_until_state("a", NodeState::UP));
    occupy(3);
    backend_.reset();
    start({"a:2"});
    ASSERT_TRUE(turn_until_state("a", NodeState::DRAINING));
    EXPECT_NE(node("a")->why().find("2 cores instead of 4"), std::string::npos);
    notify(StepEnded{1, 1, 0, ""});
    ASSERT_TRUE(turn_until([&] { return node("a")->cores == 2; }));
    EXPECT_EQ(node("a")->state(), NodeState::UP);
    EXPECT_EQ(core_.state().unexpected, 0U);
}

TEST(HostsOfTest, ListsAndFiles)
{
    Settings settings = default_settings();
    EXPECT_NE(hosts_of(settings).error().find("no host is named"), std::string::npos);
    settings.hosts = {"a", "-x"};
    EXPECT_NE(hosts_of(settings).error().find("backend.hosts: '-x'"), std::string::npos);
    settings.hosts = {"a:2"};
    settings.hosts_file = "/nonexistent/hosts";
    EXPECT_NE(hosts_of(settings).error().find("/nonexistent/hosts"), std::string::npos);
    char name[] = "/tmp/hosts-file-XXXXXX";
    close(mkstemp(name));
    settings.hosts_file = name;
    std::ofstream(name) << "b:4\nc\n";
    auto hosts = hosts_of(settings);
    ASSERT_TRUE(hosts) << hosts.error();
    EXPECT_EQ(hosts.value(), (ListedNodes{{"a", 2}, {"b", 4}, {"c", 0}}));
    std::ofstream(name) << "a\n";
    EXPECT_NE(hosts_of(settings).error().find("a is in backend.hosts and in"), std::string::npos);
    unlink(name);
}

}  // namespace
}  // namespace elastic::rm
