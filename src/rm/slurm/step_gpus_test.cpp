/* GPUs of a step of srun. */

#include "slurm/step_gpus.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

const JobSlots TWO_NODES{{{"a", 3}, {"b", 2}}, 1};
const std::string OF_JOB = "CUDA,ROCR:2:a=0,1,2,3,4,5;b=4,5,6,7";

/* Of a step that uses these slots; a slot per task. */
std::string gpus_of(std::vector<int> slots, const std::string &of_job = OF_JOB)
{
    Layout layout;
    layout.slots = std::move(slots);
    return gpus_of_step(of_job, TWO_NODES, layout);
}

TEST(StepGpusTest, steps_that_run_at_once_have_different_ones)
{
    EXPECT_EQ(gpus_of({0}), "CUDA,ROCR:2:a=0,1");
    EXPECT_EQ(gpus_of({1, 3}), "CUDA,ROCR:2:a=2,3;b=4,5");
    EXPECT_EQ(gpus_of({2, 4}), "CUDA,ROCR:2:a=4,5;b=6,7");
    EXPECT_EQ(gpus_of({0, 1, 2, 3, 4}), OF_JOB);
}

TEST(StepGpusTest, a_process_of_several_slots_has_those_of_its_first)
{
    Layout layout;
    layout.slots = {1, 2, 3, 4};
    layout.slots_per_task = 2;
    EXPECT_EQ(gpus_of_step(OF_JOB, TWO_NODES, layout), "CUDA,ROCR:2:a=2,3;b=4,5");
}

TEST(StepGpusTest, steps_that_overlap_have_all_of_the_job)
{
    EXPECT_EQ(gpus_of({}), OF_JOB);
}

TEST(StepGpusTest, gpus_of_nodes_are_shared)
{
    EXPECT_EQ(gpus_of({0}, "CUDA:0:a=0,1;b=0"), "CUDA:0:a=0,1;b=0");
}

TEST(StepGpusTest, what_is_not_understood_stays)
{
    for (const char *text : {"", "CUDA", "CUDA:2", "CUDA:x:a=1", "CUDA:2:a=0;b=0", "CUDA:1:;=;,"})
        EXPECT_EQ(gpus_of({0, 1}, text), text);
}

}  // namespace
}  // namespace elastic::rm
