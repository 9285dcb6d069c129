/* Tests of job_list.h: states of jobs as entered by users. */

#include <gtest/gtest.h>

#include "cli/job_list.h"

namespace elastic {

TEST(JobListTest, states_have_names_and_codes_in_any_case)
{
    EXPECT_EQ(parse_job_states("r,Pending").value(), "RUNNING,PENDING");
    EXPECT_EQ(parse_job_states("CD,f,ca").value(), "DONE,FAILED,CANCELLED");
    EXPECT_EQ(parse_job_states("completed,CONFIGURING,resizing").value(), "DONE,STARTING,ADAPTING");
    EXPECT_EQ(parse_job_states("all").value(),
              "PENDING,STARTING,RUNNING,ADAPTING,SUSPENDED,COMPLETING,DONE,FAILED,CANCELLED");
    EXPECT_EQ(parse_job_states("").value(), "");
}

TEST(JobListTest, an_unknown_state_is_named_with_those_that_there_are)
{
    for (const char *wrong : {"timeout", "r,,pd", "RUN", " r"}) {
        auto states = parse_job_states(wrong);
        ASSERT_FALSE(states) << wrong;
        EXPECT_NE(states.error().find("pending, starting, running"), std::string::npos);
    }
    EXPECT_EQ(parse_job_states("xyz").error().rfind("there is no state 'xyz' of jobs", 0), 0u);
}

TEST(JobListTest, some_states_are_ends)
{
    EXPECT_TRUE(names_an_end("RUNNING,FAILED"));
    EXPECT_TRUE(names_an_end(parse_job_states("all").value()));
    EXPECT_FALSE(names_an_end("RUNNING,PENDING"));
    EXPECT_FALSE(names_an_end(""));
}

}  // namespace elastic
