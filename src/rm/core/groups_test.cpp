/* Limits of Unix groups, and of the core time of one job. */

#include "core/core_driver.h"
#include "core/forecast.h"

namespace elastic::rm {
namespace {

constexpr int64_t HOUR_MS = 3600000;
constexpr PolicyKind POLICIES[] = {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                                   PolicyKind::MEASURED};

JobSpec of(uint32_t uid, const std::vector<std::string> &groups, JobSpec spec)
{
    spec.uid = uid;
    spec.groups = groups;
    return spec;
}

Config limited(PolicyKind policy, const GroupLimit &group)
{
    Config config = CoreDriver::config_of(policy);
    config.groups = {group};
    return config;
}

class Machine : public CoreDriver {
  public:
    explicit Machine(const Config &config) : CoreDriver(config)
    {
        for (int i = 0; i < 2; i++)
            send(NodeUp{"n" + std::to_string(i), 4});
    }
    std::string refusal(const JobSpec &spec)
    {
        send(Submit{"s" + std::to_string(++submits), spec});
        return last<Answer>()->message;
    }
    std::string reason(JobId id) { return why_waiting(core.state(), job(id)); }
};

TEST(GroupsTest, members_have_so_many_running_jobs_together)
{
    for (PolicyKind policy : POLICIES) {
        Machine machine(limited(policy, {"students", 2, 0, 0, 0}));
        JobId one = machine.submit(of(1, {"students"}, rigid(1)));
        machine.submit(of(2, {"students"}, rigid(1)));
        JobId third = machine.submit(of(3, {"students"}, rigid(1)));
        JobId other = machine.submit(of(4, {}, rigid(1)));
        EXPECT_EQ(machine.job(third).state, JobState::PENDING);
        EXPECT_EQ(machine.job(other).state, JobState::STARTING) << "nobody of the group";
        EXPECT_EQ(machine.reason(third), "the limit of group students: 2 of 2 running jobs");
        auto restored = Core::restore(machine.core.snapshot());
        ASSERT_TRUE(restored) << restored.error();
        EXPECT_EQ(restored.value().snapshot(), machine.core.snapshot());
        machine.core = std::move(restored.value());
        machine.end(one);
        EXPECT_EQ(machine.job(third).state, JobState::STARTING);
    }
}

TEST(GroupsTest, members_have_so_many_cores_together)
{
    for (PolicyKind policy : POLICIES) {
        Machine machine(limited(policy, {"students", 0, 5, 0, 0}));
        JobId first = machine.submit(of(1, {"students"}, rigid(3)));
        JobId second = machine.submit(of(2, {"students"}, rigid(3)));
        EXPECT_EQ(machine.reason(second), "the limit of group students: 3 of 5 cores");
        JobId small = machine.submit(of(3, {"students"}, rigid(1)));
        EXPECT_EQ(machine.job(small).state, JobState::PENDING) << "it does not overtake a member";
        EXPECT_EQ(machine.reason(small), "the limit of group students: 3 of 5 cores");
        machine.end(first);
        EXPECT_EQ(machine.job(second).state, JobState::STARTING);
        EXPECT_EQ(machine.job(small).state, JobState::STARTING);
        EXPECT_EQ(machine.refusal(of(1, {"students"}, rigid(6))),
                  "the job needs at least 6 cores, and group students may have 5 at once; request "
                  "less");
    }
}

TEST(GroupsTest, elastic_jobs_grow_up_to_the_limit)
{
    Machine machine(limited(PolicyKind::FILL, {"students", 0, 5, 0, 0}));
    JobId one = machine.submit(of(1, {"students"}, malleable(1, 8)));
    machine.run(one);
    EXPECT_EQ(machine.job(one).size(), 5);
    machine.send(Resize{"r", one, 6});
    EXPECT_EQ(machine.last<Answer>()->code, AnswerCode::CAPACITY);
    for (int i = 0; i < 20; i++)
        machine.wait(machine.core.state().config.offer_pause_ms);
    EXPECT_EQ(machine.job(one).size(), 5);
    machine.send(Configure{CoreDriver::config_of(PolicyKind::FILL)});
    machine.wait(machine.core.state().config.refusal_pause_ms);
    ASSERT_TRUE(machine.job(one).adaptation) << "a group that is not in the configuration any more";
    EXPECT_EQ(machine.job(one).adaptation->size, 8);
}

TEST(GroupsTest, no_member_grows_while_another_one_waits)
{
    Machine machine(limited(PolicyKind::FILL, {"students", 0, 4, 0, 0}));
    JobId elastic = machine.submit(of(1, {"students"}, malleable(1, 4)));
    JobId rigid_one = machine.submit(of(2, {"students"}, rigid(1)));
    machine.run(elastic);
    EXPECT_EQ(machine.job(elastic).size(), 4);
    EXPECT_EQ(machine.job(rigid_one).state, JobState::PENDING);
    machine.send(Resize{"r", elastic, 2});
    machine.commit(elastic);
    EXPECT_EQ(machine.job(rigid_one).state, JobState::STARTING);
    JobId large = machine.submit(of(3, {"students"}, rigid(3)));
    machine.send(Resize{"s", elastic, 3});
    EXPECT_EQ(machine.last<Answer>()->code, AnswerCode::CAPACITY) << "one core is left";
    machine.end(rigid_one);
    machine.send(Resize{"t", elastic, 1});
    machine.commit(elastic);
    EXPECT_EQ(machine.job(large).state, JobState::STARTING);
}

TEST(GroupsTest, the_strictest_of_several_groups_and_of_the_user_counts)
{
    Config config = limited(PolicyKind::EASY, {"all", 0, 6, 0, 0});
    config.groups.push_back({"few", 0, 2, 0, 0});
    config.user_cores_max = 4;
    Machine machine(config);
    machine.submit(of(1, {"all", "few"}, rigid(2)));
    JobId few = machine.submit(of(2, {"all", "few"}, rigid(1)));
    EXPECT_EQ(machine.reason(few), "the limit of group few: 2 of 2 cores");
    JobId all = machine.submit(of(3, {"all"}, rigid(4)));
    JobId rest = machine.submit(of(4, {"all"}, rigid(1)));
    EXPECT_EQ(machine.job(all).state, JobState::STARTING);
    EXPECT_EQ(machine.reason(rest), "the limit of group all: 6 of 6 cores");
    EXPECT_NE(machine.refusal(of(5, {"all"}, rigid(5))).find("a user may have 4"),
              std::string::npos);
}

TEST(GroupsTest, members_have_so_many_jobs_that_have_not_ended)
{
    Machine machine(limited(PolicyKind::EASY, {"students", 0, 0, 3, 0}));
    JobId one = machine.submit(of(1, {"students"}, rigid(1)));
    JobSpec held = of(2, {"students"}, rigid(1));
    held.held = true;
    machine.submit(held);
    JobSpec array = of(3, {"students"}, rigid(1));
    array.array = "1-2";
    EXPECT_EQ(machine.refusal(array),
              "members of group students have 2 jobs that have not ended, and may have 3: submit "
              "again when some have ended");
    EXPECT_EQ(machine.last<Answer>()->code, AnswerCode::LIMIT);
    machine.end(one);
    EXPECT_EQ(machine.refusal(array), "");
    EXPECT_EQ(machine.core.state().of_group("students"), (GroupUse{3, 2, 2}));
}

TEST(GroupsTest, a_job_has_so_much_core_time)
{
    Config config = limited(PolicyKind::EASY, {"students", 0, 0, 0, 8 * HOUR_MS});
    config.job_core_time_max_ms = 20 * HOUR_MS;
    Machine machine(config);
    JobSpec spec = of(1, {"students"}, malleable(1, 8, 2 * HOUR_MS));
    EXPECT_EQ(machine.refusal(spec),
              "group students allows a job 8 core hours and 0 core seconds at most, and this one "
              "may have 8 cores for 7200 s: request fewer, or less time");
    EXPECT_EQ(machine.refusal(of(1, {}, malleable(1, 8, 3 * HOUR_MS))),
              "limits.core_time_per_job allows a job 20 core hours and 0 core seconds at most, and "
              "this one may have 8 cores for 10800 s: request fewer, or less time");
    EXPECT_NE(machine.refusal(of(1, {}, rigid(1))).find("without a time limit: request one"),
              std::string::npos);
    spec.time_limit_ms = HOUR_MS;
    JobId id = machine.submit(spec);
    Update update;
    update.request = "u";
    update.job = id;
    update.time_limit_ms = 2 * HOUR_MS;
    machine.send(update);
    EXPECT_EQ(machine.last<Answer>()->code, AnswerCode::FIELD);
    update.may_extend = true;
    machine.send(update);
    EXPECT_EQ(machine.last<Answer>()->code, AnswerCode::OK) << "administrators may go beyond";
}

TEST(GroupsTest, wrong_limits_are_refused)
{
    EXPECT_EQ(check(std::vector<GroupLimit>{{"a", 0, 0, 0, 0}, {"b", 1, 2, 3, 4}}), "");
    EXPECT_EQ(check(std::vector<GroupLimit>{{"a", 0, 0, 0, 0}, {"a", 0, 0, 0, 0}}),
              "there are two sections [[groups]] of group a");
    EXPECT_NE(check(std::vector<GroupLimit>{{"a", -1, 0, 0, 0}}), "");
    EXPECT_NE(check(std::vector<GroupLimit>{{"", 0, 0, 0, 0}}), "");
    EXPECT_NE(check(std::vector<GroupLimit>(GROUPS_MAX + 1)), "");
}

/* 20 core minutes in each hour; CoreDriver begins 1000 s after the begin of one. */
GroupLimit budget_of_students()
{
    GroupLimit group;
    group.name = "students";
    group.budget_ms = 20 * MINUTE;
    group.period_ms = HOUR;
    return group;
}

TEST(GroupsTest, members_have_so_much_core_time_in_a_period)
{
    for (PolicyKind policy : POLICIES) {
        Machine machine(limited(policy, budget_of_students()));
        JobId one = machine.submit(of(1, {"students"}, rigid(4)));
        machine.run(one);
        machine.wait(3 * MINUTE);
        JobId second = machine.submit(of(2, {"students"}, rigid(1)));
        EXPECT_EQ(machine.job(second).state, JobState::STARTING) << "12 minutes are used";
        machine.run(second);
        machine.wait(2 * MINUTE);
        EXPECT_EQ(machine.core.state().group_times.at("students").core_ms, 22 * MINUTE);
        JobId third = machine.submit(of(3, {"students"}, rigid(1)));
        JobId other = machine.submit(of(4, {}, rigid(1)));
        EXPECT_EQ(machine.job(third).state, JobState::PENDING);
        EXPECT_EQ(machine.job(other).state, JobState::STARTING) << "nobody of the group";
        EXPECT_EQ(machine.job(one).state, JobState::RUNNING) << "it continues";
        EXPECT_EQ(machine.reason(third), "the limit of group students: 22 of 20 core minutes in "
                                         "this period, which ends in 0:39 h");
        machine.end(one);
        machine.end(second);
        EXPECT_EQ(machine.job(third).state, JobState::PENDING);
        auto restored = Core::restore(machine.core.snapshot());
        ASSERT_TRUE(restored) << restored.error();
        EXPECT_EQ(restored.value().snapshot(), machine.core.snapshot());
        machine.core = std::move(restored.value());
        const State &state = machine.core.state();
        EXPECT_EQ(forecast(state, third).start_ms, HOUR) << "in the next period";
        ASSERT_NE(state.timer_ms, NEVER);
        EXPECT_LE(state.timer_ms, HOUR);
        machine.wait(HOUR - machine.now_ms);
        EXPECT_EQ(machine.job(third).state, JobState::STARTING);
        EXPECT_EQ(state.group_times.at("students").core_ms, 0);
        machine.wait(5 * MINUTE);
        EXPECT_EQ(machine.core.state().group_times.at("students").core_ms, 5 * MINUTE);
    }
}

TEST(GroupsTest, a_running_job_counts_in_each_period)
{
    Machine machine(limited(PolicyKind::FILL, budget_of_students()));
    JobId id = machine.submit(of(1, {"students"}, rigid(1)));
    machine.run(id);
    machine.wait(HOUR + 7 * MINUTE - machine.now_ms);
    EXPECT_EQ(machine.core.state().group_times.at("students").core_ms, 7 * MINUTE);
}

TEST(GroupsTest, elastic_jobs_do_not_grow_when_the_budget_is_used)
{
    Machine machine(limited(PolicyKind::FILL, budget_of_students()));
    JobId holds = machine.submit(rigid(7));
    machine.run(holds);
    JobId id = machine.submit(of(1, {"students"}, malleable(1, 8)));
    machine.run(id);
    EXPECT_EQ(machine.job(id).size(), 1);
    machine.wait(25 * MINUTE);
    machine.end(holds);
    machine.wait(10 * MINUTE);
    EXPECT_FALSE(machine.job(id).adaptation);
    machine.send(Resize{"r", id, 2});
    EXPECT_EQ(machine.last<Answer>()->code, AnswerCode::CAPACITY);
    machine.wait(HOUR - machine.now_ms);
    machine.wait(10 * MINUTE);
    EXPECT_TRUE(machine.job(id).adaptation) << "in the next period";
}

TEST(GroupsTest, a_configuration_can_take_a_budget_away)
{
    Machine machine(limited(PolicyKind::FCFS, budget_of_students()));
    machine.run(machine.submit(of(1, {"students"}, rigid(4))));
    machine.wait(10 * MINUTE);
    JobId waits = machine.submit(of(1, {"students"}, rigid(1)));
    EXPECT_EQ(machine.job(waits).state, JobState::PENDING);
    machine.send(Configure{CoreDriver::config_of(PolicyKind::FCFS)});
    EXPECT_EQ(machine.job(waits).state, JobState::STARTING);
    machine.wait(MINUTE);
    EXPECT_TRUE(machine.core.state().group_times.empty());
    GroupLimit wrong = budget_of_students();
    wrong.period_ms = 0;
    EXPECT_NE(check({wrong}), "");
}

}  // namespace
}  // namespace elastic::rm
