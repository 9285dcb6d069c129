/* Names under which processes of running jobs are found (SPEC-dynamic-processes DN1). */

#include "core/core_driver.h"
#include "core/invariants.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

class NamesTest : public testing::Test {
  protected:
    NamesTest() : driver(PolicyKind::FILL, 2, 4) {}

    JobId run(uint32_t uid = 1000)
    {
        JobSpec spec = malleable(1, 1);
        spec.uid = uid;
        JobId id = driver.submit(spec);
        driver.run(id);
        return id;
    }
    AnswerCode publish(JobId id, const std::string &name, const std::string &port)
    {
        driver.send(PublishName{"p" + std::to_string(++requests), id, name, port});
        return driver.last<Answer>()->code;
    }
    AnswerCode withdraw(JobId id, const std::string &name)
    {
        driver.send(WithdrawName{"w" + std::to_string(++requests), id, name});
        return driver.last<Answer>()->code;
    }
    JobId owner(const std::string &name, uint32_t uid = 1000)
    {
        const Job *job = driver.core.state().owner_of_name(uid, name);
        return job ? job->id : 0;
    }

    CoreDriver driver;
    int requests = 0;
};

TEST_F(NamesTest, a_name_has_one_job_of_its_user)
{
    JobId first = run(), second = run(), another = run(2000);
    EXPECT_EQ(publish(first, "sums", "a"), AnswerCode::OK);
    EXPECT_EQ(publish(second, "sums", "b"), AnswerCode::STATE);
    EXPECT_EQ(publish(another, "sums", "c"), AnswerCode::OK) << "each user has names of his own";
    EXPECT_EQ(owner("sums"), first);
    EXPECT_EQ(owner("sums", 2000), another);
    EXPECT_EQ(publish(first, "sums", "d"), AnswerCode::OK) << "its own it may replace";
    EXPECT_EQ(driver.job(first).names.size(), 1u);
    EXPECT_EQ(driver.job(first).names[0].port, "d");
    EXPECT_EQ(withdraw(second, "sums"), AnswerCode::UNKNOWN);
    EXPECT_EQ(withdraw(first, "sums"), AnswerCode::OK);
    EXPECT_EQ(publish(second, "sums", "b"), AnswerCode::OK);
}

TEST_F(NamesTest, they_go_with_the_job)
{
    JobId id = run();
    publish(id, "sums", "a");
    EXPECT_EQ(driver.recorded(record::NAME_PUBLISHED)->data.at("name"), "sums");
    driver.end(id);
    EXPECT_EQ(driver.recorded(record::NAME_WITHDRAWN)->data.at("name"), "sums");
    EXPECT_EQ(owner("sums"), 0u);
    EXPECT_EQ(publish(id, "sums", "a"), AnswerCode::STATE);
    EXPECT_EQ(publish(77, "sums", "a"), AnswerCode::UNKNOWN);
}

TEST_F(NamesTest, of_a_holder_that_has_ended_they_are_withdrawn)
{
    JobId id = run(), other = run();
    auto publish_of = [&](const std::string &holder) {
        driver.send(PublishName{"h" + std::to_string(++requests), id, "sums", "a", holder});
        return driver.last<Answer>()->code;
    };
    auto withdraw_of = [&](const std::string &holder) {
        driver.send(WithdrawName{"g" + std::to_string(++requests), id, "sums", holder});
        return driver.last<Answer>()->code;
    };
    EXPECT_EQ(publish_of(std::string(HOLDER_BYTES_MAX + 1, '1')), AnswerCode::FIELD);
    EXPECT_EQ(publish_of("7 100"), AnswerCode::OK);
    EXPECT_EQ(publish_of("8 200"), AnswerCode::OK) << "the same port, of another mpiexec";
    EXPECT_EQ(withdraw_of("7 100"), AnswerCode::UNKNOWN) << "that had it before";
    EXPECT_EQ(owner("sums"), id);
    auto restored = Core::restore(driver.core.snapshot());
    ASSERT_TRUE(restored) << restored.error();
    EXPECT_EQ(restored.value().state().job(id)->names.at(0).holder, "8 200");
    EXPECT_EQ(withdraw_of("8 200"), AnswerCode::OK);
    EXPECT_EQ(publish(other, "sums", "b"), AnswerCode::OK);
}

TEST_F(NamesTest, number_and_length_have_bounds)
{
    JobId id = run();
    EXPECT_EQ(publish(id, "", "a"), AnswerCode::FIELD);
    EXPECT_EQ(publish(id, "two\nlines", "a"), AnswerCode::FIELD);
    EXPECT_EQ(publish(id, std::string(NAME_BYTES_MAX + 1, 'x'), "a"), AnswerCode::FIELD);
    EXPECT_EQ(publish(id, "x", std::string(PORT_BYTES_MAX + 1, 'x')), AnswerCode::FIELD);
    for (size_t i = 0; i < JOB_NAMES_MAX; i++)
        EXPECT_EQ(publish(id, "n" + std::to_string(i), "a"), AnswerCode::OK);
    EXPECT_EQ(publish(id, "one more", "a"), AnswerCode::LIMIT);
    EXPECT_EQ(publish(id, "n7", "b"), AnswerCode::OK);
}

TEST_F(NamesTest, a_restored_core_knows_them)
{
    JobId id = run();
    publish(id, "sums", "a");
    auto restored = Core::restore(driver.core.snapshot());
    ASSERT_TRUE(restored) << restored.error();
    const Job *owner = restored.value().state().owner_of_name(1000, "sums");
    ASSERT_TRUE(owner);
    EXPECT_EQ(owner->names[0].port, "a");
}

}  // namespace
}  // namespace elastic::rm
