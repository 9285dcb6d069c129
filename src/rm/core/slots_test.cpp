/* Slots beside the worlds of running jobs, under each policy (SPEC-dynamic-processes DA1, DA2). */

#include "core/slots_fixture.h"

namespace elastic::rm {
namespace {

TEST_P(SlotsTest, a_hard_request_is_granted_in_parts)
{
    JobId id = run(1, 8), other = run(2, 2), third = run(4, 4);
    report_slots(id, 0, {}, {slot_request_of(1, 3, true)});
    const GrantSlots *grant = driver.last<GrantSlots>();
    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->blocks, (Blocks{{"n0", 1}})) << "beside the other job";
    report_slots(id, 1, {{"n0", 1}}, {slot_request_of(1, 2, true)});
    EXPECT_FALSE(driver.last<GrantSlots>());
    driver.end(other);
    grant = driver.last<GrantSlots>();
    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->grant, 2u);
    EXPECT_EQ(count_processes(grant->blocks), 2);
    report_slots(id, 2, {{"n0", 3}}, {});
    EXPECT_EQ(driver.recorded(record::REQUEST_ENDED)->data.at("result"), "over");
    EXPECT_EQ(free_cores(), 0);
    report_slots(id, 2, {{"n0", 1}}, {});
    EXPECT_EQ(driver.recorded(record::SLOTS_RELEASED)->data.at("released"), 2);
    EXPECT_EQ(free_cores(), 2);
    driver.end(id);
    driver.end(third);
    EXPECT_EQ(free_cores(), 8) << "all is given back with the job";
}

TEST_P(SlotsTest, a_soft_request_ends_at_once)
{
    JobId id = run(1, 8);
    report_slots(id, 0, {}, {slot_request_of(1, 7, false)});
    ASSERT_TRUE(driver.last<GrantSlots>());
    EXPECT_EQ(driver.last<GrantSlots>()->blocks, (Blocks{{"n0", 3}, {"n1", 4}}))
        << "its own node first";
    report_slots(id, 1, {{"n0", 3}, {"n1", 4}}, {});
    report_slots(id, 1, {{"n0", 3}, {"n1", 4}}, {slot_request_of(2, 1, false)});
    EXPECT_FALSE(driver.last<GrantSlots>());
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_EQ(driver.last<RefuseSizeRequest>()->reason, "no more slots are available now");
}

TEST_P(SlotsTest, world_and_slots_are_never_more_than_the_maximum)
{
    JobId id = run(2, 4);
    report_slots(id, 0, {}, {slot_request_of(1, 3, true)});
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_NE(driver.last<RefuseSizeRequest>()->reason.find(
                  "there is capacity for 2; submit it with --places 3"),
              std::string::npos);
    report_slots(id, 0, {}, {slot_request_of(1, 3, true), slot_request_of(2, 2, true)});
    EXPECT_TRUE(driver.last<RefuseSizeRequest>()) << "the step has not received it";
    ASSERT_TRUE(driver.last<GrantSlots>());
    EXPECT_EQ(driver.last<GrantSlots>()->size_request, 2u);
    report_slots(id, 1, {{"n0", 2}}, {slot_request_of(3, 1, true)});
    EXPECT_FALSE(driver.last<GrantSlots>());
    Update update;
    update.request = "u";
    update.job = id;
    update.maximum = 3;
    driver.send(update);
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::FIELD);
}

TEST_P(SlotsTest, a_growth_does_not_use_slots_that_are_held)
{
    JobId id = start(1, 4);
    report_slots(id, 0, {}, {slot_request_of(1, 2, true)});
    ASSERT_TRUE(driver.last<GrantSlots>());
    driver.send(StepAdaptive{{id, 1}});
    for (int i = 0; i < 10; i++) {
        driver.wait(60000);
        if (driver.job(id).adaptation)
            driver.commit(id);
    }
    EXPECT_LE(driver.job(id).size(), 2);
    driver.send(Resize{"r", id, 3});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::STATE);
}

TEST_P(SlotsTest, a_host_by_its_name)
{
    JobId id = run(1, 8);
    report_slots(id, 0, {}, {slot_request_of(1, 2, true, "n1")});
    ASSERT_TRUE(driver.last<GrantSlots>());
    EXPECT_EQ(driver.last<GrantSlots>()->blocks, (Blocks{{"n1", 2}})) << "where it has no process";
    report_slots(id, 1, {{"n1", 2}}, {slot_request_of(2, 1, true, "n7")});
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_EQ(driver.last<RefuseSizeRequest>()->reason, "there is no node n7");
}

TEST_P(SlotsTest, an_exclusive_slot_is_the_only_one_of_the_job_on_its_node)
{
    JobId id = run(1, 8);
    report_slots(id, 0, {}, {exclusive_request(1, 2, true)});
    ASSERT_TRUE(driver.last<GrantSlots>());
    EXPECT_EQ(driver.last<GrantSlots>()->blocks, (Blocks{{"n0", 1}, {"n1", 1}}));
    EXPECT_EQ(exclusive_slots(driver.job(id)), (std::vector<NodeName>{"n0", "n1"}));
    report_slots(id, 1, {{"n0", 1, true}, {"n1", 1, true}}, {slot_request_of(2, 1, true)});
    EXPECT_FALSE(driver.last<GrantSlots>()) << "no node is left";
    report_slots(id, 1, {{"n0", 1, true}},
                 {slot_request_of(2, 1, true), exclusive_request(3, 1, false, "n0")});
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_EQ(driver.last<RefuseSizeRequest>()->size_request, 3u);
    ASSERT_TRUE(driver.last<GrantSlots>());
    EXPECT_EQ(driver.last<GrantSlots>()->blocks, (Blocks{{"n1", 1}}));
    report_slots(id, 2, {{"n0", 1}, {"n1", 1}}, {exclusive_request(4, 1, true)});
    EXPECT_FALSE(driver.last<GrantSlots>()) << "the job has one on each node";
    report_slots(id, 2, {{"n0", 1}}, {exclusive_request(4, 1, true)});
    ASSERT_TRUE(driver.last<GrantSlots>());
    EXPECT_EQ(driver.last<GrantSlots>()->blocks, (Blocks{{"n1", 1}}));
}

TEST_P(SlotsTest, exclusive_slots_are_no_more_than_nodes)
{
    JobId id = run(1, 8);
    report_slots(id, 0, {}, {exclusive_request(1, 3, true)});
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_NE(driver.last<RefuseSizeRequest>()->reason.find("there are 2"), std::string::npos);
    report_slots(id, 0, {}, {exclusive_request(2, 2, true, "n1")});
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_EQ(driver.last<RefuseSizeRequest>()->size_request, 2u);
    report_slots(id, 0, {}, {exclusive_request(3, 3, false)});
    ASSERT_TRUE(driver.last<GrantSlots>());
    EXPECT_EQ(count_processes(driver.last<GrantSlots>()->blocks), 2);
}

TEST_P(SlotsTest, an_exclusive_slot_delays_the_first_job_as_little_as_any)
{
    JobId id = run(1, 8);
    JobId long_one = driver.submit(rigid(4, 100000));
    driver.run(long_one);
    JobId waiting = driver.submit(rigid(7));
    report_slots(id, 0, {}, {exclusive_request(1, 1, true)});
    EXPECT_FALSE(driver.last<GrantSlots>());
    driver.end(long_one);
    driver.run(waiting);
    driver.end(waiting);
    EXPECT_TRUE(driver.last<GrantSlots>());
}

TEST_P(SlotsTest, actions_that_the_step_has_not_received_are_repeated)
{
    JobId id = run(1, 8);
    report_slots(id, 0, {}, {slot_request_of(1, 1, true)});
    ASSERT_TRUE(driver.last<GrantSlots>());
    report_slots(id, 0, {}, {slot_request_of(1, 1, true)});
    ASSERT_TRUE(driver.last<GrantSlots>()) << "dropped on its way";
    EXPECT_EQ(driver.last<GrantSlots>()->grant, 1u);
    EXPECT_EQ(free_cores(), 6);
    report_slots(id, 1, {}, {});        /* it arrived, and was released */
    EXPECT_EQ(free_cores(), 7);
    EXPECT_FALSE(driver.last<GrantSlots>());
}

TEST_P(SlotsTest, nobody_holds_more_than_was_given)
{
    JobId id = run(1, 8);
    report_slots(id, 0, {}, {slot_request_of(1, 1, true)});
    for (const auto &held : std::vector<std::vector<StepSlots::Held>>{
             {{"n0", 2}}, {{"n1", 1}}, {{"n0", 1}, {"n0", 1}}, {{"nowhere", 1}}, {{"n0", -1}}}) {
        report_slots(id, 1, held, {});
        EXPECT_TRUE(driver.recorded(record::UNEXPECTED))
            << held[0].node << " " << held[0].extra_slots;
    }
    report_slots(id, 2, {{"n0", 1}}, {});
    EXPECT_TRUE(driver.recorded(record::UNEXPECTED));
    report_slots(id, 1, {{"n0", 1}}, {slot_request_of(2, 0, true)});
    EXPECT_TRUE(driver.recorded(record::UNEXPECTED));
    EXPECT_EQ(free_cores(), 6);
}

TEST_P(SlotsTest, another_mpiexec_has_nothing_of_the_first)
{
    JobId id = run(1, 8);
    report_slots(id, 0, {}, {slot_request_of(1, 2, true)});
    report_slots(id, 1, {{"n0", 2}}, {});
    mpiexec = "4712";
    reported = 0;
    report_slots(id, 0, {}, {slot_request_of(1, 1, true)});
    ASSERT_TRUE(driver.last<GrantSlots>());
    EXPECT_EQ(driver.last<GrantSlots>()->grant, 1u);
    EXPECT_EQ(free_cores(), 6);
    StepSlots over;
    over.job = id;
    over.step = 1;
    over.mpiexec = mpiexec;
    over.reported = 100;
    over.over = true;
    driver.send(over);
    EXPECT_EQ(free_cores(), 7);
}

/* Under fcfs no job overtakes; under the others a slot may not delay the first job. */
TEST_P(SlotsTest, spawned_processes_have_slots_while_there_are_cores)
{
    JobId id = run(1, 3);
    report_spawned(id, {{"n0", 5}});
    EXPECT_EQ(count_spawned(driver.job(id)), 5);
    EXPECT_EQ(count_slots(driver.job(id)), 2) << "world and slots are 3 at most";
    EXPECT_EQ(count_unbooked(driver.job(id)), 3);
    EXPECT_EQ(driver.recorded(record::SPAWNED)->data.at("without_cores"), 3);
    EXPECT_EQ(free_cores(), 5);
    report_spawned(id, {{"elsewhere", 1}, {"n0", 1}});
    EXPECT_EQ(count_slots(driver.job(id)), 1) << "there are no cores of ours elsewhere";
    EXPECT_EQ(free_cores(), 6);
    report_spawned(id, {});
    EXPECT_EQ(free_cores(), 7);
    EXPECT_EQ(driver.job(id).spawned_max, 5);
    report_spawned(id, {{"n1", 1}, {"n0", 1}});
    EXPECT_EQ(count_spawned(driver.job(id)), 0) << "not sorted";
    driver.end(id);
    EXPECT_EQ(free_cores(), 8);
    EXPECT_EQ(driver.job(id).spawned_max, 5);
}

TEST_P(SlotsTest, spawned_processes_get_no_cores_of_others)
{
    JobId id = run(1, 8), other = run(2, 2);
    report_spawned(id, {{"n0", 5}});
    EXPECT_EQ(count_slots(driver.job(id)), 1) << "n0 has 4 cores";
    driver.end(other);
    EXPECT_EQ(free_cores(), 6);
    report_spawned(id, {{"n0", 4}});
    EXPECT_EQ(count_slots(driver.job(id)), 3);
}

TEST_P(SlotsTest, core_time_has_that_of_spawned_processes)
{
    JobId id = run(1, 2);
    driver.wait(1000);
    report_spawned(id, {{"n0", 3}});
    driver.wait(2000);
    report_spawned(id, {});
    driver.wait(4000);
    driver.end(id);
    EXPECT_EQ(driver.job(id).times, (std::vector<TimeAtSize>{{0, 6000}, {1, 7000}}));
}

TEST_P(SlotsTest, processes_of_a_draining_node_do_not_move_to_cores_of_slots)
{
    JobSpec spec = malleable(6, 6);
    spec.whole_nodes = true;
    spec.extra_slots = 2;
    JobId id = driver.submit(spec);
    driver.send(StepStarted{{id, 1}});
    driver.send(StepAdaptive{{id, 1}});
    report_slots(id, 0, {}, {slot_request_of(1, 2, true, "n1")});
    report_slots(id, 1, {{"n1", 2}}, {});
    Update update;
    update.request = "u";
    update.job = id;
    update.minimum = 1;
    driver.send(update);
    ASSERT_EQ(driver.job(id).blocks, (Blocks{{"n0", 4}, {"n1", 2}}));
    driver.send(Drain{"d", "n0", "test"});
    bool moves = GetParam() != PolicyKind::FCFS && GetParam() != PolicyKind::EASY;
    const ResizeStep *resize = driver.last<ResizeStep>();
    ASSERT_EQ(resize != nullptr, moves);
    if (moves) {
        EXPECT_EQ(resize->size, 2);
        EXPECT_TRUE(resize->joining.empty()) << "n1 has 4 cores";
    }
}

/* Also under policies that do not depend on the sizes of running jobs. */
TEST_P(SlotsTest, a_size_request_ends_the_pause_of_a_slot_request)
{
    JobId id = start(3, 3);
    Update update;
    update.request = "u";
    update.job = id;
    update.minimum = 1;
    driver.send(update);
    driver.send(StepAdaptive{{id, 1}});
    driver.submit(rigid(8));
    report_slots(id, 0, {}, {slot_request_of(1, 1, true)});
    const ResizeStep *resize = driver.last<ResizeStep>();
    ASSERT_TRUE(resize);
    EXPECT_EQ(resize->size, 2) << "world and slots are 3 at most";
    driver.send(StepRefused{{id, 1, resize->request, "no"}});
    EXPECT_FALSE(driver.last<ResizeStep>()) << "a pause";
    SizeRequest as_it_is;
    as_it_is.mpiexec = mpiexec;
    as_it_is.number = 2;
    as_it_is.waits = true;
    as_it_is.size = as_it_is.maximum = 3;
    as_it_is.minimum = 2;
    driver.send(StepSizeRequest{id, 1, as_it_is});
    EXPECT_TRUE(driver.last<ResizeStep>());
}

TEST_P(SlotsTest, a_job_that_has_waited_for_longer_comes_first)
{
    JobId id = run(1, 8);
    JobId long_one = driver.submit(rigid(4, 100000));
    driver.run(long_one);
    JobId waiting = driver.submit(rigid(7));
    report_slots(id, 0, {}, {slot_request_of(1, 1, true)});
    EXPECT_FALSE(driver.last<GrantSlots>());
    driver.end(long_one);
    EXPECT_EQ(driver.job(waiting).state, JobState::STARTING);
    driver.run(waiting);
    driver.end(waiting);
    EXPECT_TRUE(driver.last<GrantSlots>());
}

TEST_P(SlotsTest, a_restored_core_goes_on)
{
    JobId id = run(1, 8);
    run(4, 4);
    report_slots(id, 0, {}, {slot_request_of(1, 5, true), slot_request_of(2, 1, true, "n1")});
    auto restored = Core::restore(driver.core.snapshot());
    ASSERT_TRUE(restored) << restored.error();
    EXPECT_EQ(restored.value().snapshot(), driver.core.snapshot());
    EXPECT_EQ(restored.value().state().indices().free_cores,
              driver.core.state().indices().free_cores);
    EXPECT_EQ(restored.value().state().indices().slot_wishers, std::set<JobId>{id});
}

INSTANTIATE_TEST_SUITE_P(Policies, SlotsTest, every_policy(), policy_name);

}  // namespace
}  // namespace elastic::rm
