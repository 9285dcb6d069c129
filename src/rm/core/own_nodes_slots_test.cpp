/* Slots with a back end that requests whole nodes: they are on the nodes that the job already
 * has. */

#include "core/slots_fixture.h"

namespace elastic::rm {
namespace {

class SlotsOnOwnNodesTest : public SlotsTest {
  protected:
    SlotsOnOwnNodesTest()
    {
        Config config = CoreDriver::config_of(GetParam());
        config.asynchronous_nodes = config.whole_nodes = true;
        driver.send(Configure{config});
    }
    /* This number of processes on n0, and then n1, with capacity for slots beside them. */
    JobId run_on_nodes(int size, int extra_slots)
    {
        JobSpec spec = malleable(1, size);
        spec.preferred = size;
        spec.extra_slots = extra_slots;
        JobId id = driver.submit(spec);
        driver.send(NodesAcquired{id, 1, 0, driver.job(id).blocks});
        driver.run(id);
        for (int i = 0; i < 10 && driver.job(id).size() < size; i++) {
            driver.wait(60000);
            if (!driver.job(id).adaptation)
                continue;
            uint64_t request = driver.job(id).adaptation->request;
            driver.send(NodesAcquired{id, 1, request, driver.job(id).adaptation->joining});
            driver.commit(id);
        }
        EXPECT_EQ(driver.job(id).size(), size);
        return id;
    }
    /* A step whose leaving processes have ended. */
    void shrink(JobId id, int size)
    {
        driver.send(Resize{"r" + std::to_string(size), id, size});
        driver.commit(id);
        const ReleaseNodes *release = driver.last<ReleaseNodes>();
        ASSERT_TRUE(release);
        driver.send(NodesReleased{id, 1, release->request, false});
    }
    bool is_booked(const std::string &node) { return driver.node(node).used > 0; }
};

TEST_P(SlotsOnOwnNodesTest, slots_are_on_nodes_of_the_job)
{
    JobId id = run_on_nodes(1, 8);
    report_slots(id, 0, {}, {slot_request_of(1, 3, true)});
    ASSERT_TRUE(driver.last<GrantSlots>());
    EXPECT_EQ(driver.last<GrantSlots>()->blocks, (Blocks{{"n0", 3}}));
    EXPECT_FALSE(is_booked("n1"));
    report_slots(id, 1, {{"n0", 3}}, {slot_request_of(2, 2, false), slot_request_of(3, 1, true)});
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_EQ(driver.last<RefuseSizeRequest>()->size_request, 2u) << "who does not wait";
    EXPECT_FALSE(driver.last<GrantSlots>());
    report_slots(id, 1, {{"n0", 1}}, {slot_request_of(3, 1, true)});
    ASSERT_TRUE(driver.last<GrantSlots>()) << "what has been given back";
    EXPECT_EQ(driver.last<GrantSlots>()->blocks, (Blocks{{"n0", 1}}));
}

TEST_P(SlotsOnOwnNodesTest, requests_beyond_their_capacity_are_refused)
{
    JobId id = run_on_nodes(1, 8);
    auto refused = [&](const SlotRequest &slot_request, const std::string &why) {
        report_slots(id, 0, {}, {slot_request});
        ASSERT_TRUE(driver.last<RefuseSizeRequest>()) << slot_request.number;
        const std::string &reason = driver.last<RefuseSizeRequest>()->reason;
        EXPECT_NE(reason.find(why), std::string::npos) << reason;
        EXPECT_NE(reason.find("salloc"), std::string::npos) << reason;
        EXPECT_LE(reason.size(), REQUEST_REASON_BYTES_MAX) << "it reaches the program as a whole";
    };
    refused(slot_request_of(1, 4, true), "the nodes of the job have capacity for 3 beside");
    refused(exclusive_request(2, 2, true), "capacity for 1 (exclusive)");
    refused(slot_request_of(3, 1, true, "n1"), "of the job's nodes n1 has capacity for 0");
    report_slots(id, 0, {}, {slot_request_of(4, 3, true, "n0")});
    ASSERT_TRUE(driver.last<GrantSlots>());
    EXPECT_EQ(driver.last<GrantSlots>()->size_request, 4u);
}

TEST_P(SlotsOnOwnNodesTest, others_that_wait_for_nodes_do_not_matter)
{
    JobId id = run_on_nodes(1, 8);
    driver.send(NodesWanted{1, "Slurm job 7"});
    report_slots(id, 0, {}, {slot_request_of(1, 2, true)});
    EXPECT_TRUE(driver.last<GrantSlots>());
}

TEST_P(SlotsOnOwnNodesTest, a_node_with_slots_is_released_with_them)
{
    JobId id = run_on_nodes(5, 4);
    ASSERT_EQ(driver.job(id).blocks, (Blocks{{"n0", 4}, {"n1", 1}}));
    report_slots(id, 0, {}, {slot_request_of(1, 2, true)});
    ASSERT_TRUE(driver.last<GrantSlots>());
    EXPECT_EQ(driver.last<GrantSlots>()->blocks, (Blocks{{"n1", 2}}));
    report_slots(id, 1, {{"n1", 2}}, {});
    shrink(id, 4);
    EXPECT_TRUE(driver.job(id).departures.empty());
    EXPECT_TRUE(is_booked("n1"));
    report_slots(id, 1, {{"n1", 1}}, {});
    EXPECT_FALSE(driver.last<ReleaseNodes>()) << "one is left";
    report_slots(id, 1, {{"n1", 1}}, {slot_request_of(2, 1, true)});
    ASSERT_TRUE(driver.last<GrantSlots>()) << "it is the job's as long as that";
    report_slots(id, 2, {}, {});
    const ReleaseNodes *release = driver.last<ReleaseNodes>();
    ASSERT_TRUE(release);
    EXPECT_EQ(release->blocks, (Blocks{{"n1", 2}}));
    EXPECT_FALSE(release->all);
    EXPECT_TRUE(is_booked("n1")) << "until it has been taken back";
    uint64_t request = release->request;
    report_slots(id, 2, {}, {slot_request_of(3, 1, false)});
    EXPECT_FALSE(driver.last<GrantSlots>()) << "not there any more";
    driver.send(NodesReleased{id, 1, request, false});
    EXPECT_FALSE(is_booked("n1"));
}

TEST_P(SlotsOnOwnNodesTest, a_request_beyond_the_capacity_of_a_smaller_job_is_refused)
{
    JobId id = run_on_nodes(5, 8);
    report_slots(id, 0, {}, {slot_request_of(1, 3, true), slot_request_of(2, 3, true)});
    ASSERT_TRUE(driver.last<GrantSlots>());
    report_slots(id, 1, {}, {slot_request_of(2, 3, true)});
    ASSERT_TRUE(driver.last<GrantSlots>());
    report_slots(id, 2, {}, {});
    shrink(id, 4);
    report_slots(id, 2, {}, {slot_request_of(3, 1, true)});
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_NE(driver.last<RefuseSizeRequest>()->reason.find("capacity for 0"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Policies, SlotsOnOwnNodesTest, every_policy(), policy_name);

}  // namespace
}  // namespace elastic::rm
