#include "core/jobs.h"

#include <gtest/gtest.h>

#include <random>

namespace elastic::rm {
namespace {

TEST(JobMapTest, values_are_found_by_number_and_do_not_move)
{
    JobMap<int> map;
    std::vector<JobId> ids = {1, 63, 64, 65, 1000000, 1ull << 40};
    std::vector<int *> values;
    for (JobId id : ids) {
        auto [value, is_new] = map.add(id);
        EXPECT_TRUE(is_new && value == 0) << id;
        value = static_cast<int>(values.size());
        values.push_back(&value);
    }
    for (size_t i = 0; i < ids.size(); i++) {
        EXPECT_EQ(map.find(ids[i]), values[i]) << ids[i];
        EXPECT_EQ(*values[i], static_cast<int>(i));
        EXPECT_FALSE(map.add(ids[i]).second);
    }
    for (JobId other : {0, 2, 66, 999999})
        EXPECT_EQ(map.find(other), nullptr) << other;
    map.erase(64);
    map.erase(64);
    map.erase(77);
    EXPECT_EQ(map.find(64), nullptr);
    EXPECT_EQ(*map.find(65), 3);
    EXPECT_TRUE(map.add(64).second);
    map.clear();
    EXPECT_EQ(map.find(1), nullptr);
}

std::map<JobId, std::string> reasons(const Jobs &jobs)
{
    std::map<JobId, std::string> reasons;
    for (const auto &[id, job] : jobs)
        reasons[id] = job.reason;
    return reasons;
}

/* Jobs are added, change and are removed between the parts: the snapshot shows its beginning. */
TEST(JobsTest, a_picture_taken_in_parts_is_of_one_moment)
{
    constexpr int ROUNDS = 300;
    std::mt19937_64 random(1);
    Jobs jobs;
    JobId last = 0;
    uint64_t changes = 0, discarded = 0, met = 0;
    auto any = [&] { return jobs.lower_bound(random() % (last + 1))->first; };
    auto happen = [&] {
        switch (random() % 4) {
            case 0: jobs.add(++last).reason = "new"; break;
            case 1:
                if (jobs.size() > 10) {         /* the last one stays */
                    jobs.discard(jobs.begin()->first);
                    discarded++;
                }
                break;
            default:
                jobs.change(any()).reason = std::to_string(++changes);
        }
    };
    for (int i = 0; i < 50; i++)
        jobs.add(++last);
    for (int round = 0; round < ROUNDS; round++) {
        std::map<JobId, std::string> wanted = reasons(jobs), picture;
        JobId before = 0;
        jobs.begin_picture();
        bool more = true;
        /* One in ten is dropped. */
        for (int parts = 0; more && (round % 10 != 0 || parts < 3); parts++) {
            for (uint64_t i = random() % 8; i > 0; i--)
                happen();
            more = jobs.next_of_picture(1 + random() % 9, [&](const Job &job) {
                EXPECT_GT(job.id, before);
                before = job.id;
                picture[job.id] = job.reason;
            });
        }
        if (more)
            continue;
        EXPECT_EQ(picture, wanted) << "round " << round;
        met += picture != reasons(jobs);
    }
    EXPECT_GT(met, 200u) << "nothing has changed meanwhile";
    EXPECT_GT(discarded, 50u);
}

}  // namespace
}  // namespace elastic::rm
