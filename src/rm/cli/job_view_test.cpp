#include "cli/job_view.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

TEST(JobViewTest, a_row_of_the_queue)
{
    Json job = {{"id", 7},
                {"name", "heat"},
                {"user", "anna"},
                {"code", "AD"},
                {"state", "ADAPTING"},
                {"min", 2},
                {"max", 8},
                {"size", 2},
                {"start_ms", 1000},
                {"end_ms", nullptr},
                {"time_limit_ms", 600000},
                {"nodes", {{{"name", "n0"}, {"processes", 2}}}},
                {"adaptation", {{"size", 4}}},
                {"counts", {{"committed", 3}}},
                {"reason", nullptr}};
    EXPECT_EQ(queue_row(job, 66000),
              (std::vector<std::string>{"7", "heat", "anna", "AD", "1:05", "10:00", "2>4", "2:8",
                                        "3", "n0:2"}));
    job["nodes"] = Json::array();
    job["reason"] = "waits for resources";
    EXPECT_EQ(queue_row(job, 66000).back(), "(waits for resources)");
    job["nodes"] = {{{"name", "n0"}, {"processes", 2}}};
    EXPECT_EQ(queue_row(job, 66000).back(), "n0:2");
    job["state"] = "STARTING";
    EXPECT_EQ(queue_row(job, 66000).back(), "(waits for resources)") << "they are requested";
    EXPECT_FALSE(has_partitions({job}));
    job["partition"] = "batch";
    EXPECT_TRUE(has_partitions({Json::object(), job}));
    EXPECT_EQ(queue_row(job, 66000, true)[1], "batch");
    EXPECT_EQ(history_row(job, true)[1], "batch");
}

TEST(JobViewTest, nothing_that_is_missing_or_odd_does_harm)
{
    for (const Json &odd :
         {Json::object(), Json{{"nodes", 5}, {"counts", "x"}, {"start_ms", "y"}, {"command", {1}}},
          Json::array()}) {
        EXPECT_EQ(queue_row(odd, 0).size(), 10U);
        EXPECT_EQ(history_row(odd).size(), 11U);
        EXPECT_FALSE(job_description(odd, 0).empty());
        EXPECT_FALSE(record_line(odd).empty());
    }
}

TEST(JobViewTest, slots_are_listed_with_the_results_of_requests)
{
    auto extra_slots = [](const Json &held) {
        for (const std::string &line : job_description({{"places", held}}, 0)) {
            if (size_t at = line.find("Places="); at != line.npos)
                return line.substr(at);
        }
        return std::string();
    };
    Json nodes = {{{"node", "n0"}, {"places", 2}}, {{"node", "n1"}, {"places", 1}}};
    EXPECT_EQ(extra_slots({{"held", 3}, {"wanted", 2}, {"nodes", nodes}}),
              "Places=3 (n0: 2, n1: 1), 2 more are requested");
    nodes[1]["exclusive"] = true;
    EXPECT_EQ(extra_slots({{"held", 3}, {"wanted", 0}, {"nodes", nodes}}),
              "Places=3 (n0: 2, n1: 1 exclusive)");
    EXPECT_EQ(extra_slots({{"held", 0}, {"wanted", 0}, {"nodes", Json::array()}}), "Places=0");
    EXPECT_EQ(extra_slots(nullptr), "Places=-");
    auto reports = [](const char *event, const Json &data) {
        std::string line =
            record_line({{"time_ms", 1}, {"event", event}, {"job", 7}, {"data", data}});
        return line.substr(line.find("job 7"));
    };
    EXPECT_EQ(reports("wished",
                   {{"wish", 3}, {"kind", "slots"}, {"count", 2}, {"hard", false}, {"host", "n1"}}),
              "job 7       wished         slot request 3: 2 slots on n1, or fewer");
    EXPECT_EQ(
        reports("wish_ended", {{"wish", 3}, {"kind", "slots"}, {"result", "over"}, {"reason", ""}}),
        "job 7       wish_ended     slot request 3: over");
    EXPECT_EQ(reports("slots_released", {{"places", 1}, {"released", 2}}),
              "job 7       slots_released  2 slots, 1 remain");
}

TEST(JobViewTest, spawned_processes_are_listed)
{
    Json job = {{"size", 1}, {"max", 1}, {"places_max", 0}};
    auto spawned = [&](const Json &known) {
        job["spawned"] = known;
        for (const std::string &line : job_description(job, 0)) {
            if (size_t at = line.find("Spawned="); at != line.npos)
                return line.substr(at);
        }
        return std::string();
    };
    Json nodes = {{{"node", "n0"}, {"processes", 5}}};
    EXPECT_EQ(spawned(nullptr), "Spawned=-");
    EXPECT_EQ(spawned({{"processes", 5}, {"without_cores", 5}, {"max", 5}, {"nodes", nodes}}),
              "Spawned=5 (n0: 5); 5 of 5 processes of MPI_Comm_spawn have no cores: submit it with "
              "--places 5");
    EXPECT_EQ(queue_row(job, 0)[6], "1+5");
    job["places_max"] = 5;
    EXPECT_EQ(spawned({{"processes", 5}, {"without_cores", 2}, {"max", 5}, {"nodes", nodes}}),
              "Spawned=5 (n0: 5); 2 of 5 processes of MPI_Comm_spawn have no cores: none were free "
              "on their nodes when they started");
    EXPECT_EQ(spawned({{"processes", 0}, {"without_cores", 0}, {"max", 5}}),
              "Spawned=0, 5 at most");
    EXPECT_EQ(queue_row(job, 0)[6], "1");
    std::string line = record_line({{"time_ms", 1}, {"event", "spawned"}, {"job", 7},
                                    {"data", {{"processes", 5}, {"without_cores", 2}}}});
    EXPECT_EQ(line.substr(line.find("spawned")), "spawned        5 processes, 2 without cores");
}

TEST(JobViewTest, SM3_a_job_shows_the_answers_of_its_program)
{
    auto changes = [](const Json &known) {
        for (const std::string &line : job_description({{"set_changes", known}}, 0)) {
            if (size_t at = line.find("SetChanges="); at != line.npos)
                return line.substr(at);
        }
        return std::string();
    };
    Json known = {{"told", 5}, {"accepted", 3}, {"declined", 1}};
    known["last"] = {{"request", 6}, {"stage", "told"}, {"uid", 2}, {"told_ms", 1000},
                     {"at_ms", 1000}};
    EXPECT_EQ(changes(known), "SetChanges=5 sent, 3 accepted, 1 declined; the last (request 6) "
                              "sent at " + format_time(1000) + " to process 2, which has not "
                              "answered");
    known["last"]["stage"] = "declined";
    known["last"]["at_ms"] = 2000;
    EXPECT_NE(changes(known).find("has declined it at " + format_time(2000)), std::string::npos);
    EXPECT_EQ(changes(nullptr), "SetChanges=-");
    EXPECT_EQ(changes(5), "SetChanges=-");
    std::string line = record_line({{"time_ms", 1},
                                    {"event", "declined"},
                                    {"job", 7},
                                    {"data", {{"step", 1}, {"request", 6}, {"uid", 2}}}});
    EXPECT_NE(line.find("request 6: by process 2"), std::string::npos) << line;
}

TEST(JobViewTest, X3_a_waiting_job_shows_missing_resources)
{
    auto why = [](const Json &shortage) {
        for (const std::string &line : job_description({{"shortage", shortage}}, 0)) {
            if (size_t at = line.find("Why="); at != line.npos)
                return line.substr(at);
        }
        return std::string();
    };
    Json shortage = {{"processes", 24}, {"room", 8}, {"giving", Json::array()}};
    EXPECT_EQ(why(shortage), "Why=needs capacity for 24 processes, there is capacity for 8");
    shortage["giving"] = {{{"job", 3}, {"cores", 8}}, {{"job", nullptr}, {"cores", 4}}};
    EXPECT_EQ(why(shortage),
              "Why=needs capacity for 24 processes, there is capacity for 8; job 3 gives 8 cores, "
              "a job gives 4 cores");
    Json nodes = {{"processes", 4}, {"room", 0}, {"nodes", 3}, {"open_nodes", 2}};
    EXPECT_EQ(why(nodes), "Why=needs 3 whole nodes, there are 2");
    nodes["open_nodes"] = 0;
    EXPECT_EQ(why(nodes), "Why=needs 3 whole nodes, there is none");
    nodes = {{"processes", 9}, {"room", 8}, {"nodes", 3}, {"open_nodes", 4}};
    EXPECT_EQ(why(nodes), "Why=needs 3 whole nodes for 9 processes, the largest 3 hold 8");
    nodes = {{"processes", 1}, {"room", 0}, {"nodes", 1}, {"open_nodes", 0}};
    EXPECT_EQ(why(nodes), "Why=needs 1 whole node, there is none");
    shortage["room"] = 0;
    EXPECT_EQ(why(shortage).substr(0, 53), "Why=needs capacity for 24 processes, there is none; j");
    shortage["room"] = 24;
    EXPECT_EQ(why(shortage),
              "Why=there is capacity for it, but it would delay jobs before it in the queue");
    for (const Json &odd : {Json(), Json(5), Json{{"processes", "x"}}})
        EXPECT_EQ(why(odd), "Why=-") << odd;
}

TEST(JobViewTest, X3_a_waiting_job_shows_its_start_and_the_jobs_changed_for_it)
{
    auto why = [](const Json &job) {
        for (const std::string &line : job_description(job, 0)) {
            if (size_t at = line.find("Why="); at != line.npos)
                return line.substr(at);
        }
        return std::string();
    };
    Json helpers = {{{"job", 1}, {"from", 16}, {"size", 9}, {"committed", true}},
                    {{"job", nullptr}, {"from", 16}, {"size", 23}, {"committed", false}}};
    Json job = {{"shortage", {{"processes", 32}, {"room", 0}, {"giving", Json::array()}}},
                {"expected_start_ms", 1000000},
                {"expected_after", 2},
                {"helpers", helpers}};
    EXPECT_EQ(why(job), "Why=needs capacity for 32 processes, there is none; starts at " +
                            format_time(1000000) +
                            " at the latest, when job 2 ends; for this job, job 1 now has 9 "
                            "processes instead of 16, a job gets 23 instead of 16");
    job["expected_start_ms"] = nullptr;
    job["helpers"] = "odd";
    EXPECT_EQ(why(job), "Why=needs capacity for 32 processes, there is none");
}

TEST(JobViewTest, progress_and_mpi_share_have_a_line_each)
{
    auto lines = [](Json performance) {
        std::string text;
        for (const std::string &line :
             job_description({{"performance", std::move(performance)}}, 0))
            text += line + "\n";
        return text;
    };
    std::string known = lines({{"per_second", 4.912},
                               {"per_second_recent", 4.5},
                               {"iteration_us", 191234},
                               {"mpi_share", 0.0061},
                               {"mpi_share_recent", 0.02},
                               {"ratio_min", 0.004},
                               {"ratio_max", 0.007}});
    auto has = [](const std::string &text, const char *line) {
        return text.find(line) != std::string::npos;
    };
    EXPECT_TRUE(
        has(known, "   Progress=4.91 probes a second (recently 4.5), 191 ms per iteration\n"))
        << known;
    EXPECT_TRUE(has(known, "   MpiShare=0.6 % (recently 2.0 %), from 0.4 % to 0.7 % by rank\n"))
        << known;
    std::string partly = lines({{"per_second", 3}, {"mpi_share", nullptr}});
    EXPECT_TRUE(has(partly, "   Progress=3 probes a second\n") && has(partly, "   MpiShare=-\n"))
        << partly;
    EXPECT_TRUE(has(lines(nullptr), "   Progress=-\n") && has(lines("odd"), "   MpiShare=-\n"));
}

/* SPEC-epop L2. */
TEST(JobViewTest, L2_a_program_of_phases_reports_its_position)
{
    auto line = [](Json phase) {
        for (const std::string &each : job_description({{"phase", std::move(phase)}}, 0))
            if (each.starts_with("   Phase="))
                return each.substr(9);
        return std::string("no line");
    };
    Json phase = {{"element", 1},   {"name", "solve"}, {"rigid", false},
                  {"processes", 4}, {"iteration", 412}, {"iteration_max", 415},
                  {"total", 1000},  {"iteration_us", 306000}, {"behind", Json::array()}};
    EXPECT_EQ(line(phase), "solve: 412 of 1000 iterations, about 3 min left");
    phase["behind"] = {{{"rank", 2}, {"host", "n1"}, {"iteration", 412}}};
    EXPECT_EQ(line(phase), "solve: 412 of 1000 iterations, about 3 min left; "
                           "straggler in iteration 412: rank 2 on n1");
    phase["iteration"] = 2;
    phase["behind"] = nullptr;
    EXPECT_EQ(line(phase), "solve: 2 of 1000 iterations") << "J7: from 3 on";
    phase["total"] = nullptr;
    phase["rigid"] = true;
    phase["name"] = nullptr;
    EXPECT_EQ(line(phase), "phase 1: 2 iterations of a rigid phase");
    phase["iteration"] = 0;
    phase["total"] = 1;
    EXPECT_EQ(line(phase), "phase 1, a rigid phase");
    phase["rigid"] = false;
    EXPECT_EQ(line(phase), "phase 1: 0 of 1 iterations");
    EXPECT_EQ(line(nullptr), "-");
    EXPECT_EQ(line("odd"), "-");
}

TEST(JobViewTest, a_program_that_does_not_probe_is_named)
{
    auto why = [](const Json &job) {
        for (const std::string &line : job_description(job, 0)) {
            if (line.starts_with("   Why="))
                return line.substr(7);
        }
        return std::string();
    };
    Json change = {{"request", 3}, {"size", 4}, {"since_ms", 1}, {"overdue", true}};
    Json job = {{"size", 8}, {"min", 2}, {"max", 8}, {"adaptation", change}, {"why", "computes"}};
    std::string text = why(job);
    EXPECT_TRUE(text.starts_with("8 processes of 2:8; since ")) << text;
    EXPECT_NE(text.find(" it is to have 4 (request 3), but its program has not reached a probe: "),
              std::string::npos)
        << text;
    job["adaptation"]["overdue"] = false;
    EXPECT_EQ(why(job), "computes");
    Json waiting = {{"shortage",
                     {{"processes", 4},
                      {"room", 2},
                      {"giving", Json::array()},
                      {"overdue",
                       {{{"job", 3}, {"cores", 2}}, {{"job", nullptr}, {"cores", 1}}}}}}};
    EXPECT_EQ(why(waiting), "needs capacity for 4 processes, there is capacity for 2; job 3 was to "
                            "give 2 cores, a job was to give 1 cores, and does not reach a probe");
}

TEST(JobViewTest, a_suspended_job_and_those_that_wait_for_it_name_each_other)
{
    Json job = {{"size", 8}, {"suspended_since_ms", 1000000}, {"why", "computes"}};
    std::string since = "suspended since " + format_time(1000000);
    EXPECT_EQ(why_text(job), since);
    job["keeps_waiting"] = {5};
    EXPECT_EQ(why_text(job), since + "; job 5 waits for its cores");
    job["keeps_waiting"] = {5, nullptr};
    EXPECT_EQ(why_text(job), since + "; job 5, a job wait for its cores");
    job["suspended_since_ms"] = nullptr;
    EXPECT_EQ(why_text(job), "computes");
    Json waiting = {{"shortage",
                     {{"processes", 4},
                      {"room", 2},
                      {"suspended",
                       {{{"job", 3}, {"cores", 2}}, {{"job", nullptr}, {"cores", 1}}}}}}};
    EXPECT_EQ(why_text(waiting),
              "needs capacity for 4 processes, there is capacity for 2; job 3 is suspended and "
              "keeps 2 cores, a job is suspended and keeps 1 cores");
}

TEST(JobViewTest, records_read_as_sentences)
{
    auto line = [](const char *event, Json data) {
        return record_line(
            {{"seq", 1}, {"time_ms", 1}, {"event", event}, {"job", 3}, {"data", std::move(data)}});
    };
    EXPECT_TRUE(
        line("committed", {{"epoch", 2},
                           {"old_size", 4},
                           {"size", 2},
                           {"standstill_ms", 3},
                           {"blocks", {{{"node", "n1"}, {"processes", 2}}}}})
            .ends_with(
                "job 3       committed      epoch 2: 4 -> 2 processes on n1:2, stood still 3 ms"));
    EXPECT_TRUE(
        line("withdrawn", {{"request", 5}, {"old_size", 4}, {"size", 2}, {"reason", "busy"}})
            .ends_with("request 5: 4 -> 2 processes: busy"));
    EXPECT_TRUE(line("brand_new", {{"a", 1}, {"b", "x"}}).ends_with("brand_new      a=1 b=x"));
    EXPECT_EQ(line("ended", {{"reason", "\x1b[2J"}}).find('\x1b'), std::string::npos);
    EXPECT_NE(record_line({{"event", "node_up"}, {"node", "n0"}, {"job", nullptr}}).find("node n0"),
              std::string::npos);
}

}  // namespace
}  // namespace elastic
