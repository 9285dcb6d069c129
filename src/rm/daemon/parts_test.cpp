/* The smaller parts of the daemon: reading requests, launches, access, timeline, report, parts
 * of the replay. */

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/loop.h"
#include "core/record.h"
#include "daemon/request_queue.h"
#include "daemon/sliced_work.h"
#include "http/access.h"
#include "http/body_reader.h"
#include "monitor/report.h"
#include "monitor/timeline.h"
#include "step/launch.h"

namespace elastic::rm {
namespace {

template <class Call> std::string code_of(Call call)
{
    try {
        call();
    } catch (const ApiError &error) {
        return error.code + " " + error.field;
    }
    return "";
}

TEST(BodyReaderTest, RefusesWhatDoesNotFit)
{
    EXPECT_EQ(code_of([] { BodyReader("[1]"); }), "syntax ");
    EXPECT_EQ(code_of([] { BodyReader(std::string(1000, '[')); }), "syntax ");
    EXPECT_EQ(code_of([] { BodyReader("{\"a\": 1}").finish(); }), "field a");
    EXPECT_EQ(code_of([] { BodyReader("{\"a\": 1}").text("a", 5); }), "field a");
    EXPECT_EQ(code_of([] { BodyReader("{\"a\": \"123456\"}").text("a", 5); }), "field a");
    EXPECT_EQ(code_of([] { BodyReader("{\"a\": \"x\\u0000y\"}").text("a", 5); }), "field a");
    EXPECT_EQ(
        code_of([] { BodyReader("{\"a\": 18446744073709551615}").number("a", 0, INT64_MAX, 0); }),
        "field a");
    EXPECT_EQ(code_of([] { BodyReader("{\"a\": 1e3}").number("a", 0, 5000, 0); }), "field a");
    EXPECT_EQ(code_of([] { BodyReader("{\"o\": {\"b\": 1}}").object("o").finish(); }), "field o.b");
    BodyReader good("{\"a\": 7, \"t\": \"x\", \"n\": null}");
    EXPECT_EQ(good.number("a", 0, 10, 0), 7);
    EXPECT_EQ(good.text("t", 5), "x");
    EXPECT_EQ(good.number("n", 0, 10, 3), 3);
    EXPECT_EQ(code_of([&] { good.finish(); }), "");
}

TEST(BodyReaderTest, BracketsInTextsDoNotNest)
{
    EXPECT_EQ(BodyReader("{\"a\": \"" + std::string(1000, '[') + "\\\"{\"}").text("a", 0).size(),
              1002u);
}

TEST(LaunchTest, PathsAreExpanded)
{
    EXPECT_EQ(expand_path("out-%j-%x-%%", "/d", {7, "a/b", "u/1"}), "/d/out-7-a_b-%");
    EXPECT_EQ(expand_path("%A.%5j.%u.%2x", "/d", {123, "x", "u/1"}), "/d/123.00123.u_1.x");
    EXPECT_EQ(expand_path("%j.%N", "/d", {7, "x", "", std::nullopt, "n/3"}), "/d/7.n_3");
    EXPECT_EQ(expand_path("%j.%N", "/d", {7, "x", ""}), "/d/7.%N") << "it has not started";
    EXPECT_EQ(expand_path("/%5", "/d", {7, "", ""}), "/%5");
    EXPECT_EQ(expand_path("/abs/%q%", "/d", {7, "", ""}), "/abs/%q%");
    Launch launch;
    launch.directory = "/d/";
    EXPECT_EQ(paths_of(launch, {3, "x", ""}).output, "/d/elastic-3.out");
    launch.output = launch.error = "both";
    EXPECT_EQ(paths_of(launch, {3, "x", ""}).error, "") << "one file is opened once";
}

TEST(LaunchTest, AProgramIsStartedByMpiexec)
{
    Launch launch;
    launch.command = {"./app", "--x"};
    launch.mpiexec = {"-l"};
    launch.environment = {"A=1", "ELASTIC_JOB_ID=99"};
    launch.directory = "/d";
    launch.error = "%N.err";
    Job job;
    job.id = 5;
    StartStep start{5, 1, 3, {{"n0", 2}, {"n1", 1}}};
    StepSpec spec =
        make_step(launch, job, start, {"/m/mpiexec", {"-launcher", "fork"}, {}, "/f", "/s"});
    EXPECT_EQ(spec.arguments,
              (std::vector<std::string>{"/m/mpiexec", "-launcher", "fork", "-hosts", "n0:2,n1:1",
                                        "-n", "3", "-l", "./app", "--x"}));
    EXPECT_EQ(std::count(spec.environment.begin(), spec.environment.end(), "ELASTIC_JOB_ID=5"), 1);
    EXPECT_EQ(std::count(spec.environment.begin(), spec.environment.end(), "ELASTIC_JOB_ID=99"), 0);
}

TEST(LaunchTest, MpiexecRefusesSpawnsBeyondTheJobIfItIsTo)
{
    constexpr const char *LIMIT = "ELASTIC_STEP_PROCESSES_MAX=6";
    Launch launch;
    launch.command = {"./app"};
    launch.environment = {"ELASTIC_STEP_PROCESSES_MAX=of another job"};
    Job job;
    job.spec.maximum = 4;
    job.spec.extra_slots = 2;
    StartStep start{5, 1, 1, {{"n0", 1}}};
    LaunchSetup setup{"mpiexec", {}, {}, "/f", "/s"};
    auto limits = [&] {
        std::vector<std::string> found = make_step(launch, job, start, setup).environment;
        std::erase_if(found, [](const std::string &entry) {
            return !entry.starts_with("ELASTIC_STEP_PROCESSES_MAX=");
        });
        return found;
    };
    EXPECT_EQ(limits(), std::vector<std::string>());
    setup.spawn_beyond_slots = false;
    EXPECT_EQ(limits(), std::vector<std::string>{LIMIT});
}

TEST(LaunchTest, MpiexecGetsTheGpusOfTheJob)
{
    Launch launch;
    launch.command = {"./app"};
    launch.environment = {"ELASTIC_STEP_GPUS=of another job"};
    Job job;
    StartStep start{5, 1, 2, {{"n0", 1}, {"n1", 1}}};
    LaunchSetup setup{"mpiexec", {}, {}, "/f", "/s"};
    auto has_variable = [&] {
        return std::ranges::any_of(
            make_step(launch, job, start, setup).environment,
            [](const std::string &entry) { return entry.starts_with("ELASTIC_STEP_GPUS="); });
    };
    EXPECT_FALSE(has_variable());
    job.blocks = Blocks{{"n0", 2}, {"n1", 1}};
    job.process_gpus = {0b1001, 0b110, GpuSet{0b11} << 62};
    job.spec.gpus_per_process = 2;
    collect_gpus(job);
    constexpr const char *HEAD = "CUDA_VISIBLE_DEVICES,ROCR_VISIBLE_DEVICES,ZE_AFFINITY_MASK:";
    EXPECT_EQ(format_gpus(job, setup.first_gpu), std::string(HEAD) + "2:n0=0,3,1,2;n1=62,63")
        << "by rank";
    EXPECT_TRUE(has_variable());
    launch.is_script = launch.slurm_environment = true;
    auto value_of = [&](const std::string &name) {
        std::string found = "none";
        for (const std::string &entry : make_step(launch, job, start, setup).environment)
            found = entry.starts_with(name + "=") ? entry.substr(name.size() + 1) : found;
        return found;
    };
    EXPECT_EQ(value_of("CUDA_VISIBLE_DEVICES"), "none") << "it runs elsewhere";
    EXPECT_EQ(value_of("SLURM_JOB_GPUS"), "0,1,2,3");
    EXPECT_EQ(value_of("SLURM_GPUS_ON_NODE"), "4");
    setup.scripts_have_gpus = true;
    EXPECT_EQ(value_of("CUDA_VISIBLE_DEVICES"), "0,1,2,3");
    EXPECT_EQ(value_of("ZE_AFFINITY_MASK"), "0,1,2,3");
    job.spec.elasticity = Elasticity::MALLEABLE;
    EXPECT_EQ(value_of("CUDA_VISIBLE_DEVICES"), "none") << "they change";
    EXPECT_EQ(value_of("ELASTIC_STEP_GPUS"), "@/f/gpus");
    job.spec.elasticity = Elasticity::RIGID;
    setup.first_gpu = [](const NodeName &node) { return node == "n1" ? 4 : 0; };
    job.gpus = {{"n0", 0b1}, {"n1", 0b11}};
    job.spec.gpus_per_process = 0;
    EXPECT_EQ(format_gpus(job, setup.first_gpu), std::string(HEAD) + "0:n0=0;n1=4,5");
}

TEST(RateLimitTest, AllowsABurstAndThenTheRate)
{
    RateLimit rate(10);
    int64_t wait_ms = 0;
    int taken = 0;
    while (rate.take("1", 1000, wait_ms))
        taken++;
    EXPECT_EQ(taken, 20);
    EXPECT_GT(wait_ms, 0);
    EXPECT_TRUE(rate.take("2", 1000, wait_ms)) << "others are not slowed down";
    EXPECT_TRUE(rate.take("1", 1100 + 10, wait_ms));
    EXPECT_FALSE(rate.take("1", 1100 + 10, wait_ms));
}

TEST(LogTest, ALineIsOneJsonObject)
{
    std::string line = format_log_line(
        LogLevel::WARNING, "a\nb", {{"job", 3}, {"name", "\xff"}}, 1700000000123456);
    auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["time"], "2023-11-14T22:13:20.123456Z");
    EXPECT_EQ(json["level"], "warning");
    EXPECT_EQ(json["message"], "a\nb");
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_LT(format_log_line(LogLevel::INFO, "x", {{"long", std::string(100000, 'y')}}, 0).size(),
              20000u);
}

TEST(LoopTest, TimersComeInTheirOrderAndCanBeCancelled)
{
    Loop loop;
    std::string order;
    loop.after(20, [&] { order += "c"; loop.stop(); });
    loop.after(0, [&] { order += "a"; });
    auto dropped = loop.after(5, [&] { order += "x"; });
    loop.after(10, [&] { order += "b"; });
    loop.cancel(dropped);
    loop.run([] {});
    EXPECT_EQ(order, "abc");
}

/* Uses up the time of this turn. */
void work(Loop &loop)
{
    while (loop.has_time())
        ;
}

TEST(RequestQueueTest, RequestsWaitForAnotherTurnAndUsersTakeTurns)
{
    Loop loop;
    RequestQueue queue(loop);
    int turn = 0;
    std::string order;
    auto request = [&](const std::string &user, const std::string &name) {
        queue.add(user, [&, name] {
            order += name + std::to_string(turn) + " ";
            work(loop);
            if (name == "last")
                loop.stop();
        });
    };
    loop.after(0, [&] {
        request("ann", "a");
        request("ann", "b");
        request("ann", "last");
        request("bob", "c");
    });
    loop.run([&] { turn++; });
    EXPECT_EQ(order, "a0 b1 c2 last3 ");
}

TEST(RequestQueueTest, ShortRequestsAreServedAtOnce)
{
    Loop loop;
    RequestQueue queue(loop);
    bool served = false;
    loop.after(0, [&] {
        queue.add("ann", [&] { served = true; });
        EXPECT_TRUE(served);
        loop.stop();
    });
    loop.run([] {});
}

/* The work that a step adds may be done in the same turn. */
TEST(SlicedWorkTest, StepsTakeTurns)
{
    Loop loop;
    SlicedWork work_in_slices(loop);
    int turn = 0;
    std::string order;
    auto add = [&](const std::string &name, int steps, bool is_long) {
        work_in_slices.add([&, name, steps, is_long]() mutable {
            order += name + std::to_string(turn) + " ";
            if (is_long)
                work(loop);
            return --steps > 0;
        });
    };
    add("long", 2, true);
    add("short", 2, false);
    work_in_slices.add([&] {
        work_in_slices.add([&] {
            loop.stop();
            return false;
        });
        return false;
    });
    loop.run([&] { turn++; });
    EXPECT_EQ(order, "long0 short1 long1 short2 ");
}

Record allocated(JobId job, int64_t time_ms, const char *event, Blocks blocks)
{
    return {1, time_ms, event, job, "", Json::object(), "blocks", std::move(blocks)};
}

TEST(TimelineTest, SegmentsFollowTheAllocation)
{
    Timeline timeline;
    JobSpec spec;
    spec.cores_per_process = 2;
    Record submitted{1, 0, record::SUBMITTED, 1, "", Json::object()};
    submitted.spec = std::make_shared<const JobSpec>(spec);
    timeline.add(submitted);
    timeline.add(allocated(1, 100, record::ALLOCATED, {{"a", 2}, {"b", 1}}));
    timeline.add(allocated(1, 200, record::COMMITTED, {{"a", 2}}));
    auto segments = timeline.between({.to_ms = 1000}).segments;
    ASSERT_EQ(segments.size(), 2u);
    EXPECT_EQ(segments[0].cores + segments[1].cores, 6);
    EXPECT_EQ(segments[0].node == "b" ? segments[0].to_ms : segments[1].to_ms, 200);
    timeline.add({4, 300, record::ENDED, 1, "", Json::object()});
    EXPECT_EQ(timeline.between({.from_ms = 250, .to_ms = 1000}).segments.size(), 1u);
    EXPECT_EQ(timeline.between({.from_ms = 301, .to_ms = 1000}).segments.size(), 0u);
}

/* Page after page, from the newest on, each occurs once. */
TEST(TimelineTest, SegmentsArePaged)
{
    Timeline timeline;
    for (JobId job = 1; job <= 25; job++) {
        auto time_ms = static_cast<int64_t>(job);
        timeline.add(allocated(job, time_ms, record::ALLOCATED, {{job % 5 ? "a" : "b", 1}}));
        if (job % 3 == 0)
            timeline.add({1, time_ms, record::ENDED, job, "", Json::object()});
    }
    NodeTable nodes;
    nodes.set("a", 0);
    Timeline::Query query;
    query.nodes = &nodes;
    query.limit = 6;
    std::vector<JobId> seen;
    Timeline::Found page;
    do {
        page = timeline.between(query);
        ASSERT_EQ(page.segments.size(), page.older ? 6u : 2u);
        for (auto segment = page.segments.rbegin(); segment != page.segments.rend(); ++segment)
            seen.push_back(segment->job);
        query.before = page.segments.front().number;
    } while (page.older);
    std::vector<JobId> all;
    for (JobId job = 25; job > 0; job--)
        if (job % 5)
            all.push_back(job);
    EXPECT_EQ(seen, all);
}

/* The sum by steps equals the sum of each segment's part of each column. */
TEST(TimelineTest, UseOfGroupsAddsUp)
{
    Timeline timeline;
    std::map<std::string, std::pair<int64_t, int64_t>> times = {
        {"a", {0, 1000}}, {"b", {130, 140}}, {"c", {150, 870}}};
    JobId job = 0;
    for (const auto &[node, time] : times) {
        timeline.add(allocated(++job, time.first, record::ALLOCATED, {{node, 3}}));
        timeline.add({1, time.second, record::ENDED, job, "", Json::object()});
    }
    timeline.add(allocated(++job, 900, record::ALLOCATED, {{"b", 1}}));
    NodeTable group_of;
    for (const auto &[node, group] : {std::pair("a", 0u), {"b", 1u}, {"c", 1u}})
        group_of.set(node, group);
    auto use = timeline.use(100, 1100, 10, group_of, 2);
    for (size_t column = 0; column < 10; column++) {
        auto from = static_cast<double>(100 + column * 100), to = from + 100;
        auto covered = [&](double begin, double end) {
            return std::max(0.0, std::min(end, to) - std::max(begin, from)) / 100;
        };
        EXPECT_NEAR(use[0][column], 3 * covered(0, 1000), 1e-9) << column;
        EXPECT_NEAR(use[1][column],
                    3 * covered(130, 140) + 3 * covered(150, 870) + covered(900, 1e9), 1e-9)
            << column;
    }
    EXPECT_EQ(timeline.first_ms(), 0);
    EXPECT_EQ(timeline.take_core_ms(3), 3 * 720);
    EXPECT_EQ(timeline.take_core_ms(3), 0);
    EXPECT_EQ(timeline.core_ms(4, 1000), 100);
}

TEST(ReportTest, AddsUp)
{
    Report sums(5000);
    UserReports users(5000);
    for (int i = 0; i < 20; i++) {
        JobFacts facts;
        facts.id = static_cast<JobId>(i + 1);
        facts.user = i % 4 == 0 ? "ada" : "grace";
        facts.state = JobState::DONE;
        facts.submitted_ms = 1000;
        facts.started_ms = 1000 + 10 * i;
        facts.ended_ms = 1200 + 10 * i;
        facts.core_ms = 40;
        sums.add(facts);
        users.add(facts);
    }
    Json report = sums.json(4);
    EXPECT_EQ(report["makespan_ms"], 390);
    EXPECT_EQ(report["wait_ms"]["mean"], 95);
    EXPECT_EQ(report["wait_ms"]["p95"], 180);
    EXPECT_EQ(report["wait_ms"]["max"], 190);
    EXPECT_EQ(report["core_ms"], 800);
    EXPECT_DOUBLE_EQ(report["utilisation"], 800.0 / 1560.0);
    EXPECT_EQ(Report(5000).json(4)["jobs"], 0);
    Json of_users = users.json(4);
    ASSERT_EQ(of_users.size(), 2u);
    EXPECT_EQ(of_users[0]["user"], "grace") << "who has used most";
    EXPECT_EQ(of_users[1]["jobs"], 5);
    EXPECT_EQ(of_users[1]["wait_ms"]["max"], 160);
    for (const Json &metric : report_metrics()) {
        Json allocate = report;
        for (const Json &name : metric["path"])
            allocate = allocate.at(name.get<std::string>());
        EXPECT_TRUE(allocate.is_number()) << metric;
    }
}

TEST(ReportTest, WhatEndsWhileThePastIsReadCountsOnce)
{
    EndedJobs ended;
    Job job;
    job.id = 7;
    job.ended_ms = 50;
    ended.add(facts_of(job, 10));
    Job older;
    older.id = 3;
    older.ended_ms = 20;
    ended.load({facts_of(older, 1), facts_of(job, 1)});
    ended.loaded();
    auto sums = [&ended] {
        int64_t count = 0, core_ms = 0;
        ended.facts().each([&](const JobFacts &facts) {
            count++;
            core_ms += facts.core_ms;
        });
        return std::pair(count, core_ms);
    };
    EXPECT_EQ(sums(), std::pair(int64_t{2}, int64_t{11}));
    ended.remove_before(30);
    EXPECT_EQ(sums(), std::pair(int64_t{1}, int64_t{10}));
}

TEST(ReportTest, ManyEndedJobsAreRemovedInTheOrderOfTheirEnds)
{
    EndedJobs ended;
    Job job;
    for (job.id = 1; job.id <= 5000; job.id++) {
        job.ended_ms = static_cast<int64_t>(job.id);
        ended.add(facts_of(job, 1));
    }
    ended.remove_before(4001);
    EndedJobs::Facts before = ended.facts();
    ended.remove_before(6000);
    int64_t count = 0;
    before.each([&](const JobFacts &facts) {
        EXPECT_GT(facts.id, 4000u);
        count++;
    });
    EXPECT_EQ(count, 1000) << "what was taken stays as it was";
    ended.facts().each([](const JobFacts &) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace elastic::rm
