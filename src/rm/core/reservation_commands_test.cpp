/* Reservations that administrators make, change and delete while elasticd runs. */

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

class Machine : public CoreDriver {
  public:
    explicit Machine(PolicyKind policy = PolicyKind::FILL) : CoreDriver(policy, 4, 4) {}

    NodeReservation course(std::vector<std::string> nodes = {"n0", "n1"})
    {
        return {"course", NodeSet(nodes), now_ms + HOUR, now_ms + 2 * HOUR};
    }
    AnswerCode set(const NodeReservation &reservation, bool is_new = true)
    {
        return answer_to(SetReservation{next(), is_new, "root", reservation});
    }
    AnswerCode remove(const std::string &name)
    {
        return answer_to(DeleteReservation{next(), name, "root"});
    }
    const NodeReservation *find(const std::string &name) const
    {
        return core.state().reservation(name);
    }
    std::string message;        /* of the last answer */

  private:
    std::string next() { return "q" + std::to_string(++requests_); }
    AnswerCode answer_to(EventContent content)
    {
        send(std::move(content));
        message = last<Answer>()->message;
        return last<Answer>()->code;
    }
    int requests_ = 0;
};

std::string reason(const Machine &machine, JobId id)
{
    return why_waiting(machine.core.state(), machine.job(id));
}

TEST(ReservationCommandsTest, one_is_made_and_holds_nodes)
{
    for (PolicyKind policy : {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                              PolicyKind::EFFICIENT, PolicyKind::MEASURED}) {
        Machine machine(policy);
        JobId queued = machine.submit(rigid(16));
        machine.run(queued);
        JobId waits = machine.submit(rigid(16));
        EXPECT_EQ(machine.set(machine.course()), AnswerCode::OK) << machine.message;
        const Record *record = machine.recorded(record::RESERVATION_SET);
        ASSERT_TRUE(record);
        EXPECT_EQ(record->data["by"], "root");
        EXPECT_EQ(record->data["reservation"]["name"], "course");
        machine.end(queued);
        EXPECT_EQ(machine.job(waits).state, JobState::PENDING) << "it might still run then";
        EXPECT_NE(reason(machine, waits).find("reservation course"), std::string::npos);
        JobId brief = machine.submit(rigid(16, MINUTE));
        EXPECT_EQ(machine.job(brief).state, JobState::STARTING) << "it ends before";
        machine.run(brief);
        machine.end(brief);
        EXPECT_EQ(machine.remove("course"), AnswerCode::OK) << machine.message;
        EXPECT_TRUE(machine.recorded(record::RESERVATION_DELETED));
        EXPECT_EQ(machine.job(waits).state, JobState::STARTING);
    }
}

TEST(ReservationCommandsTest, an_elastic_job_grows_no_more_into_it)
{
    Machine machine;
    JobId id = machine.submit(malleable(1, 16));
    machine.run(id);
    machine.send(Resize{"r", id, 4});
    if (machine.job(id).adaptation)
        machine.commit(id);
    EXPECT_EQ(machine.set(machine.course()), AnswerCode::OK);
    machine.send(Resize{"r2", id, 13});
    EXPECT_EQ(machine.last<Answer>()->code, AnswerCode::CAPACITY);
    machine.send(Resize{"r3", id, 12});
    EXPECT_EQ(machine.last<Answer>()->code, AnswerCode::OK) << "its own node, and two others";
}

TEST(ReservationCommandsTest, conflicts_are_refused_and_the_message_has_a_remedy)
{
    Machine machine;
    EXPECT_EQ(machine.set(machine.course()), AnswerCode::OK);
    EXPECT_EQ(machine.set(machine.course()), AnswerCode::STATE);
    EXPECT_NE(machine.message.find("'elastic reservation update'"), std::string::npos);
    NodeReservation other = machine.course({"n1", "n2"});
    other.name = "other";
    EXPECT_EQ(machine.set(other), AnswerCode::STATE);
    EXPECT_NE(machine.message.find("have the same nodes at the same time: choose other nodes"),
              std::string::npos);
    EXPECT_EQ(machine.set(other, false), AnswerCode::UNKNOWN);
    EXPECT_EQ(machine.remove("other"), AnswerCode::UNKNOWN);
    EXPECT_NE(machine.message.find("'elastic reservations' lists all"), std::string::npos);
    other.from_ms = machine.find("course")->until_ms;
    other.until_ms = other.from_ms + HOUR;
    EXPECT_EQ(machine.set(other), AnswerCode::OK) << "one after the other";
    NodeReservation past = machine.course({"n3"});
    past.name = "past";
    past.from_ms = machine.now_ms - 2 * MINUTE;
    EXPECT_EQ(machine.set(past), AnswerCode::FIELD);
    EXPECT_NE(machine.message.find("begin in the past: give a later time"), std::string::npos);
    past.from_ms = 0;
    past.until_ms = machine.now_ms - 1;
    EXPECT_EQ(machine.set(past), AnswerCode::FIELD);
    EXPECT_NE(machine.message.find("end in the past"), std::string::npos);
    past.until_ms = machine.now_ms + 1000;
    EXPECT_EQ(machine.set(past), AnswerCode::OK);
    EXPECT_EQ(machine.find("past")->from_ms, machine.now_ms) << "now";
    past.name = "a b";
    EXPECT_EQ(machine.set(past), AnswerCode::STATE);
}

TEST(ReservationCommandsTest, one_changes_and_keeps_what_has_begun)
{
    Machine machine;
    machine.set(machine.course());
    machine.wait(HOUR + MINUTE);
    NodeReservation longer = *machine.find("course");
    longer.until_ms += HOUR;
    longer.nodes = NodeSet({"n3"});
    EXPECT_EQ(machine.set(longer, false), AnswerCode::OK) << machine.message;
    EXPECT_EQ(machine.find("course")->nodes, NodeSet({"n3"}));
    EXPECT_EQ(machine.find("course")->from_ms, longer.from_ms) << "it has begun";
    JobId other = machine.submit(rigid(12));
    EXPECT_EQ(machine.job(other).state, JobState::STARTING) << "n0 and n1 are free again";
    JobSpec spec = rigid(4, 30 * MINUTE);
    spec.reservation = "course";
    JobId own = machine.submit(spec);
    EXPECT_EQ(machine.job(own).blocks, (Blocks{{"n3", 4}}));
    EXPECT_EQ(machine.remove("course"), AnswerCode::STATE);
    EXPECT_NE(machine.message.find("job " + std::to_string(own) + " runs in"), std::string::npos);
    machine.run(own);
    machine.end(own);
    machine.wait(3 * HOUR);
    NodeReservation next = machine.course({"n3"});
    next.name = "next";
    EXPECT_EQ(machine.set(next), AnswerCode::OK);
    EXPECT_FALSE(machine.find("course")) << "it has ended, and makes way";
}

TEST(ReservationCommandsTest, those_of_the_configuration_are_changed_there)
{
    Config config = CoreDriver::config_of(PolicyKind::FILL);
    config.reservations = {{"fixed", NodeSet({"n0"}), 1, INT64_MAX / 2}};
    CoreDriver driver(config);
    NodeReservation fixed = config.reservations[0];
    fixed.until_ms = driver.now_ms + HOUR;
    driver.send(SetReservation{"a", false, "root", fixed});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::STATE);
    EXPECT_NE(driver.last<Answer>()->message.find("change it there"), std::string::npos);
    driver.send(DeleteReservation{"b", "fixed", "root"});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::STATE);
    EXPECT_EQ(driver.core.state().config, config);
}

TEST(ReservationCommandsTest, a_snapshot_and_a_replay_have_them)
{
    Machine machine;
    machine.set(machine.course());
    NodeReservation other = machine.course({"n2"});
    other.name = "other";
    other.users = {"ann"};
    other.groups = {"students"};
    machine.set(other);
    machine.remove("course");
    auto again = Core::restore(machine.core.snapshot());
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again.value().snapshot(), machine.core.snapshot());
    Core replayed;
    for (const Event &event : machine.log) {
        auto read = event_from_json(to_json(event));
        ASSERT_TRUE(read) << read.error();
        replayed.handle(read.value());
    }
    EXPECT_EQ(replayed.snapshot(), machine.core.snapshot());
    ASSERT_TRUE(replayed.state().reservation("other"));
    EXPECT_EQ(replayed.state().reservation("other")->users, std::vector<std::string>{"ann"});
}

}  // namespace
}  // namespace elastic::rm
