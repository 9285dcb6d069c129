/* Size requests of running programs, under each policy. */

#include "core/core_driver.h"
#include "core/policy/policy.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

SizeRequest request_for(uint64_t number, int size, int minimum = 0, int maximum = 0)
{
    SizeRequest size_request;
    size_request.mpiexec = "4711";
    size_request.number = number;
    size_request.size = size;
    size_request.minimum = minimum > 0 ? minimum : size;
    size_request.maximum = maximum > 0 ? maximum : size;
    return size_request;
}

SizeRequest waited_for(uint64_t number, int size, int minimum = 0)
{
    SizeRequest size_request = request_for(number, size, minimum);
    size_request.waits = true;
    return size_request;
}

class SizeRequestTest : public testing::TestWithParam<PolicyKind> {
  protected:
    SizeRequestTest() : driver(GetParam(), 2, 8) {}

    /* A job of 1 to 12 processes that runs with `size` of them, if the policy does not change
     * it. */
    JobId run(int size)
    {
        JobSpec spec = malleable(1, 12);
        spec.preferred = size;
        JobId id = driver.submit(spec);
        driver.run(id);
        stabilize(id);
        if (driver.job(id).size() != size) {
            driver.send(Resize{"resize", id, size});
            stabilize(id);
        }
        EXPECT_EQ(driver.job(id).size(), size);
        return id;
    }
    /* Until the policy changes nothing. */
    void stabilize(JobId id)
    {
        for (int i = 0; i < 20; i++) {
            while (driver.job(id).adaptation)
                driver.commit(id);
            driver.wait(2000);
        }
    }
    void make(JobId id, const SizeRequest &size_request)
    {
        driver.send(StepSizeRequest{id, driver.job(id).step, size_request});
    }
    void granted(JobId id, uint64_t number)
    {
        driver.send(StepSizeRequestEnded{id, driver.job(id).step, "4711", number, "granted", ""});
    }
    int size(JobId id) { return driver.job(id).size(); }

    CoreDriver driver;
};

TEST_P(SizeRequestTest, a_smaller_size_is_given_at_once)
{
    JobId id = run(8);
    make(id, request_for(1, 3));
    ASSERT_TRUE(driver.recorded(record::SIZE_REQUESTED));
    const Record *requested = driver.recorded(record::REQUESTED);
    ASSERT_TRUE(requested);
    EXPECT_EQ(requested->data.at("size"), 3);
    EXPECT_EQ(requested->data.at("why").at("rule"), "wish");
    EXPECT_EQ(requested->data.at("why").at("wish"), 1);
    driver.commit(id);
    granted(id, 1);
    EXPECT_EQ(driver.recorded(record::REQUEST_ENDED)->data.at("result"), "granted");
    stabilize(id);
    EXPECT_EQ(size(id), 3) << "it is not grown beyond what it wanted";
    make(id, request_for(2, 20));
    EXPECT_TRUE(driver.last<RefuseSizeRequest>());
    stabilize(id);
    EXPECT_EQ(size(id), 3) << "what is refused changes nothing";
}

TEST_P(SizeRequestTest, a_greater_one_when_cores_are_there)
{
    JobId id = run(4);
    JobId other = driver.submit(rigid(8));
    driver.run(other);
    make(id, request_for(1, 10));
    stabilize(id);
    EXPECT_EQ(size(id), 8) << "as far as it goes";
    EXPECT_TRUE(driver.job(id).size_request);
    driver.end(other);
    stabilize(id);
    EXPECT_EQ(size(id), 10);
}

TEST_P(SizeRequestTest, what_the_job_cannot_have_is_refused_with_the_reason)
{
    JobId id = run(4);
    make(id, request_for(1, 20));
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_EQ(driver.last<RefuseSizeRequest>()->reason,
              "the job was submitted for 1 to 12 processes");
    EXPECT_EQ(driver.recorded(record::REQUEST_ENDED)->data.at("result"), "refused");
    EXPECT_FALSE(driver.job(id).size_request);
    make(id, request_for(1, 20));
    EXPECT_TRUE(driver.last<RefuseSizeRequest>()) << "the refusal was dropped";
    EXPECT_FALSE(driver.recorded(record::SIZE_REQUESTED));
    make(id, request_for(2, 20, 6, 20));
    EXPECT_FALSE(driver.last<RefuseSizeRequest>());
    stabilize(id);
    EXPECT_EQ(size(id), 12) << "the greatest that it can have";
}

TEST_P(SizeRequestTest, the_sizes_that_the_program_can_use_count)
{
    JobId id = run(4);
    driver.send(StepSizes{id, 1, "power_of_two"});
    make(id, request_for(1, 7, 5, 12));
    EXPECT_EQ(driver.job(id).size_request->target, 8)
        << "there is no smaller one that the request allows";
    driver.send(StepSizes{id, 1, "1-6"});
    EXPECT_EQ(driver.job(id).size_request->target, 6);
    driver.send(StepSizes{id, 1, "4"});
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_NE(driver.last<RefuseSizeRequest>()->reason.find("its program can use '4'"),
              std::string::npos)
        << driver.last<RefuseSizeRequest>()->reason;
}

TEST_P(SizeRequestTest, a_job_that_cannot_change_is_refused)
{
    JobId id = driver.submit(rigid(4));
    driver.run(id);
    make(id, request_for(1, 2));
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_NE(driver.last<RefuseSizeRequest>()->reason.find("not submitted as malleable"),
              std::string::npos);
}

TEST_P(SizeRequestTest, its_user_has_the_last_word)
{
    JobId id = run(4);
    JobId other = driver.submit(rigid(12));
    driver.run(other);
    make(id, request_for(1, 10));
    driver.send(Resize{"user", id, 2});
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_EQ(driver.last<RefuseSizeRequest>()->reason, "its user has requested 2 processes");
    stabilize(id);
    make(id, request_for(2, 3));
    stabilize(id);
    EXPECT_EQ(size(id), 3) << "and the program after that";
}

TEST_P(SizeRequestTest, a_repeated_report_changes_nothing)
{
    JobId id = run(8);
    make(id, request_for(1, 8, 2, 8));
    granted(id, 1);
    make(id, request_for(1, 8, 2, 8));
    EXPECT_FALSE(driver.job(id).size_request) << "an old word";
    make(id, request_for(2, 6));
    stabilize(id);
    EXPECT_EQ(size(id), 6);
    granted(id, 1);
    EXPECT_TRUE(driver.job(id).size_request) << "an old word";
    granted(id, 2);
    SizeRequest next = request_for(1, 5);
    next.mpiexec = "4712";
    make(id, next);
    stabilize(id);
    EXPECT_EQ(size(id), 5) << "the next mpiexec of the script counts anew";
}

TEST_P(SizeRequestTest, ends_with_the_job)
{
    JobId id = run(4);
    JobId other = driver.submit(rigid(12));
    driver.run(other);
    make(id, request_for(1, 10));
    driver.end(id);
    EXPECT_EQ(driver.recorded(record::REQUEST_ENDED)->data.at("result"), "withdrawn");
}

/* SC6: processes stand still until it ends. */
TEST_P(SizeRequestTest, one_that_processes_wait_for_is_granted_or_refused_at_once)
{
    JobId id = run(4);
    JobId other = driver.submit(rigid(8));
    driver.run(other);
    for (uint64_t number = 1; number <= 6; number += 5) {
        make(id, waited_for(number, 8));
        ASSERT_TRUE(driver.last<ResizeStep>()) << "whatever the pause between two changes";
        EXPECT_EQ(driver.last<ResizeStep>()->size, 8);
        driver.commit(id);
        EXPECT_FALSE(driver.last<RefuseSizeRequest>()) << "it now has it";
        granted(id, number);
        make(id, waited_for(number + 1, 9));
        ASSERT_TRUE(driver.last<RefuseSizeRequest>());
        EXPECT_EQ(driver.last<RefuseSizeRequest>()->reason,
                  "no cores are free for more than 8 processes");
        EXPECT_FALSE(driver.job(id).size_request);
        make(id, waited_for(number + 2, 4));
        ASSERT_TRUE(driver.last<ResizeStep>());
        driver.commit(id, false);
        granted(id, number + 2);
        make(id, waited_for(number + 3, 9, 5));
        EXPECT_FALSE(driver.last<RefuseSizeRequest>() || driver.last<ResizeStep>())
            << "what its own processes leave is given back";
        driver.send(StepFreed{id, 1, driver.job(id).epoch});
        ASSERT_TRUE(driver.last<ResizeStep>());
        EXPECT_EQ(driver.last<ResizeStep>()->size, 8) << "as far as it goes";
        driver.commit(id);
        granted(id, number + 3);
        make(id, waited_for(number + 4, 4));
        driver.commit(id);
        granted(id, number + 4);
    }
}

TEST_P(SizeRequestTest, one_that_processes_wait_for_waits_while_cores_are_given_back)
{
    JobId id = run(4);
    JobId other = driver.submit(rigid(12));
    driver.run(other);
    driver.send(Cancel{"c", other});
    make(id, waited_for(1, 9));
    EXPECT_FALSE(driver.last<RefuseSizeRequest>());
    driver.end(other);
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 9);
}

TEST_P(SizeRequestTest, one_that_processes_wait_for_ends_with_the_change_that_fails)
{
    JobId id = run(4);
    JobId other = driver.submit(rigid(8));
    driver.run(other);
    make(id, waited_for(1, 8));
    ASSERT_TRUE(driver.job(id).adaptation);
    driver.send(StepFailed{{id, 1, driver.job(id).adaptation->request, "a joining process died"}});
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_EQ(driver.last<RefuseSizeRequest>()->reason, "the last change failed");
    make(id, waited_for(2, 8));
    EXPECT_TRUE(driver.last<ResizeStep>()) << "another call is no offer that pauses";
}

TEST_P(SizeRequestTest, who_waits_is_refused_in_favour_of_jobs_that_wait)
{
    JobId id = run(4);
    JobId other = driver.submit(rigid(12)), waiting = driver.submit(rigid(16));
    driver.run(other);
    make(id, waited_for(1, 9));
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_EQ(driver.last<RefuseSizeRequest>()->reason, "other jobs wait for cores");
    EXPECT_EQ(driver.job(waiting).state, JobState::PENDING);
}

TEST_P(SizeRequestTest, rubbish_is_counted)
{
    JobId id = run(4);
    uint64_t before = driver.core.state().unexpected;
    make(id, request_for(0, 4));
    make(id, request_for(1, 4, 5, 6));
    make(id, request_for(1, 1 << 21));
    SizeRequest size_request = request_for(1, 4);
    size_request.reason = std::string(256, 'x');
    make(id, size_request);
    EXPECT_EQ(driver.core.state().unexpected, before + 4);
    EXPECT_FALSE(driver.job(id).size_request);
}

INSTANTIATE_TEST_SUITE_P(policies, SizeRequestTest,
                         testing::Values(PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                                         PolicyKind::EFFICIENT, PolicyKind::MEASURED),
                         [](const auto &each) { return std::string(to_string(each.param)); });

}  // namespace
}  // namespace elastic::rm
