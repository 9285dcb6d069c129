#include "payload.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

Bytes bytes(const std::string &text)
{
    return {reinterpret_cast<const unsigned char *>(text.data()), text.size()};
}

TEST(PayloadTest, what_is_written_is_read)
{
    auto init = parse_init(bytes(write_init({7, true, std::string("a\0b", 3)})));
    ASSERT_TRUE(init);
    EXPECT_EQ(init->rank, 7u);
    EXPECT_TRUE(init->adaptive);
    EXPECT_EQ(init->card, std::string("a\0b", 3));
    auto ready = parse_ready(bytes(write_ready({3, {11, 5, 4096}})));
    ASSERT_TRUE(ready);
    EXPECT_EQ(ready->segment.segment_pid, 11u);
    EXPECT_EQ(ready->segment.segment_bytes, 4096u);
    EXPECT_EQ(parse_frozen(bytes(write_number(99))), 99u);
    CountReport counts[] = {{0, 1, 10}, {4, 2, 12}};
    auto read = parse_counts(bytes(write_counts(counts)));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->at(1).count, 12u);
    EXPECT_EQ(parse_exited(bytes(write_exited({2, 9})))->wait_status, 9u);
}

TEST(PayloadTest, sizes_are_those_of_the_wire)
{
    EXPECT_EQ(write_init({0, false, ""}).size(), 8u);
    EXPECT_EQ(write_ready({}).size(), 20u);
    EXPECT_EQ(write_exited({}).size(), 8u);
    CountReport one[] = {{}};
    EXPECT_EQ(write_counts(one).size(), 16u);
}

TEST(PayloadTest, any_other_length_is_refused)
{
    std::string whole[] = {write_ready({}), write_number(5), write_exited({})};
    for (size_t length = 0; length < 32; length++) {
        std::string text(length, '\1');
        EXPECT_EQ(parse_ready(bytes(text)).has_value(), length == whole[0].size());
        EXPECT_EQ(parse_frozen(bytes(text)).has_value(), length == whole[1].size());
        EXPECT_EQ(parse_exited(bytes(text)).has_value(), length == whole[2].size());
        EXPECT_EQ(parse_counts(bytes(text)).has_value(), length % 16 == 0);
        EXPECT_FALSE(parse_init(bytes(text))) << "adaptive is neither 0 nor 1";
    }
    EXPECT_FALSE(parse_init(bytes(write_init({0, true, std::string(CARD_MAX_BYTES + 1, 'c')}))));
}

TEST(PayloadTest, a_ceiling_is_a_number_that_can_be_reached)
{
    EXPECT_FALSE(parse_frozen(bytes(write_number(PMI_ADAPT_GATE_OPEN))));
    EXPECT_FALSE(parse_frozen(bytes(write_number(PMI_ADAPT_GATE_SHUT))));
}

TEST(PayloadTest, ends_in_words)
{
    EXPECT_EQ(describe_wait_status(0), "ended with exit code 0");
    EXPECT_EQ(describe_wait_status(3 << 8), "ended with exit code 3");
    EXPECT_EQ(describe_wait_status(9), "was killed by signal 9 (Killed)");
    EXPECT_TRUE(exited_by_itself(3 << 8));
    EXPECT_FALSE(exited_by_itself(11));
}

}  // namespace
}  // namespace elastic
