/* Nodes that administrators reserve for a time. */

#include "core/core_driver.h"
#include "core/forecast.h"

namespace elastic::rm {
namespace {

constexpr int64_t BEGIN_MS = 1000000, HOUR_MS = 3600000;        /* BEGIN_MS: of CoreDriver */
constexpr PolicyKind POLICIES[] = {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                                   PolicyKind::EFFICIENT, PolicyKind::MEASURED};

/* n0 and n1, or `nodes`, in the third and fourth hour. */
Config reserved(PolicyKind policy, const std::vector<std::string> &nodes = {"n0", "n1"})
{
    Config config = CoreDriver::config_of(policy);
    config.reservations = {
        {"course", NodeSet(nodes), BEGIN_MS + 2 * HOUR_MS, BEGIN_MS + 4 * HOUR_MS}};
    return config;
}

JobSpec with(const std::string &reservation, JobSpec spec)
{
    spec.reservation = reservation;
    return spec;
}

class Machine : public CoreDriver {
  public:
    explicit Machine(const Config &config) : CoreDriver(config)
    {
        for (int i = 0; i < 4; i++)
            send(NodeUp{"n" + std::to_string(i), 4});
    }
    std::string refusal(const JobSpec &spec)
    {
        send(Submit{"s" + std::to_string(++submits), spec});
        return last<Answer>()->message;
    }
    std::string reason(JobId id) { return why_waiting(core.state(), job(id)); }
    /* "n0 n1": each once. */
    std::string nodes(JobId id)
    {
        std::set<std::string> names;
        for (const Block &block : job(id).blocks)
            names.insert(block.node.str());
        std::string text;
        for (const std::string &name : names)
            text += (text.empty() ? "" : " ") + name;
        return text;
    }
};

TEST(ReservationsTest, who_would_still_run_gets_other_nodes)
{
    for (PolicyKind policy : POLICIES) {
        Machine machine(reserved(policy));
        JobId unlimited = machine.submit(rigid(8));
        EXPECT_EQ(machine.nodes(unlimited), "n2 n3");
        JobId waits = machine.submit(rigid(1, 3 * HOUR_MS));
        EXPECT_EQ(machine.job(waits).state, JobState::PENDING);
        EXPECT_EQ(machine.reason(waits), "resources: other nodes are for reservation course");
        JobId soon = machine.submit(rigid(8, 2 * HOUR_MS));
        EXPECT_EQ(machine.nodes(soon), policy == PolicyKind::FCFS ? "" : "n0 n1") << "in order, "
                                                                                     "or before";
    }
}

TEST(ReservationsTest, its_jobs_run_on_its_nodes_while_it_lasts)
{
    for (PolicyKind policy : POLICIES) {
        Machine machine(reserved(policy));
        JobId own = machine.submit(with("course", rigid(6, HOUR_MS)));
        EXPECT_EQ(machine.reason(own), "Reserved: reservation course has not begun");
        JobId large = machine.submit(rigid(16, 3 * HOUR_MS));
        EXPECT_EQ(machine.reason(large),
                  "Reserved: reservation course needs its nodes before its time limit would end");
        JobId other = machine.submit(rigid(2, HOUR_MS));
        EXPECT_EQ(machine.job(other).state, JobState::STARTING) << "nobody is in its way";
        machine.run(other);
        machine.wait(HOUR_MS);
        machine.end(other);
        machine.wait(HOUR_MS - 1);
        EXPECT_EQ(machine.job(own).state, JobState::PENDING);
        machine.wait(1);
        EXPECT_EQ(machine.nodes(own), "n0 n1");
        machine.run(own);
        JobId late = machine.submit(with("course", rigid(6, 2 * HOUR_MS)));
        EXPECT_EQ(machine.job(large).state, JobState::PENDING);
        machine.wait(HOUR_MS);
        machine.end(own);
        EXPECT_EQ(machine.reason(late), "Reserved: its time limit would end after reservation "
                                        "course ('elastic update JOB -t TIME' changes it)");
        machine.wait(HOUR_MS);
        EXPECT_EQ(machine.reason(late), "Reserved: reservation course has ended");
        EXPECT_EQ(machine.nodes(large), "n0 n1 n2 n3") << "all nodes are there again";
    }
}

TEST(ReservationsTest, time_closes_nodes_to_a_job_that_waits)
{
    for (PolicyKind policy : POLICIES) {
        Machine machine(reserved(policy));
        JobId first = machine.submit(rigid(16, HOUR_MS));
        machine.run(first);
        JobId second = machine.submit(rigid(16, HOUR_MS + HOUR_MS / 2));
        EXPECT_EQ(machine.reason(second), "resources");
        machine.wait(HOUR_MS - 1);
        machine.end(first);
        EXPECT_EQ(machine.job(second).state, JobState::PENDING);
        EXPECT_NE(machine.reason(second).find("reservation course"), std::string::npos);
        Update update;
        update.request = "u";
        update.job = second;
        update.time_limit_ms = HOUR_MS;
        machine.send(update);
        EXPECT_EQ(machine.job(second).state, JobState::STARTING) << "it ends before, now";
    }
}

/* The driver compares the tasks that the limit of the array admits with the tasks that may
 * start. */
TEST(ReservationsTest, time_closes_nodes_to_tasks_of_an_array)
{
    for (PolicyKind policy : POLICIES) {
        Machine machine(reserved(policy, {"n0", "n1", "n2", "n3"}));
        JobId busy = machine.submit(rigid(16, HOUR_MS));
        machine.run(busy);
        JobSpec tasks = rigid(1, HOUR_MS + HOUR_MS / 2);
        tasks.array = "1-3%1";
        JobId first = machine.submit(tasks);
        machine.wait(HOUR_MS - 1);
        machine.end(busy);
        for (JobId task = first; task < first + 3; task++)
            EXPECT_EQ(machine.job(task).state, JobState::PENDING);
    }
}

TEST(ReservationsTest, no_job_grows_into_it)
{
    for (PolicyKind policy : {PolicyKind::FILL, PolicyKind::MEASURED}) {
        Machine machine(reserved(policy));
        JobId elastic = machine.submit(malleable(1, 16, 3 * HOUR_MS));
        machine.run(elastic);
        for (int i = 0; i < 5; i++) {
            if (machine.job(elastic).adaptation)
                machine.commit(elastic);
            machine.wait(machine.core.state().config.refusal_pause_ms);
        }
        EXPECT_EQ(machine.nodes(elastic), "n2 n3");
        EXPECT_EQ(machine.job(elastic).size(), 8);
        machine.send(Resize{"r", elastic, 9});
        EXPECT_EQ(machine.last<Answer>()->code, AnswerCode::CAPACITY);
    }
}

TEST(ReservationsTest, a_new_one_ends_nobody)
{
    Machine machine(CoreDriver::config_of(PolicyKind::EASY));
    JobId runs = machine.submit(rigid(16, 3 * HOUR_MS));
    machine.run(runs);
    JobId waits = machine.submit(rigid(4, 3 * HOUR_MS));
    machine.send(Configure{reserved(PolicyKind::EASY, {})});
    EXPECT_EQ(machine.job(runs).state, JobState::RUNNING);
    EXPECT_NE(machine.reason(waits).find("reservation course"), std::string::npos);
    JobId member = machine.submit(with("course", rigid(1, HOUR_MS)));
    machine.send(Configure{CoreDriver::config_of(PolicyKind::EASY)});
    EXPECT_EQ(machine.reason(waits), "resources");
    EXPECT_EQ(machine.reason(member), "Reserved: there is no reservation course any more");
    machine.end(runs);
    EXPECT_EQ(machine.job(waits).state, JobState::STARTING);
    EXPECT_EQ(machine.job(member).state, JobState::PENDING);
}

TEST(ReservationsTest, a_node_that_comes_later_is_for_jobs_that_wait)
{
    Machine machine(reserved(PolicyKind::EASY));
    machine.submit(rigid(8));
    JobId waits = machine.submit(rigid(4));
    EXPECT_EQ(machine.job(waits).state, JobState::PENDING);
    machine.send(NodeUp{"n4", 4});
    machine.wait(0);
    EXPECT_EQ(machine.nodes(waits), "n4");
}

TEST(ReservationsTest, many_jobs_enter_in_many_events)
{
    Machine machine(reserved(PolicyKind::EASY, {}));
    constexpr size_t JOBS = 1500;
    for (const char *tasks : {"1-1000", "1-500"}) {
        JobSpec spec = rigid(4, 5 * HOUR_MS);
        spec.array = tasks;
        machine.submit(spec);
    }
    EXPECT_EQ(machine.core.state().indices().queue.size(), 0U);
    machine.wait(4 * HOUR_MS);
    EXPECT_LE(machine.core.state().indices().queue.size(), 1000U);
    EXPECT_EQ(machine.core.state().timer_ms, machine.now_ms) << "it goes on at once";
    auto restored = Core::restore(machine.core.snapshot());
    ASSERT_TRUE(restored) << restored.error();
    EXPECT_EQ(restored.value().snapshot(), machine.core.snapshot());
    machine.wait(0);
    EXPECT_EQ(machine.core.state().indices().queue.size(), JOBS - 4);
}

TEST(ReservationsTest, with_partitions_it_has_the_nodes_of_both)
{
    Config config = reserved(PolicyKind::EASY);
    Partition left;
    left.name = "left";
    left.nodes = NodeSet({"n1", "n2"});
    left.is_default = true;
    config.partitions = {left};
    Machine machine(config);
    EXPECT_EQ(machine.nodes(machine.submit(rigid(3))), "n2");
    JobId member = machine.submit(with("course", rigid(4, HOUR_MS)));
    EXPECT_EQ(machine.refusal(with("course", rigid(5, HOUR_MS))),
              "the job needs at least 5 processes, and the nodes of reservation course can hold 4 "
              "such processes; request less");
    machine.wait(2 * HOUR_MS);
    EXPECT_EQ(machine.nodes(member), "n1");
}

TEST(ReservationsTest, a_submission_that_does_not_fit_is_refused)
{
    Machine machine(reserved(PolicyKind::EASY));
    EXPECT_EQ(machine.refusal(with("none", rigid(1, HOUR_MS))),
              "there is no reservation none: 'elastic reservations' lists all");
    EXPECT_EQ(machine.refusal(with("course", rigid(1, 3 * HOUR_MS))),
              "a job of reservation course ends with it, which leaves 7200 s: request a time limit "
              "of that at most");
    EXPECT_NE(machine.refusal(with("course", rigid(1))), "") << "without a limit";
    JobSpec listed = with("course", rigid(1, HOUR_MS));
    listed.nodelist = NodeSet({"n2"});
    EXPECT_EQ(machine.refusal(listed), "node n2 of its node list is not in reservation course");
    EXPECT_EQ(machine.refusal(rigid(16, 3 * HOUR_MS)), "") << "it can wait for the end";
    machine.wait(4 * HOUR_MS);
    EXPECT_EQ(machine.refusal(with("course", rigid(1, HOUR_MS))), "reservation course has ended");
}

TEST(ReservationsTest, a_forecast_knows_them)
{
    Machine machine(reserved(PolicyKind::EASY));
    EXPECT_EQ(forecast_of_new(machine.core.state(), rigid(16, 3 * HOUR_MS)).start_ms,
              BEGIN_MS + 4 * HOUR_MS)
        << "after the end";
    EXPECT_EQ(forecast_of_new(machine.core.state(), rigid(16, 2 * HOUR_MS)).start_ms, BEGIN_MS);
}

TEST(ReservationsTest, wrong_ones_are_refused)
{
    NodeReservation one{"one", NodeSet({"n1", "n2"}), 10, 20}, two{"two", NodeSet({"n2"}), 19, 30};
    std::vector<NodeReservation> both = {one, two};
    EXPECT_EQ(check(both), "reservations one and two have the same nodes at the same time");
    both[1].from_ms = 20;
    EXPECT_EQ(check(both), "");
    both[1].name = "one";
    EXPECT_EQ(check(both), "there are two reservations one");
    both[1].name = "-";
    EXPECT_NE(check(both).find("is not a name of a reservation"), std::string::npos);
    both[1] = {"two", {}, 20, 20};
    EXPECT_EQ(check(both), "reservation two ends before it begins");
}

}  // namespace
}  // namespace elastic::rm
