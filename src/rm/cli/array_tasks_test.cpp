#include "cli/array_tasks.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

Json task(int id, int index, const char *state, bool held = false)
{
    return {{"id", id},
            {"state", state},
            {"held", held},
            {"array", {{"job", 12}, {"index", index}, {"indices", "1-6%2"}}}};
}

TEST(ArrayTasksTest, names)
{
    for (const char *text : {"12", "12_0", "12_3", "12_[1-5]", "12_[1-5:2,7]", "12_[4-9%2]"})
        EXPECT_TRUE(is_job_name(text)) << text;
    for (const char *text : {"", "0", "x", "12_", "12_x", "12_[", "12_[]", "12_[1-5", "12_1-5]",
                             "_3", "12_[1]2]", "12_-1", "12_[5-1]", "12_[1:2]", "12_[1,]",
                             "12_[-1]", "12_[%2]", "12_[1-5%]", "12_[1-5%0]", "12_[1-2-3]",
                             "12_[99999999999]"})
        EXPECT_FALSE(is_job_name(text)) << text;
    EXPECT_EQ(job_name({{"id", 3}, {"array", nullptr}}), "3");
    for (const Json &odd : {Json(), Json::array(), Json::object()})
        EXPECT_EQ(job_name(odd), "-");
    EXPECT_EQ(job_name(task(14, 3, "RUNNING")), "12_3");
}

TEST(ArrayTasksTest, lists_of_names)
{
    using Names = std::vector<std::string>;
    EXPECT_EQ(split_names("3,12_[1-2,5],4"), (Names{"3", "12_[1-2,5]", "4"}));
    EXPECT_EQ(split_names("3:12_[1-5:2],4", ",:"), (Names{"3", "12_[1-5:2]", "4"}));
    EXPECT_EQ(split_names(""), (Names{""}));
    EXPECT_EQ(wrong_with_names("3,12_[1-2,5],12_7"), "");
    EXPECT_TRUE(wrong_with_names("3,x").starts_with("'x' is not a job: a job has a number"));
    EXPECT_EQ(each_task("12"), (Names{"12"}));
    EXPECT_EQ(each_task("12_3"), (Names{"12_3"}));
    EXPECT_EQ(each_task("12_[1-6:2,9%2]"), (Names{"12_1", "12_3", "12_5", "12_9"}));
    EXPECT_EQ(each_task("12_[1-1000]").size(), TASKS_MAX);
    EXPECT_TRUE(each_task("12_[0-1000]").empty()) << "too many";
    EXPECT_TRUE(each_task("x").empty());
}

TEST(ArrayTasksTest, tasks_that_wait_are_one_row)
{
    std::vector<Json> jobs = {task(12, 1, "RUNNING"), {{"id", 30}, {"state", "PENDING"}},
                              task(15, 4, "PENDING"), task(14, 3, "PENDING"),
                              task(17, 6, "PENDING", true), task(13, 2, "RUNNING")};
    std::vector<std::string> names;
    for (const Json &row : merge_waiting_tasks(jobs))
        names.push_back(job_name(row));
    EXPECT_EQ(names, (std::vector<std::string>{"12_1", "30", "12_[3-4%2]", "12_6", "12_2"}));
}

}  // namespace
}  // namespace elastic
