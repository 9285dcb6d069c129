/* What a record `placed` says of why a job starts; SPEC-performance X1.  (That each record's rule
 * and size follow from its `why` alone, whatever happens, is looked at in all tests and
 * simulations: Monitor, invariants.h.) */

#include "core/policy/start_numbers.h"

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

constexpr int64_t MINUTE = 60000;

StartNumbers numbers_of(int least, int wanted, int room, int fits, int most)
{
    StartNumbers numbers;
    numbers.least = least;
    numbers.wanted = wanted;
    numbers.room = room;
    numbers.fits = fits;
    numbers.most = most;
    return numbers;
}

TEST(StartNumbersTest, X1_in_its_turn_it_starts_with_what_is_wanted_or_with_the_least)
{
    EXPECT_EQ(start_rule(numbers_of(2, 8, 8, 8, 8)), StartRule::START);
    EXPECT_EQ(start_rule(numbers_of(2, 8, 7, 2, 8)), StartRule::START);
    EXPECT_FALSE(start_rule(numbers_of(2, 8, 8, 2, 8))) << "there is room for more";
    EXPECT_FALSE(start_rule(numbers_of(2, 8, 7, 8, 8))) << "there is no room for that";
    EXPECT_FALSE(start_rule(numbers_of(2, 8, 1, 2, 8)));
    EXPECT_FALSE(start_rule(StartNumbers()));
}

TEST(StartNumbersTest, X1_who_goes_ahead_leaves_what_is_promised)
{
    StartNumbers numbers = numbers_of(2, 2, 4, 2, 2);
    numbers.cores_per_process = 2;
    numbers.ahead = GoingAhead{7, {1000, 0}, {}, 1000};
    EXPECT_EQ(start_rule(numbers), StartRule::BACKFILL) << "it ends in time";
    numbers.ahead->end_ms = 1001;
    EXPECT_FALSE(start_rule(numbers));
    numbers.ahead->promised.cores_left = 4;
    EXPECT_EQ(start_rule(numbers), StartRule::BACKFILL) << "beside it";
    numbers.ahead->promised.cores_left = 3;
    EXPECT_FALSE(start_rule(numbers));
    numbers.ahead->promised = {NEVER, 100};
    EXPECT_EQ(start_rule(numbers), StartRule::BACKFILL)
        << "that one's turn is not known; this one ends";
    numbers.ahead->end_ms = NEVER;
    EXPECT_FALSE(start_rule(numbers));
    numbers.ahead = GoingAhead{7, {1000, 0}, StartAhead{500, 3}, 1000};
    EXPECT_FALSE(start_rule(numbers)) << "it is to start sooner by a balance";
    numbers.ahead->expected->cores_left = 4;
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
StartNumbers told(const Record *record, const char *rule)
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

TEST(StartNumbersTest, X1_each_policy_says_start_and_backfill)
{
    for (PolicyKind kind : {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                            PolicyKind::EFFICIENT, PolicyKind::MEASURED}) {
        CoreDriver driver(kind, 2, 4);
        JobId first = driver.submit(rigid(6, 10 * MINUTE));
        StartNumbers numbers = told(driver.recorded(record::PLACED), "start");
        EXPECT_EQ(numbers.fits, 6);
        EXPECT_EQ(numbers.room, 8);
        driver.run(first);
        JobId waits = driver.submit(rigid(8, 10 * MINUTE));
        EXPECT_FALSE(driver.recorded(record::PLACED));
        JobId brief = driver.submit(rigid(1, 5 * MINUTE));
        if (kind == PolicyKind::FCFS) {
            EXPECT_FALSE(driver.recorded(record::PLACED)) << "nobody goes ahead";
            continue;
        }
        numbers = told(driver.recorded(record::PLACED), "backfill");
        EXPECT_EQ(driver.recorded(record::PLACED)->job, brief);
        ASSERT_TRUE(numbers.ahead);
        EXPECT_EQ(numbers.ahead->first, waits);
        EXPECT_EQ(numbers.ahead->promised.start_ms, driver.job(first).limit_at_ms);
        EXPECT_EQ(numbers.ahead->promised.cores_left, 0);
        EXPECT_EQ(numbers.ahead->end_ms, driver.now_ms + 5 * MINUTE);
    }
}

TEST(StartNumbersTest, X1_a_malleable_job_is_grown_and_its_user_s_limit_cuts_it)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    driver.submit(malleable(2, 6));
    const Record *placed = driver.recorded(record::PLACED);
    StartNumbers numbers = told(placed, "start");
    EXPECT_EQ(std::tuple(numbers.least, numbers.fits, numbers.most), std::tuple(2, 2, 6));
    EXPECT_EQ(placed->data.at("size"), 6);
    Config config = CoreDriver::config_of(PolicyKind::FILL);
    config.user_cores_max = 3;
    CoreDriver limited(config);
    limited.send(NodeUp{"n0", 8});
    limited.submit(malleable(2, 6));
    placed = limited.recorded(record::PLACED);
    EXPECT_EQ(told(placed, "start").user_most, 3);
    EXPECT_EQ(placed->data.at("size"), 3);
}

/* Changes that are made for other reasons than speed have a rule, too. */
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
    int staying = why.at("staying").get<int>(), room = why.at("room").get<int>();
    int old_size = requested->data.at("old_size").get<int>();
    EXPECT_EQ(requested->data.at("size"), size_at_most(spec, std::min(old_size, staying + room)));
    driver.commit(job);
    driver.send(Resize{"r1", job, 2});
    requested = driver.recorded(record::REQUESTED);
    ASSERT_TRUE(requested);
    EXPECT_EQ(requested->data.at("why"), (Json{{"rule", "user"}, {"size", 2}}));
    EXPECT_TRUE(requested->data.at("by_user"));
}

TEST(StartNumbersTest, X1_of_fill_growths_say_how_far_they_may_go)
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
