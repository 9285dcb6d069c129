/* Valid and invalid programs: SPEC-epop P1, P3, W2, E1. */

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "simulated_program.h"

namespace {

using epop_test::Elements;

std::string complaint(const program_t *program)
{
    char why[300] = "";
    bool whole = epop_program_is_whole(program, why, sizeof(why));
    EXPECT_EQ(whole, why[0] == '\0');
    return why;
}

/* The report on a valid program after one change. */
std::string complaint_after(const std::function<void(program_element_t *)> &change)
{
    Elements elements{epop_test::initial(), epop_test::elastic("solve"), epop_test::branch(),
                      epop_test::rigid()};
    change(elements.data());
    program_t program = epop_test::program_of(elements);
    return complaint(&program);
}

TEST(EpopProgram, P1WholePrograms)
{
    EXPECT_EQ(complaint_after([](auto *) {}), "");
    EXPECT_EQ(complaint_after([](auto *e) { e[3].loop_condition = epop_test::never; }), "");
    EXPECT_EQ(complaint_after([](auto *e) {
                  e[1].phase_redistribute = nullptr;
                  e[1].phase_adapt = epop_test::nothing;
              }),
              "");
    Elements alone{epop_test::initial()};
    program_t program = epop_test::program_of(alone);
    EXPECT_EQ(complaint(&program), "");
}

TEST(EpopProgram, P1NamesElementAndField)
{
    EXPECT_EQ(complaint(nullptr), "get_program has returned NULL");
    program_t empty = {};
    EXPECT_EQ(complaint(&empty), "size is 0; a program has at least the element INIT");
    empty.size = 1;
    EXPECT_EQ(complaint(&empty), "elements is NULL");
    EXPECT_EQ(complaint_after([](auto *e) { e[0].type = EP; }),
              "element 0 (element 0): type is EP; element 0, and no other, is INIT");
    EXPECT_EQ(complaint_after([](auto *e) { e[2].type = INIT; }),
              "element 2 (element 2): type is INIT; element 0, and no other, is INIT");
    EXPECT_EQ(complaint_after([](auto *e) { e[1].type = 9; }),
              "element 1 (solve): type is 9, which is none of INIT, EP, RP and BRANCH");
    EXPECT_EQ(complaint_after([](auto *e) { e[0].init = nullptr; }),
              "element 0 (element 0): type is INIT, but init is NULL");
    EXPECT_EQ(complaint_after([](auto *e) { e[1].phase_exec = nullptr; }),
              "element 1 (solve): type is EP, but phase_exec is NULL");
    EXPECT_EQ(complaint_after([](auto *e) { e[1].loop_condition = nullptr; }),
              "element 1 (solve): type is EP, but loop_condition is NULL");
    EXPECT_EQ(complaint_after([](auto *e) { e[1].phase_redistribute = nullptr; }),
              "element 1 (solve): type is EP, but phase_redistribute (or phase_adapt) is NULL");
    EXPECT_EQ(complaint_after([](auto *e) { e[2].branch_condition = nullptr; }),
              "element 2 (element 2): type is BRANCH, but branch_condition is NULL");
    EXPECT_EQ(complaint_after([](auto *e) { e[3].phase_exec = nullptr; }),
              "element 3 (element 3): type is RP, but phase_exec is NULL");
}

int marked_init(int *argn, char ***, void **data)
{
    *data = argn;
    return *argn;
}

TEST(EpopProgram, P1InitInPhaseExec)
{
    program_element_t element = {};
    element.type = INIT;
    int (*init)(int *, char ***, void **) = marked_init;
    memcpy(&element.phase_exec, &init, sizeof(init));
    program_t program = {nullptr, 1, &element, nullptr, nullptr, nullptr};
    EXPECT_EQ(complaint(&program), "");
    int argn = 7;
    void *data = nullptr;
    EXPECT_EQ(epop_program_init(&program, &argn, nullptr, &data), 7);
    EXPECT_EQ(data, &argn);
}

TEST(EpopProgram, AllocPhases)
{
    program_t *made = nullptr;
    ASSERT_EQ(epop_alloc_phases(&made, 3), 0);
    EXPECT_EQ(made->size, 3);
    EXPECT_EQ(made->elements[2].phase_exec, nullptr);
    free(made->elements);
    /* listing 7.6: uninitialised memory of the program */
    *made = {made, 77, nullptr, "x", epop_test::nothing, nullptr};
    program_t *before = made;
    ASSERT_EQ(epop_alloc_phases(&made, 4), 0);
    EXPECT_EQ(made, before);
    EXPECT_EQ(made->size, 4);
    EXPECT_EQ(made->data, nullptr);
    EXPECT_EQ(made->name, nullptr);
    EXPECT_EQ(made->leave, nullptr);
    free(made->elements);
    EXPECT_EQ(epop_alloc_phases(&made, 0), 1);
    EXPECT_EQ(epop_alloc_phases(nullptr, 1), 1);
    free(made);
}

TEST(EpopProgram, W2StructureHash)
{
    Elements elements{epop_test::initial(), epop_test::elastic("solve"), epop_test::rigid()};
    program_t program = epop_test::program_of(elements);
    const uint64_t hash = epop_structure_hash(&program);
    /* only the field that is set counts, not its function */
    elements[1].phase_exec = epop_test::never;
    EXPECT_EQ(epop_structure_hash(&program), hash);
    elements[1].name = "solved";
    EXPECT_NE(epop_structure_hash(&program), hash);
    elements[1].name = "solve";
    EXPECT_EQ(epop_structure_hash(&program), hash);
    elements[2].type = BRANCH;
    EXPECT_NE(epop_structure_hash(&program), hash);
    elements[2].type = RP;
    program.size = 2;
    EXPECT_NE(epop_structure_hash(&program), hash);
}

TEST(EpopProgram, P3ElementsSum)
{
    Elements elements{epop_test::initial(), epop_test::elastic("solve")};
    program_t program = epop_test::program_of(elements);
    const uint64_t sum = epop_elements_sum(&program);
    EXPECT_EQ(epop_elements_sum(&program), sum);
    elements[1].phase_exec = epop_test::never;
    EXPECT_NE(epop_elements_sum(&program), sum);
}

TEST(EpopProgram, E1Print)
{
    Elements elements{epop_test::initial(), epop_test::elastic("a \"b\"\\\n"), epop_test::branch(),
                      epop_test::rigid()};
    program_t program = epop_test::program_of(elements);
    char *text = nullptr;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    epop_program_print(out, &program, "p");
    fclose(out);
    std::string printed(text);
    free(text);
    char hash[20];
    snprintf(hash, sizeof(hash), "%016llx",
             static_cast<unsigned long long>(epop_structure_hash(&program)));
    EXPECT_EQ(printed, "{\n  \"program\": \"p\",\n  \"structure\": \"" + std::string(hash) +
                        "\",\n  \"elements\": [\n"
                        "    {\"pc\": 0, \"type\": \"INIT\", \"name\": \"element 0\"},\n"
                        "    {\"pc\": 1, \"type\": \"EP\", \"name\": \"a \\\"b\\\"\\\\\\u000a\", "
                        "\"window\": \"phase_redistribute\", \"loop\": true, \"total\": false},\n"
                        "    {\"pc\": 2, \"type\": \"BRANCH\", \"name\": \"element 2\"},\n"
                        "    {\"pc\": 3, \"type\": \"RP\", \"name\": \"element 3\", "
                        "\"loop\": false, \"total\": false}\n"
                        "  ]\n}\n");
}

} // namespace
