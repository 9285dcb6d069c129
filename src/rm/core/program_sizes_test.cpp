/* Sizes that a running program states as usable (MPIX_Adapt_sizes), and the core respects. */

#include "core/core.h"

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

JobId start(CoreDriver &driver, const JobSpec &spec, const char *rule)
{
    JobId id = driver.submit(spec);
    driver.send(StepStarted{{id, 1}});
    driver.send(StepSizes{id, 1, rule});
    EXPECT_EQ(driver.recorded(record::SIZES) != nullptr, *rule != '\0');
    driver.send(StepAdaptive{{id, 1}});
    return id;
}

TEST(ProgramSizesTest, they_narrow_what_was_submitted)
{
    JobSpec spec = malleable(2, 20);
    spec.size_rule = SizeRule::MULTIPLE;
    spec.size_multiple = 2;
    ASSERT_TRUE(set_program_sizes(spec, "1-16&square"));
    EXPECT_EQ(*spec.usable, (std::vector<SizeInterval>{{4, 4}, {16, 16}}));
    EXPECT_EQ(size_at_least(spec, 1), 4);
    EXPECT_EQ(size_at_least(spec, 5), 16);
    EXPECT_EQ(size_at_least(spec, 17), 0);
    EXPECT_EQ(size_at_most(spec, 15), 4);
    EXPECT_EQ(size_at_most(spec, 3), 0);
    EXPECT_FALSE(set_program_sizes(spec, "primes"));
    EXPECT_FALSE(spec.usable);
    EXPECT_EQ(size_at_most(spec, 15), 14);
}

TEST(ProgramSizesTest, a_rule_of_the_submission_outlives_the_step_and_a_restart)
{
    CoreDriver driver(PolicyKind::FILL, 1, 12);
    JobSpec spec = malleable(2, 12);
    spec.requeue = true;
    ASSERT_EQ(set_size_rule(spec, "divisor:10"), "");
    JobId id = start(driver, spec, "multiple:5");
    EXPECT_EQ(driver.job(id).size(), 10);
    auto again = Core::restore(driver.core.snapshot());
    ASSERT_TRUE(again);
    EXPECT_EQ(*again.value().state().jobs.at(id).spec.usable,
              (std::vector<SizeInterval>{{5, 5}, {10, 10}}));
    driver.send(StepLost{id, 1, "ended"});
    EXPECT_EQ(*driver.job(id).spec.usable,
              (std::vector<SizeInterval>{{2, 2}, {5, 5}, {10, 10}}));
    Update update;
    update.request = "u";
    update.job = id;
    update.maximum = 8;
    driver.send(update);
    EXPECT_EQ(*driver.job(id).spec.usable, (std::vector<SizeInterval>{{2, 2}, {5, 5}}));
}

TEST(ProgramSizesTest, a_user_is_refused_with_the_reason)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 8);
    JobSpec spec = malleable(2, 16);
    spec.preferred = 4;
    JobId id = start(driver, spec, "power_of_two");
    driver.send(Resize{"r1", id, 5});
    const Answer *answer = driver.last<Answer>();
    EXPECT_EQ(answer->code, AnswerCode::FIELD);
    EXPECT_NE(answer->message.find("its program can use 'power_of_two'"), std::string::npos)
        << answer->message;
    driver.send(Resize{"r2", id, 8});
    EXPECT_EQ(driver.last<ResizeStep>()->size, 8);
}

TEST(ProgramSizesTest, the_policy_offers_only_these)
{
    CoreDriver driver(PolicyKind::FILL, 1, 12);
    JobId id = start(driver, malleable(2, 12), "multiple:5,2");
    driver.wait(600000);
    /* started with all 12 cores: the first change reduces it to a size that the program can use,
     * if there is one */
    JobId other = driver.submit(rigid(2));
    driver.wait(600000);
    ASSERT_TRUE(driver.job(id).adaptation);
    EXPECT_EQ(driver.job(id).adaptation->size, 10);
    EXPECT_EQ(driver.job(other).state, JobState::PENDING);
}

TEST(ProgramSizesTest, a_program_that_can_use_none_of_them_is_left_alone)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId id = start(driver, malleable(2, 8), "64");
    driver.submit(rigid(4));
    driver.wait(600000);
    EXPECT_FALSE(driver.job(id).adaptation);
    driver.send(Resize{"r1", id, 4});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::FIELD);
}

TEST(ProgramSizesTest, they_outlive_a_restart_and_end_with_the_step)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 8);
    JobSpec spec = malleable(2, 8);
    spec.requeue = true;
    JobId id = start(driver, spec, "power_of_two");
    auto again = Core::restore(driver.core.snapshot());
    ASSERT_TRUE(again);
    EXPECT_EQ(*again.value().state().jobs.at(id).spec.usable,
              (std::vector<SizeInterval>{{2, 2}, {4, 4}, {8, 8}}));
    driver.send(StepLost{id, 1, "ended"});
    EXPECT_EQ(driver.job(id).spec.program_sizes, "");
    EXPECT_FALSE(driver.job(id).spec.usable);
}

TEST(ProgramSizesTest, what_is_no_rule_is_counted_and_nothing_else)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 8);
    JobId id = start(driver, malleable(2, 8), "");
    driver.send(StepSizes{id, 1, "2 4"});
    EXPECT_EQ(driver.core.state().unexpected, 1u);
    EXPECT_FALSE(driver.job(id).spec.usable);
    JobSpec size_request = malleable(1, 4);
    size_request.program_sizes = "2";   /* the submitter must not set it */
    EXPECT_EQ(driver.job(driver.submit(size_request)).spec.program_sizes, "");
}

}  // namespace
}  // namespace elastic::rm
