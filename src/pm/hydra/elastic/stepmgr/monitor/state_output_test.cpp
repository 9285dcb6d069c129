/* --sets-log (state_output.h). */

#include "stepmgr/psets/pset_change_fixture.h"

namespace elastic {
namespace {

class SetStatesTest : public SetChangeTest {
  protected:
    void SetUp() override
    {
        mpiexec.config.states = 1;
        mpiexec.config.range_min = 1;
        mpiexec.config.range_max = 6;
        SetChangeTest::SetUp();
    }
    /* The letters and event names of the lines since the last call. */
    std::string states()
    {
        std::string text;
        for (; seen < mpiexec.state_lines.size(); seen++) {
            const std::string &line = mpiexec.state_lines[seen];
            size_t begin = line.find("ms ") + 3, name = line.find(' ', begin) + 1;
            text += (text.empty() ? "" : " ") + line.substr(begin, line.find(' ', name) - begin);
        }
        return text;
    }
    size_t seen = 1;            /* the first is the header */
};

TEST_F(SetStatesTest, SM2_an_addition_and_a_removal)
{
    EXPECT_EQ(mpiexec.state_lines.front().substr(0, 4), "TIME");
    offer_addition();
    EXPECT_EQ(states(), "RRRIII started RRRIII adaptive RRRIII requested RRRPPI launching RRRPPI "
                        "placed RRRPPI ready "
                        "RRRPPI ready");
    call(0, all);
    call(0, AcceptChange{1, {}});
    call(3, HasEntered{});
    call(4, HasEntered{});
    EXPECT_EQ(states(), "RRRPPI set_made RRRPPI told RRRPPI accepted RRRRRI committed");

    resize(3, R"(,"leave":[1,2])");
    call(0, all);
    call(0, AcceptChange{2, {}});
    EXPECT_EQ(states(), "RRRRRI requested RSSRRI set_made RSSRRI told RAARRI accepted");
    mpiexec.exited(0, 0, 1);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(states(), "RIARRI exited RIIRRI exited RIIRRI committed RIIRRI freed");

    resize(5);
    mpiexec.start_group(2, {"b", "b"});
    EXPECT_EQ(states(), "RIIRRI requested RPPRRI launching RPPRRI placed")
        << "SM1: the lowest free slots";
}

TEST_F(SetStatesTest, SM2_an_addition_that_is_declined)
{
    offer_addition();
    call(0, all);
    states();
    call(0, DeclineChange{1});
    EXPECT_EQ(states(), "RRRPPI declined RRRIII withdrawn RRRIII set_freed");
}

}  // namespace
}  // namespace elastic
