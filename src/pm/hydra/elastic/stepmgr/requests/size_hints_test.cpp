/* Sizes that the program prefers (size_hints.cpp). */

#include "stepmgr/psets/pset_change_fixture.h"

namespace elastic {
namespace {

class SetHintsTest : public SetRequestTest {
  protected:
    /* "mpix_accepted=a,b mpix_size_max=5 ..."; "nobody"; "code N". */
    std::string hint(const SetData &hints)
    {
        call(0, AddHints{hints});
        std::string answer = answer_to(0), text;
        if (code(0) != PMI_SET_OK)
            return "code " + std::to_string(code(0));
        if (number_at(answer, 4) == 0)
            return "nobody";
        size_t at = 12;
        auto next = [&] {
            uint32_t bytes = number_at(answer, at);
            at += 4 + bytes;
            return answer.substr(at - bytes, bytes);
        };
        for (uint32_t i = 0; i < number_at(answer, 8); i++) {
            std::string key = next();
            text += (i == 0 ? "" : " ") + key + "=" + next();
        }
        return text;
    }
};

TEST_F(SetHintsTest, SR10_sizes_limit_the_range_and_a_preferred_one_is_a_request)
{
    const SetData sizes = {{"mpix_size_min", "2"},
                           {"mpi_num_procs_max", "4"},
                           {"mpix_reason", "fine grid"},
                           {"colour", "red"}};
    EXPECT_EQ(hint(sizes), "mpix_accepted=mpi_num_procs_max,mpix_reason,mpix_size_min "
                           "mpix_size_max=4 mpix_size_min=2");
    EXPECT_EQ(mpiexec.status().at("mode"), "sets") << "SR1";
    EXPECT_EQ(mpiexec.last_event("hints").at("hints").at("colour"), "red") << "as it is";
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 0) << "it has 3 processes";
    send_request(0, PMI_SET_OP_GROW, 2, 0);
    EXPECT_EQ(done(0), "0") << "not in the range any more";
    EXPECT_EQ(hint({{"mpix_size_preferred", "4"}}),
              "mpix_accepted=mpix_size_preferred mpix_size_max=5 mpix_size_min=1");
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at("size"), 4);
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 4);
}

TEST_F(SetHintsTest, SR10_a_hint_waits_while_another_one_is_about_to_be_granted)
{
    hint({{"mpix_size_preferred", "5"}});
    start_joining_group(1);
    call(0, GetChange{});
    call(0, AcceptChange{1, {}});
    hint({{"mpix_size_preferred", "4"}});
    hint({{"mpix_size_preferred", "2"}});
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 0);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 1);
    enter(3);
    enter(4);
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUEST_ENDED).at("result"), "granted");
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 2);
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at("size"), 2) << "the last one";
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 2);
}

TEST_F(SetHintsTest, SR10_what_is_wrong_is_not_followed)
{
    EXPECT_EQ(
        hint({{"mpix_size_min", "4"}, {"mpix_size_max", "2"}, {"mpix_size_preferred", "many"}}),
        "mpix_accepted= mpix_size_max=5 mpix_size_min=1");
    EXPECT_EQ(hint({{"mpix_size_min", "6"}}), "mpix_accepted= mpix_size_max=5 mpix_size_min=1");
    EXPECT_EQ(hint({{"mpix_size_preferred", "9"}, {"manager_std_dev", "1"}}),
              "mpix_accepted= mpix_size_max=5 mpix_size_min=1");
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 0);
}

TEST_F(SetChangeTest, SR10_without_range_or_manager_nobody_takes_hints)
{
    call(1, AddHints{{{"mpix_size_max", "2"}}});
    EXPECT_EQ(answer_to(1), SetAnswer().number(0).data({}).bytes());
}

class PolicyHintsTest : public SetHintsTest {
  protected:
    PolicyHintsTest() { mpiexec.config.policy = "random:7"; }
};

TEST_F(PolicyHintsTest, SC2_how_sizes_are_drawn)
{
    EXPECT_EQ(hint({{"manager_std_dev", "2.5"}, {"manager_change_prob", "0"}}),
              "mpix_accepted=manager_change_prob,manager_std_dev mpix_size_max=5 mpix_size_min=1");
    for (int64_t ms = 1000; ms < 20000; ms += 500)
        mpiexec.time(ms);
    EXPECT_EQ(mpiexec.count_events("requested"), 0) << "never";
    hint({{"manager_change_prob", "1"}, {"mpix_size_min", "3"}, {"mpix_size_max", "4"}});
    mpiexec.time(30000);
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 4);
    EXPECT_EQ(hint({{"manager_std_dev", "-1"}, {"manager_change_prob", "2"}}),
              "mpix_accepted= mpix_size_max=5 mpix_size_min=1");
}

class ManagedHintsTest : public SetHintsTest {
  protected:
    ManagedHintsTest() { managed = true; }
};

TEST_F(ManagedHintsTest, SR10_a_resource_manager_sees_a_size_request)
{
    const SetData sizes = {{"mpix_size_min", "4"},
                           {"mpix_size_max", "16"},
                           {"mpix_size_preferred", "8"},
                           {"mpix_reason", "a"}};
    EXPECT_EQ(
        hint(sizes),
        "mpix_accepted=mpix_reason,mpix_size_max,mpix_size_min,mpix_size_preferred mpix_size_max=5 "
        "mpix_size_min=1");
    const Json size_request = mpiexec.last_event(SIZE_REQUESTED);
    EXPECT_EQ(size_request.at("size"), 8);
    EXPECT_EQ(size_request.at("size_min"), 4);
    EXPECT_EQ(size_request.at("size_max"), 16);
    EXPECT_EQ(size_request.at("reason"), "a");
    hint(sizes);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 1) << "the same";
    hint({{"mpix_size_preferred", "2"}});
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUEST_ENDED).at("result"), "withdrawn");
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at("size"), 2);
}

}  // namespace
}  // namespace elastic
