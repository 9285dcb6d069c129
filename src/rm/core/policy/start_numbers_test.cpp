/* The reason of a start in a record `placed`; SPEC-performance X1.  (All tests and simulations
 * check that each record's rule and size depend on its `why` alone: Monitor, invariants.h.) */

#include "core/policy/start_numbers.h"

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

StartNumbers numbers_of(int least, int wanted, int capacity, int fits, int most)
{
    StartNumbers numbers;
    numbers.least = least;
    numbers.wanted = wanted;
    numbers.capacity = capacity;
    numbers.fits = fits;
    numbers.most = most;
    return numbers;
}

TEST(StartNumbersTest, X1_in_its_turn_it_starts_with_what_is_wanted_or_with_the_least)
{
    EXPECT_EQ(start_rule(numbers_of(2, 8, 8, 8, 8)), StartRule::START);
    EXPECT_EQ(start_rule(numbers_of(2, 8, 7, 2, 8)), StartRule::START);
    EXPECT_FALSE(start_rule(numbers_of(2, 8, 8, 2, 8))) << "there are cores for more";
    EXPECT_FALSE(start_rule(numbers_of(2, 8, 7, 8, 8))) << "there are no cores for that";
    EXPECT_FALSE(start_rule(numbers_of(2, 8, 1, 2, 8)));
    EXPECT_FALSE(start_rule(StartNumbers()));
}

TEST(StartNumbersTest, X1_backfill_does_not_use_reserved_cores)
{
    StartNumbers numbers = numbers_of(2, 2, 4, 2, 2);
    numbers.cores_per_process = 2;
    numbers.backfill = BackfillNumbers{7, {1000, 0}, {}, 1000};
    EXPECT_EQ(start_rule(numbers), StartRule::BACKFILL) << "it ends in time";
    numbers.backfill->end_ms = 1001;
    EXPECT_FALSE(start_rule(numbers));
    numbers.backfill->promised.cores_left = 4;
    EXPECT_EQ(start_rule(numbers), StartRule::BACKFILL) << "beside it";
    numbers.backfill->promised.cores_left = 3;
    EXPECT_FALSE(start_rule(numbers));
    numbers.backfill->promised = {NEVER, 100};
    EXPECT_EQ(start_rule(numbers), StartRule::BACKFILL)
        << "that one's turn is not known; this one ends";
    numbers.backfill->end_ms = NEVER;
    EXPECT_FALSE(start_rule(numbers));
    numbers.backfill->promised.nodes_known = true;
    EXPECT_EQ(start_rule(numbers), StartRule::BACKFILL) << "that one has its own nodes";
    numbers.backfill = BackfillNumbers{7, {1000, 0}, ReservedStart{500, 3}, 1000};
    EXPECT_FALSE(start_rule(numbers)) << "it is to start sooner by a balance";
    numbers.backfill->expected->cores_left = 4;
    EXPECT_EQ(start_rule(numbers), StartRule::BACKFILL);
}

TEST(StartNumbersTest, X1_the_size_lies_between_what_fits_and_the_most)
{
    StartNumbers numbers = numbers_of(2, 4, 8, 4, 6);
    for (int size : {4, 5, 6})
        EXPECT_TRUE(gives_size(numbers, size));
    for (int size : {0, 2, 3, 7})
        EXPECT_FALSE(gives_size(numbers, size));
    numbers.user_most = 3;
    EXPECT_TRUE(gives_size(numbers, 3));
    EXPECT_FALSE(gives_size(numbers, 4)) << "its user may not have that";
}

/* `why` of the job's record, without its rule. */
StartNumbers reported(const Record *record, const char *rule)
{
    if (!record) {
        ADD_FAILURE() << "nothing has started";
        return {};
    }
    Json why = record->data.at("why");
    EXPECT_EQ(why.at("rule"), rule);
    why.erase("rule");
    auto numbers = parse<StartNumbers>(why);
    EXPECT_TRUE(numbers) << numbers.error();
    return numbers ? numbers.value() : StartNumbers();
}

TEST(StartNumbersTest, X1_each_policy_records_start_and_backfill)
{
    for (PolicyKind kind : {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                            PolicyKind::EFFICIENT, PolicyKind::MEASURED}) {
        CoreDriver driver(kind, 2, 4);
        JobId first = driver.submit(rigid(6, 10 * MINUTE));
        StartNumbers numbers = reported(driver.recorded(record::ALLOCATED), "start");
        EXPECT_EQ(numbers.fits, 6);
        EXPECT_EQ(numbers.capacity, 8);
        driver.run(first);
        JobId waits = driver.submit(rigid(8, 10 * MINUTE));
        EXPECT_FALSE(driver.recorded(record::ALLOCATED));
        JobId brief = driver.submit(rigid(1, 5 * MINUTE));
        if (kind == PolicyKind::FCFS) {
            EXPECT_FALSE(driver.recorded(record::ALLOCATED)) << "nobody goes ahead";
            continue;
        }
        numbers = reported(driver.recorded(record::ALLOCATED), "backfill");
        EXPECT_EQ(driver.recorded(record::ALLOCATED)->job, brief);
        ASSERT_TRUE(numbers.backfill);
        EXPECT_EQ(numbers.backfill->first, waits);
        EXPECT_EQ(numbers.backfill->promised.start_ms, driver.job(first).limit_at_ms);
        EXPECT_EQ(numbers.backfill->promised.cores_left, 0);
        EXPECT_EQ(numbers.backfill->end_ms, driver.now_ms + 5 * MINUTE);
    }
}

TEST(StartNumbersTest, X1_a_malleable_job_is_grown_and_its_user_s_limit_cuts_it)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    driver.submit(malleable(2, 6));
    const Record *allocated = driver.recorded(record::ALLOCATED);
    StartNumbers numbers = reported(allocated, "start");
    EXPECT_EQ(std::tuple(numbers.least, numbers.fits, numbers.most), std::tuple(2, 2, 6));
    EXPECT_EQ(allocated->data.at("size"), 6);
    Config config = CoreDriver::config_of(PolicyKind::FILL);
    config.user_cores_max = 3;
    CoreDriver limited(config);
    limited.send(NodeUp{"n0", 8});
    limited.submit(malleable(2, 6));
    allocated = limited.recorded(record::ALLOCATED);
    EXPECT_EQ(reported(allocated, "start").user_most, 3);
    EXPECT_EQ(allocated->data.at("size"), 3);
}

/* Changes for other reasons than speed have a rule, too. */
TEST(StartNumbersTest, X1_a_user_and_a_drained_node_are_rules)
{
    CoreDriver driver(PolicyKind::FILL, 2, 4);
    JobSpec spec = malleable(1, 8);
    JobId job = driver.submit(spec);
    driver.run(job);
    driver.send(Drain{"d1", "n1", "broken"});
    const Record *requested = driver.recorded(record::REQUESTED);
    ASSERT_TRUE(requested);
    Json why = requested->data.at("why");
    EXPECT_EQ(why.at("rule"), "drain");
    int staying = why.at("staying").get<int>(), capacity = why.at("room").get<int>();
    int old_size = requested->data.at("old_size").get<int>();
    EXPECT_EQ(requested->data.at("size"),
              size_at_most(spec, std::min(old_size, staying + capacity)));
    driver.commit(job);
    driver.send(Resize{"r1", job, 2});
    requested = driver.recorded(record::REQUESTED);
    ASSERT_TRUE(requested);
    EXPECT_EQ(requested->data.at("why"), (Json{{"rule", "user"}, {"size", 2}}));
    EXPECT_TRUE(requested->data.at("by_user"));
}

TEST(StartNumbersTest, X1_growths_of_fill_record_their_limit)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId first = driver.submit(rigid(6));
    driver.run(first);
    JobId grows = driver.submit(malleable(1, 5));
    driver.run(grows);
    driver.wait(10 * MINUTE);
    driver.end(first);
    const Record *requested = driver.recorded(record::REQUESTED);
    ASSERT_TRUE(requested);
    EXPECT_EQ(requested->data.at("why"), (Json{{"rule", "expand"}, {"size", 5}, {"most", 5}}));
    EXPECT_EQ(requested->data.at("size"), 5);
}

}  // namespace
}  // namespace elastic::rm
