/* Why a running job keeps its size (SPEC-performance X2). */

#include "core/policy/policies.h"
#include "core/policy/policy_measured_fixture.h"

namespace elastic::rm {
namespace {

/* X2: one word of a closed list. */
TEST(MeasuredTest, X2_held_because)
{
    SampledMachine machine(16);
    machine.loan_down_to(NO_LOANS);
    auto held = [&](size_t i) {
        const State &state = machine.driver.core.state();
        return policy(state.config.policy).held_because(state, machine.driver.job(machine.ids[i]));
    };
    JobSpec hinted = malleable(1, 16);
    hinted.serial_ppm = 100000;
    machine.start(hinted, scales_to(2));
    machine.go_on(1);
    EXPECT_EQ(held(0), HeldBecause::NO_DATA);
    machine.go_on(200);
    EXPECT_EQ(held(0), HeldBecause::BETWEEN_THRESHOLDS) << "cores idle, and it does not want them";
    machine.start(malleable(1, 16), scales_to(16));
    machine.go_on(100);
    EXPECT_EQ(held(1), HeldBecause::CORES_WANTED) << "no core idles";
    machine.start(malleable(1, 1), scales_to(1));
    machine.go_on(100);
    EXPECT_EQ(held(2), HeldBecause::AT_MAXIMUM);
    machine.driver.submit(rigid(1));
    EXPECT_EQ(policy(PolicyKind::MEASURED)
                  .held_because(machine.driver.core.state(), machine.driver.job(4)),
              std::nullopt)
        << "a rigid one has no size that could change";
}

/* SPEC-epop M4, SPEC-performance X2: in a rigid phase it neither grows nor shrinks. */
TEST(MeasuredTest, X2_M4_in_a_rigid_phase_the_size_is_held)
{
    for (PolicyKind kind : {PolicyKind::MEASURED, PolicyKind::EFFICIENT, PolicyKind::FILL}) {
        SampledMachine machine(16, kind);
        JobSpec spec = malleable(2, 16);
        spec.preferred = 4;
        auto now = [&] {
            const State &state = machine.driver.core.state();
            return policy(kind).held_because(state, machine.driver.job(machine.ids[0]));
        };
        machine.driver.submit(rigid(12));
        machine.driver.run(1);
        machine.start(spec, scales_to(16));
        machine.programs[0].position = PhasePosition{2, true, 0, -1, -1};
        machine.go_on(4);
        int before = machine.size(0), changes = machine.changes;
        EXPECT_EQ(now(), HeldBecause::RIGID_PHASE) << to_string(kind);
        machine.driver.end(1);
        machine.go_on(4);
        EXPECT_EQ(machine.size(0), before) << "12 cores idle: " << to_string(kind);
        EXPECT_EQ(machine.changes, changes);
        JobId waits = machine.driver.submit(rigid(14));
        machine.go_on(4);
        EXPECT_EQ(machine.driver.job(waits).state, JobState::PENDING);
        EXPECT_EQ(machine.changes, changes) << "one waits for its cores: " << to_string(kind);
        machine.programs[0].position = PhasePosition{1, false, 0, -1, -1};
        machine.go_on(40);
        EXPECT_NE(now(), HeldBecause::RIGID_PHASE) << to_string(kind);
        bool gave = machine.driver.job(waits).state != JobState::PENDING;
        EXPECT_TRUE(gave) << "an elastic phase: " << to_string(kind);
    }
}

}  // namespace
}  // namespace elastic::rm
