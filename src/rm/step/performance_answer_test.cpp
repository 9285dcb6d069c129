/* Answers that a step may send to `performance`, answers that break the protocol, and answers
 * that are only discarded. */

#include "step/performance_answer.h"

#include <gtest/gtest.h>

#include "base/bounded_json.h"
#include "step/field_rules.h"
#include "step/step_message.h"

namespace elastic::rm {
namespace {

Json inner_loop()
{
    return {{"key", "0123456789abcdef"},
            {"name", "heat2d+0x393e"},
            {"parent", "probe"},
            {"ranks", "0-1"},
            {"processes", 2},
            {"items", {"p2p"}},
            {"items_total", 1},
            {"iterations", 680},
            {"loop_us", 11000000},
            {"mpi_us", 5000000},
            {"ratio_min", 0.25},
            {"ratio_max", 0.5}};
}

Json probe_loop()
{
    return {{"key", "probe"},
            {"parent", nullptr},
            {"ranks", "0-1"},
            {"processes", 2},
            {"iterations", 34},
            {"measured_every", 1},
            {"loop_us", 12000000},
            {"mpi_us", 6000000},
            {"ratio_min", 0.4},
            {"ratio_max", 0.6},
            {"slowest", {{{"rank", 1}, {"host", "n0"}, {"mpi_ratio", 0.4}}}}};
}

Json good()
{
    return {{"id", "performance-1"},
            {"ok", true},
            {"available", true},
            {"epoch", 3},
            {"size", 2},
            {"processes", 2},
            {"stale", 0},
            {"progress",
             {{"probes", 17}, {"ms", 6300}, {"per_second", 2.7}, {"recent_per_second", nullptr}}},
            {"loops", {probe_loop(), inner_loop()}}};
}

/* In the form of input from a socket. */
Result<PerformanceAnswer> read(const Json &answer)
{
    return read_performance(parse_bounded(answer.dump()));
}

TEST(PerformanceAnswerTest, is_read_and_shown_as_it_was)
{
    auto answer = read(good());
    ASSERT_TRUE(answer.ok()) << answer.error();
    EXPECT_EQ(answer.value().probes, 17u);
    EXPECT_EQ(answer.value().per_second, 2.7);
    EXPECT_FALSE(answer.value().recent_per_second);
    ASSERT_EQ(answer.value().loops.size(), 2u);
    EXPECT_EQ(answer.value().loops[0].slowest[0].host, "n0");
    EXPECT_EQ(answer.value().loops[1].parent, "probe");
    const Json reports = good(), shown = to_json(answer.value());
    for (const char *name : {"available", "epoch", "size", "processes", "stale", "progress"})
        EXPECT_EQ(shown[name], reports[name]) << name;
    for (size_t i = 0; i < 2; i++)
        for (const auto &[name, value] : reports["loops"][i].items())
            EXPECT_EQ(shown["loops"][i][name], value) << name;
    auto again = read(shown);
    ASSERT_TRUE(again.ok()) << again.error();
    EXPECT_EQ(to_json(again.value()), shown);
}

TEST(PerformanceAnswerTest, nothing_known_is_an_answer)
{
    auto answer =
        read({{"available", false}, {"reason", "the processes\nare adapting"}, {"size", "x"}});
    ASSERT_TRUE(answer.ok()) << answer.error();
    EXPECT_EQ(answer.value().reason, "the processes are adapting");
    EXPECT_FALSE(sample_of(answer.value(), 0));
}

TEST(PerformanceAnswerTest, wrong_types_and_bounds_are_named)
{
    using Change = std::function<void(Json &)>;
    std::pair<const char *, Change> cases[] = {
        {"'available'", [](Json &a) { a["available"] = 1; }},
        {"'available'", [](Json &a) { a.erase("available"); }},
        {"'epoch'", [](Json &a) { a["epoch"] = -1; }},
        {"'epoch'", [](Json &a) { a["epoch"] = 1e300; }},
        {"'size'", [](Json &a) { a["size"] = uint64_t{1} << 21; }},
        {"'processes'", [](Json &a) { a["processes"] = "2"; }},
        {"'stale'", [](Json &a) { a.erase("stale"); }},
        {"'progress'", [](Json &a) { a["progress"] = 7; }},
        {"'progress'", [](Json &a) { a.erase("progress"); }},
        {"'probes'", [](Json &a) { a["progress"]["probes"] = UINT64_MAX; }},
        {"'ms'", [](Json &a) { a["progress"]["ms"] = -3; }},
        {"'per_second'", [](Json &a) { a["progress"]["per_second"] = -1.0; }},
        {"'per_second'", [](Json &a) { a["progress"]["per_second"] = 1e300; }},
        {"'loops'", [](Json &a) { a["loops"] = Json::object(); }},
        {"'loops'", [](Json &a) { a["loops"] = Json(65, probe_loop()); }},
        {"'loops'", [](Json &a) { a["loops"][0] = 7; }},
        {"'key'", [](Json &a) { a["loops"][0]["key"] = std::string(33, 'a'); }},
        {"'key'", [](Json &a) { a["loops"][0].erase("key"); }},
        {"'parent'", [](Json &a) { a["loops"][1]["parent"] = Json::array(); }},
        {"'name'", [](Json &a) { a["loops"][1]["name"] = 3; }},
        {"'ranks'",
         [](Json &a) {
             a["loops"][1]["ranks"] = Json::array({1, 2});
         }},
        {"'loop_us'", [](Json &a) { a["loops"][1]["loop_us"] = STEP_NUMBER_MAX + 1; }},
        {"'mpi_us'", [](Json &a) { a["loops"][1]["mpi_us"] = 1.5; }},
        {"'ratio_min'", [](Json &a) { a["loops"][1]["ratio_min"] = 1.01; }},
        {"'ratio_max'", [](Json &a) { a["loops"][1]["ratio_max"] = -0.01; }},
        {"'slowest'",
         [](Json &a) { a["loops"][0]["slowest"] = Json(17, a["loops"][0]["slowest"][0]); }},
        {"'slowest'", [](Json &a) { a["loops"][0]["slowest"][0] = "rank 1"; }},
        {"'host'", [](Json &a) { a["loops"][0]["slowest"][0]["host"] = nullptr; }},
        {"'mpi_ratio'", [](Json &a) { a["loops"][0]["slowest"][0]["mpi_ratio"] = 2; }},
        {"'items'", [](Json &a) { a["loops"][1]["items"] = "p2p"; }},
        {"'items'", [](Json &a) { a["loops"][1]["items"] = Json(65, "p2p"); }},
        {"'items'", [](Json &a) { a["loops"][1]["items"] = {std::string(17, 'x')}; }},
        {"'items'", [](Json &a) { a["loops"][1]["items"] = {7}; }},
    };
    for (const auto &[field, change] : cases) {
        Json answer = good();
        change(answer);
        auto reported = read(answer);
        ASSERT_FALSE(reported.ok()) << answer.dump();
        EXPECT_NE(reported.error().find(field), std::string::npos) << reported.error();
    }
}

TEST(PerformanceAnswerTest, texts_are_printable_and_short)
{
    Json answer = good();
    answer["loops"][1]["name"] = "\x1b[2J" + std::string(1000, 'x');
    answer["loops"][1]["items"] = {"\x1b[2J"};
    answer["loops"][0]["slowest"][0]["host"] = "a\nb";
    auto reported = read(answer);
    ASSERT_TRUE(reported.ok()) << reported.error();
    EXPECT_EQ(reported.value().loops[1].name.size(), PEOPLE_BYTES_MAX);
    EXPECT_TRUE(reported.value().loops[1].name.starts_with("?[2J"));
    EXPECT_EQ(reported.value().loops[1].items[0], "?[2J");
    EXPECT_EQ(reported.value().loops[0].slowest[0].host, "a b");
}

TEST(PerformanceAnswerTest, J3_the_core_receives_distributed_loops_longest_first)
{
    Json answer = good();
    Json alone = inner_loop();
    alone["key"] = "1";
    alone["processes"] = 1;
    answer["loops"].insert(answer["loops"].begin(), {alone, inner_loop()});
    answer["loops"].erase(3);
    Json unknown = inner_loop();
    unknown["key"] = "2";
    unknown["ratio_min"] = unknown["ratio_max"] = nullptr;
    answer["loops"].push_back(unknown);
    auto sample = sample_of(read(answer).value(), 10);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->epoch, 13u) << "epochs of earlier mpiexecs";
    ASSERT_EQ(sample->loops.size(), 2u);
    EXPECT_EQ(sample->loops[0].key, "probe");
    EXPECT_EQ(sample->loops[0].sums, (LoopSums{34, 12000000, 6000000}));
    EXPECT_EQ(sample->loops[0].ratio_max_ppm, 600000);
    EXPECT_EQ(sample->loops[1].parent, "probe");
}

TEST(PerformanceAnswerTest, many_loops_are_cut_to_the_longest)
{
    Json answer = good();
    for (int i = 0; i < 32; i++) {
        Json loop = inner_loop();
        loop["key"] = std::to_string(i);
        loop["loop_us"] = 5000000 + i;
        answer["loops"].push_back(loop);
    }
    auto sample = sample_of(read(answer).value(), 0);
    ASSERT_TRUE(sample);
    ASSERT_EQ(sample->loops.size(), SAMPLE_LOOPS_MAX);
    EXPECT_EQ(sample->loops[2].key, "31");
}

Json phase_loop_of(const char *key, const char *kind, int loop_us)
{
    Json loop = inner_loop();
    loop["key"] = key;
    loop["parent"] = nullptr;
    loop["items"] = {kind};
    loop["loop_us"] = loop_us;
    return loop;
}

/* SPEC-epop M4.  The newer sum if both are of the same phase, each phase if there are several. */
TEST(PerformanceAnswerTest, of_phases_those_that_can_adapt_count)
{
    Json answer = good();
    answer["loops"] = {probe_loop(), phase_loop_of("a1", "elastic_phase", 11000000),
                       phase_loop_of("b2", "rigid_phase", 90000000)};
    auto sample = sample_of(read(answer).value(), 0);
    ASSERT_TRUE(sample);
    ASSERT_EQ(sample->loops.size(), 1u);
    EXPECT_EQ(sample->loops[0].key, "probe");
    answer["loops"].push_back(phase_loop_of("c3", "elastic_phase", 10000000));
    sample = sample_of(read(answer).value(), 0);
    ASSERT_TRUE(sample);
    ASSERT_EQ(sample->loops.size(), 2u);
    EXPECT_EQ(sample->loops[0].key, "a1");
    EXPECT_EQ(sample->loops[1].key, "c3");
}

/* SPEC-epop L1, L2. */
TEST(PerformanceAnswerTest, where_a_program_of_phases_is)
{
    Json phase = {{"element", 3},       {"name", "solve"}, {"rigid", false},
                  {"processes", 2},     {"iteration", 412}, {"iteration_max", 414},
                  {"total", 1000},      {"iteration_us", 300000},
                  {"behind", {{{"rank", 1}, {"host", "n0"}, {"iteration", 412}}}}};
    Json answer = good();
    EXPECT_FALSE(sample_of(read(answer).value(), 0)->position);
    answer["phase"] = phase;
    auto reported = read(answer);
    ASSERT_TRUE(reported.ok()) << reported.error();
    EXPECT_EQ(to_json(reported.value()).at("phase"), phase);
    EXPECT_EQ(sample_of(reported.value(), 0)->position,
              (PhasePosition{3, false, 412, 1000, 300000}));
    answer["phase"]["rigid"] = true;
    answer["phase"]["total"] = answer["phase"]["iteration_us"] = nullptr;
    EXPECT_EQ(sample_of(read(answer).value(), 0)->position, (PhasePosition{3, true, 412, -1, -1}));
    answer["phase"] = nullptr;
    EXPECT_TRUE(read(answer).ok());
    const std::pair<const char *, Json> lies[] = {
        {"element", -1},      {"element", int64_t{1} << 40}, {"rigid", "yes"},
        {"iteration", 1.5},   {"iteration", nullptr},        {"total", -2},
        {"total", 1e300},     {"iteration_us", "long"},      {"name", 7},
        {"behind", "nobody"}, {"behind", {{{"rank", 1}}}},   {"behind", Json(17, Json::object())}};
    for (const auto &[field, value] : lies) {
        answer["phase"] = phase;
        answer["phase"][field] = value;
        auto lie = read(answer);
        ASSERT_FALSE(lie.ok()) << field << " " << value;
        EXPECT_NE(lie.error().find("phase"), std::string::npos) << lie.error();
    }
    answer["phase"] = "solve";
    EXPECT_FALSE(read(answer).ok());
}

TEST(PerformanceAnswerTest, what_cannot_be_is_not_believed)
{
    auto sample = [](const std::function<void(Json &)> &change) {
        Json answer = good();
        change(answer);
        auto reported = read(answer);
        EXPECT_TRUE(reported.ok()) << reported.error();
        return sample_of(reported.value(), 0);
    };
    EXPECT_TRUE(sample([](Json &) {}));
    EXPECT_FALSE(sample([](Json &a) { a["processes"] = 3; }));
    EXPECT_FALSE(sample([](Json &a) { a["size"] = a["processes"] = 0; }));
    EXPECT_FALSE(sample([](Json &a) { a["loops"][1]["key"] = "probe"; })) << "twice the same";
    EXPECT_FALSE(sample([](Json &a) { a["loops"][1]["key"] = "<script>"; }));
    EXPECT_EQ(sample([](Json &a) { a["loops"][1]["mpi_us"] = 11000001; })->loops.size(), 1u);
}

}  // namespace
}  // namespace elastic::rm
