/* The driver's loop in a simulated world: SPEC-epop E2, E3, P3, P4, P5. */

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "simulated_program.h"

namespace {

using epop_test::Elements;

/* Records the actions of a program. */
struct Diary {
    std::string text;
    std::map<int, int> executed; /* by element */
    int rounds = 0;              /* of the program's branch */
    int fails_at = -1;           /* this execution of element 1 returns 9 */
    program_element_t *changed = nullptr;
};

Diary &of(void *data) { return *static_cast<Diary *>(data); }

int first_phase(void *data)
{
    of(data).text += 'a';
    if (of(data).changed)
        of(data).changed->name = "another";
    return of(data).executed[1]++ == of(data).fails_at ? 9 : 0;
}
int second_phase(void *data) { return of(data).text += 'b', of(data).executed[2]++, 0; }
int last_phase(void *data) { return of(data).text += 'z', 0; }
int three_times(void *data) { return of(data).executed[1] % 3 != 0; }
int back_twice(int pc, void *data) { return ++of(data).rounds < 3 ? pc - 2 : pc + 1; }

/* EP three times, EP once, back twice, RP. */
Elements two_phases()
{
    Elements elements{epop_test::initial(), epop_test::elastic(), epop_test::elastic(),
                      epop_test::branch(), epop_test::rigid()};
    elements[1].phase_exec = first_phase;
    elements[1].loop_condition = three_times;
    elements[2].phase_exec = second_phase;
    elements[3].branch_condition = back_twice;
    elements[4].phase_exec = last_phase;
    return elements;
}

/* A world in which adaptations happen at given probes. */
struct Simulated {
    Diary diary;
    Elements elements;
    program_t program;
    epop_surroundings_t around = {};
    epop_loop_t loop = {};
    std::map<int, epop_outcome_t> windows; /* by number of probe */
    int probes = 0;
    std::vector<std::pair<int, int64_t>> opened, marked;
    std::vector<std::pair<std::string, int64_t>> agreed;
    size_t disagrees_at = SIZE_MAX;

    explicit Simulated(Elements given = two_phases()) : elements(std::move(given))
    {
        program = epop_test::program_of(elements, &diary);
        around.probe = [](void *state) {
            Simulated &self = *static_cast<Simulated *>(state);
            return self.windows.count(self.probes++) == 1;
        };
        around.window = [](void *state, epop_position_t where, epop_fault_t *) {
            Simulated &self = *static_cast<Simulated *>(state);
            self.diary.text += '|';
            self.opened.emplace_back(where.pc, where.iteration);
            return self.windows[self.probes - 1];
        };
        around.mark = [](void *state, epop_position_t where) {
            static_cast<Simulated *>(state)->marked.emplace_back(where.pc, where.iteration);
        };
        loop.program = &program;
        loop.around = &around;
        loop.state = this;
        loop.where = {1, 0};
    }

    void compare_values()
    {
        around.agree = [](void *state, epop_position_t, const char *function, int64_t value,
                          epop_fault_t *) {
            Simulated &self = *static_cast<Simulated *>(state);
            self.agreed.emplace_back(function, value);
            return self.agreed.size() - 1 != self.disagrees_at;
        };
    }

    epop_outcome_t run() { return epop_loop_run(&loop); }
};

TEST(EpopLoop, E2WithoutAdaptations)
{
    Simulated world;
    EXPECT_EQ(world.run(), EPOP_ENDED);
    EXPECT_EQ(world.diary.text, "aaabaaabaaabz");
    EXPECT_EQ(world.probes, 12); /* one for each iteration of an EP, none for the RP */
    EXPECT_EQ(world.marked.size(), 13u);
    EXPECT_EQ(world.marked[2], std::make_pair(1, int64_t(2)));
    EXPECT_EQ(world.marked[3], std::make_pair(2, int64_t(0)));
}

TEST(EpopLoop, E2WindowsComeBeforeTheIteration)
{
    Simulated world;
    world.windows = {{0, EPOP_GOES_ON}, {3, EPOP_GOES_ON}, {6, EPOP_GOES_ON}};
    EXPECT_EQ(world.run(), EPOP_ENDED);
    EXPECT_EQ(world.diary.text, "|aaa|baa|abaaabz");
    const std::vector<std::pair<int, int64_t>> positions{{1, 0}, {2, 0}, {1, 2}};
    EXPECT_EQ(world.opened, positions);
    EXPECT_EQ(world.probes, 12);
}

TEST(EpopLoop, W5LeavingEnds)
{
    Simulated world;
    world.windows = {{4, EPOP_LEFT}};
    EXPECT_EQ(world.run(), EPOP_LEFT);
    EXPECT_EQ(world.diary.text, "aaab|");
}

/* Staying processes, and one that joined with the state of the window, do the same after the
 * window. */
TEST(EpopLoop, E3JoiningProcessesDoTheSame)
{
    std::mt19937 random(1);
    for (int round = 0; round < 200; round++) {
        const int at = static_cast<int>(random() % 12);
        Simulated old, joining;
        old.windows = {{at, EPOP_GOES_ON}};
        for (int k = 1; k < 4; k++)
            old.windows.emplace(at + 1 + static_cast<int>(random() % 12), EPOP_GOES_ON);
        EXPECT_EQ(old.run(), EPOP_ENDED);
        /* the joining process: its state is that of the others at the window */
        Simulated reference;
        reference.windows = {{at, EPOP_LEFT}};
        EXPECT_EQ(reference.run(), EPOP_LEFT);
        joining.diary = reference.diary;
        joining.loop.where = {reference.opened[0].first, reference.opened[0].second};
        joining.loop.fresh = true;
        joining.probes = at + 1;
        joining.windows = old.windows;
        EXPECT_EQ(joining.run(), EPOP_ENDED);
        EXPECT_EQ(joining.diary.text, old.diary.text);
        EXPECT_EQ(joining.probes, old.probes);
    }
}

TEST(EpopLoop, P3RigidLoop)
{
    Elements elements{epop_test::initial(), epop_test::rigid()};
    elements[1].phase_exec = first_phase;
    elements[1].loop_condition = three_times;
    Simulated world(elements);
    world.windows = {{0, EPOP_GOES_ON}};
    EXPECT_EQ(world.run(), EPOP_ENDED);
    EXPECT_EQ(world.diary.text, "aaa");
    EXPECT_EQ(world.probes, 0);
}

TEST(EpopLoop, P7FunctionFails)
{
    Simulated world;
    world.diary.fails_at = 4;
    EXPECT_EQ(world.run(), EPOP_FAILED);
    EXPECT_EQ(world.diary.text, "aaabaa");
    EXPECT_EQ(world.loop.fault.pc, 1);
    EXPECT_EQ(world.loop.fault.code, 9);
    EXPECT_STREQ(world.loop.fault.what, "phase_exec returned 9");
    epop_fault_t fault;
    EXPECT_EQ(epop_function_failed(&fault, 1, "phase_exec", 512), EPOP_FAILED);
    EXPECT_EQ(fault.code, 1); /* not a code that means success */
}

TEST(EpopLoop, P4Branches)
{
    for (int to : {0, -1, 4, 100}) {
        static int target;
        target = to;
        Elements elements{epop_test::initial(), epop_test::branch(), epop_test::rigid()};
        elements[1].branch_condition = [](int, void *) { return target; };
        Simulated world(elements);
        EXPECT_EQ(world.run(), EPOP_FAILED) << to;
        EXPECT_EQ(world.loop.fault.code, 2);
        EXPECT_NE(std::string(world.loop.fault.what).find("element " + std::to_string(to) + ";"),
                  std::string::npos);
    }
    Elements elements{epop_test::initial(), epop_test::branch(), epop_test::rigid()};
    elements[2].phase_exec = last_phase;
    elements[1].branch_condition = [](int, void *) { return 3; };
    Simulated ends(elements);
    EXPECT_EQ(ends.run(), EPOP_ENDED);
    EXPECT_EQ(ends.diary.text, "");
    /* to itself, five times */
    elements[1].branch_condition = [](int pc, void *data) {
        return of(data).rounds++ < 5 ? pc : pc + 1;
    };
    Simulated itself(elements);
    EXPECT_EQ(itself.run(), EPOP_ENDED);
    EXPECT_EQ(itself.diary.rounds, 6);
    EXPECT_EQ(itself.diary.text, "z");
}

TEST(EpopLoop, P5ComparesEverything)
{
    Elements elements = two_phases();
    elements[2].loop_total = [](void *) { return int64_t(11); };
    Simulated world(elements);
    world.compare_values();
    EXPECT_EQ(world.run(), EPOP_ENDED);
    std::vector<std::pair<std::string, int64_t>> wanted;
    for (int round = 0; round < 3; round++)
        wanted.insert(wanted.end(), {{"loop_condition", 1}, {"loop_condition", 1},
                                     {"loop_condition", 0},
                                     {"loop_total", 11}, {"loop_condition", 0},
                                     {"branch_condition", round < 2 ? 1 : 4}});
    EXPECT_EQ(world.agreed, wanted);
    for (size_t at = 0; at < wanted.size(); at++) {
        Simulated differs(elements);
        differs.compare_values();
        differs.disagrees_at = at;
        EXPECT_EQ(differs.run(), EPOP_FAILED);
        EXPECT_EQ(differs.agreed.size(), at + 1);
    }
}

TEST(EpopLoop, P3ChangesOfTheArrayAreFound)
{
    for (bool check : {false, true}) {
        Simulated world;
        world.loop.check = check;
        world.diary.changed = &world.elements[4];
        EXPECT_EQ(world.run(), check ? EPOP_FAILED : EPOP_ENDED);
        if (check) {
            EXPECT_EQ(world.diary.text, "a");
            EXPECT_EQ(world.loop.fault.code, 2);
        }
    }
}

} // namespace
