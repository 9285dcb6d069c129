/* Prologs and epilogs with a core, and a shell script instead of elastic-stepd. */

#include "daemon/node_programs.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

namespace fs = std::filesystem;

/* It holds descriptor 3 open until the script has ended, as elastic-stepd does. */
constexpr const char *STEPD =
    "#!/bin/sh\n/bin/sh -s <\"$1/script\" >\"$1/output\"\n"
    "echo '{\"started\": true, \"exit_code\": '$?'}' >\"$1/exit\"\n"
    "mv \"$1/exit\" \"$1/exit.json\"\n";
/* Each run writes a line; it waits as long as the file `hold` is there. */
constexpr const char *PROGRAM =
    "#!/bin/sh\ncd FOLDER\necho $ELASTIC_NODE_PROGRAM $ELASTIC_NODE_NAME >>notes\n"
    "while [ -e hold ]; do sleep 0.01; done\n[ ! -e \"fail-$ELASTIC_NODE_NAME\" ]\n";

class NodeProgramsTest : public testing::Test {
  protected:
    static Config core_config()
    {
        Config config = CoreDriver::config_of(PolicyKind::FCFS);
        config.asynchronous_nodes = config.own_nodes = true;
        return config;
    }
    NodeProgramsTest() : driver(core_config())
    {
        char name[] = "/tmp/node-programs-XXXXXX";
        folder = mkdtemp(name);
        std::string program = PROGRAM;
        program.replace(program.find("FOLDER"), 6, folder);
        write("stepd", STEPD);
        write("program", program);
        NodeProgramsConfig config;
        config.prolog = config.epilog = {folder + "/program"};
        config.limit_ms = 60000;
        config.folder = folder + "/runs";
        config.stepd = {folder + "/stepd", ""};
        programs = std::make_unique<NodePrograms>(
            loop, config, driver.core.state(),
            [](const std::string &) { return std::vector<std::string>{"/bin/sh", "-s"}; },
            [this](EventContent content) { events.push_back(std::move(content)); });
        EXPECT_EQ(programs->open(), "");
        for (const char *node : {"n0", "n1", "n2"})
            driver.send(NodeUp{node, 4});
    }
    ~NodeProgramsTest() override { fs::remove_all(folder); }

    void write(const std::string &name, const std::string &text) const
    {
        std::ofstream(folder + "/" + name) << text;
        chmod((folder + "/" + name).c_str(), 0700);
    }
    std::vector<std::string> notes() const
    {
        std::vector<std::string> lines;
        std::ifstream file(folder + "/notes");
        for (std::string line; std::getline(file, line);)
            lines.push_back(line);
        return lines;
    }
    /* Performs the actions of the last event, as the daemon does. */
    void perform()
    {
        for (const Action &action : Actions(driver.actions)) {
            if (auto acquire = std::get_if<AcquireNodes>(&action))
                programs->acquire(*acquire);
            else if (auto release = std::get_if<ReleaseNodes>(&action))
                programs->release(*release);
        }
    }
    void send(EventContent content)
    {
        driver.send(content);
        perform();
        if (auto acquired = std::get_if<NodesAcquired>(&content))
            programs->acquired(acquired->job, acquired->step, acquired->request);
        else if (auto refused = std::get_if<NodesRefused>(&content))
            programs->acquired(refused->job, refused->step, refused->request);
        else if (auto released = std::get_if<NodesReleased>(&content))
            programs->released(released->job, released->step, released->request, released->all);
    }
    template <class Condition> bool run_until(Condition condition)
    {
        int64_t end_ms = monotonic_ms() + 60000;
        Loop::TimerId timer = 0;
        std::function<void()> check = [&] {
            timer = loop.after(5, check);
            if (condition() || monotonic_ms() > end_ms)
                loop.stop();
        };
        check();
        loop.run([] {});
        loop.cancel(timer);
        return condition();
    }
    /* Passes the next event of the programs to the core. */
    std::string next()
    {
        if (!run_until([&] { return !events.empty(); }))
            return "nothing";
        EventContent event = events.front();
        events.erase(events.begin());
        send(event);
        return name_of(event);
    }
    JobId submit(const JobSpec &spec)
    {
        JobId id = driver.submit(spec);
        perform();
        return id;
    }
    void resize(JobId id, int size) { send(Resize{"r" + std::to_string(size), id, size}); }
    /* The last actions are those of the last event of the commit. */
    void commit(JobId id)
    {
        driver.commit(id);
        perform();
    }

    std::string folder;
    Loop loop;
    CoreDriver driver;
    std::vector<EventContent> events;
    std::unique_ptr<NodePrograms> programs;
    using Lines = std::vector<std::string>;
};

TEST_F(NodeProgramsTest, a_job_grows_shrinks_and_ends)
{
    JobSpec spec = malleable(1, 12);
    spec.preferred = 2;
    JobId id = submit(spec);
    ASSERT_EQ(next(), "nodes_acquired");
    ASSERT_TRUE(driver.last<StartStep>());
    driver.run(id);
    resize(id, 4);
    EXPECT_EQ(next(), "nodes_acquired");        /* two more on its own node: no program runs */
    commit(id);
    EXPECT_EQ(notes(), (Lines{"prolog n0"}));
    resize(id, 6);
    EXPECT_EQ(next(), "nodes_acquired");
    commit(id);
    EXPECT_EQ(notes(), (Lines{"prolog n0", "prolog n1"}));
    resize(id, 5);
    commit(id);
    EXPECT_EQ(next(), "nodes_released");        /* one stays on the node */
    EXPECT_EQ(notes().size(), 2u);
    resize(id, 4);
    commit(id);
    EXPECT_EQ(next(), "nodes_released");
    EXPECT_EQ(notes(), (Lines{"prolog n0", "prolog n1", "epilog n1"}));
    EXPECT_EQ(driver.node("n1").used, 0);
    send(StepEnded{id, 1, 0, ""});
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    EXPECT_EQ(next(), "nodes_released");
    EXPECT_EQ(driver.job(id).state, JobState::DONE);
    EXPECT_EQ(notes(), (Lines{"prolog n0", "prolog n1", "epilog n1", "epilog n0"}));
    EXPECT_TRUE(run_until([&] { return fs::is_empty(folder + "/runs"); }));
}

TEST_F(NodeProgramsTest, a_failure_drains_the_node_and_refuses_it)
{
    write("fail-n0", "");
    JobId id = submit(rigid(8));
    EXPECT_EQ(next(), "drain");
    EXPECT_EQ(next(), "nodes_refused");
    EXPECT_TRUE(driver.node("n0").draining);
    EXPECT_FALSE(driver.node("n1").draining);
    EXPECT_NE(driver.job(id).reason.find("prolog has failed on node n0: it ended with exit code 1"),
              std::string::npos);
    EXPECT_EQ(next(), "drain");                 /* its epilog fails, too */
    EXPECT_EQ(next(), "nodes_released");
    EXPECT_EQ(driver.job(id).state, JobState::PENDING);
    EXPECT_EQ(notes().size(), 4u);
}

TEST_F(NodeProgramsTest, an_epilog_waits_for_the_prolog_and_repetitions_change_nothing)
{
    write("hold", "");
    JobId id = submit(rigid(4));
    AcquireNodes acquire = *driver.last<AcquireNodes>();
    EXPECT_TRUE(run_until([&] { return notes().size() == 1; }));
    programs->acquire(acquire);
    send(Cancel{{"c", id, ""}});
    ReleaseNodes release{id, 1, 0, true, acquire.blocks};
    programs->release(release);
    EXPECT_EQ(notes(), (Lines{"prolog n0"}));
    fs::remove(folder + "/hold");
    EXPECT_EQ(next(), "nodes_acquired");        /* too late */
    EXPECT_EQ(next(), "nodes_released");
    EXPECT_EQ(driver.job(id).state, JobState::CANCELLED);
    EXPECT_EQ(notes(), (Lines{"prolog n0", "epilog n0"}));
    EXPECT_TRUE(events.empty());
}

TEST_F(NodeProgramsTest, a_node_that_is_down_has_no_epilog)
{
    JobId id = submit(rigid(8));
    ASSERT_EQ(next(), "nodes_acquired");
    driver.run(id);
    driver.send(NodeDown{"n1", "power"});
    send(StepEnded{id, 1, 1, ""});
    EXPECT_EQ(next(), "nodes_released");
    Lines seen = notes();
    EXPECT_EQ(seen.size(), 3u);
    EXPECT_EQ(seen.back(), "epilog n0");
}

TEST_F(NodeProgramsTest, so_many_run_at_once)
{
    constexpr int MORE = 8, NODES = NodePrograms::AT_ONCE + MORE;
    for (int i = 3; i < NODES; i++)
        driver.send(NodeUp{"n" + std::to_string(i), 4});
    write("hold", "");
    submit(rigid(4 * NODES));
    EXPECT_TRUE(run_until([&] { return notes().size() == NodePrograms::AT_ONCE; }));
    size_t runs = 0;
    for ([[maybe_unused]] const auto &entry : fs::directory_iterator(folder + "/runs"))
        runs++;
    EXPECT_EQ(runs, NodePrograms::AT_ONCE);
    fs::remove(folder + "/hold");
    EXPECT_EQ(next(), "nodes_acquired");
    EXPECT_EQ(notes().size(), static_cast<size_t>(NODES));
}

TEST_F(NodeProgramsTest, a_program_that_cannot_be_started_has_failed)
{
    fs::remove(folder + "/stepd");
    submit(rigid(4));
    EXPECT_EQ(next(), "drain");
    EXPECT_NE(driver.node("n0").reason.find("cannot run"), std::string::npos);
    EXPECT_EQ(next(), "nodes_refused");
}

}  // namespace
}  // namespace elastic::rm
