#include "stepmgr/proto/payload.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

Bytes bytes(const std::string &text)
{
    return {reinterpret_cast<const unsigned char *>(text.data()), text.size()};
}

TEST(PayloadTest, what_is_written_is_read)
{
    auto init = parse_init(
        bytes(write_init({7, REPORT_MODE_ADAPTIVE, 4026531836u, std::string("a\0b", 3)})));
    ASSERT_TRUE(init);
    EXPECT_EQ(init->rank, 7u);
    EXPECT_EQ(init->mode, REPORT_MODE_ADAPTIVE);
    EXPECT_EQ(init->bc, std::string("a\0b", 3));
    EXPECT_EQ(init->pid_namespace, 4026531836u);
    auto ready = parse_ready(bytes(write_ready({3, {11, 5, 4096, 21, 22, 23}})));
    ASSERT_TRUE(ready);
    EXPECT_EQ(ready->segment.segment_pid, 11u);
    EXPECT_EQ(ready->segment.segment_bytes, 4096u);
    EXPECT_EQ(ready->segment.segment_nonce, 23u);
    EXPECT_EQ(parse_unable(bytes(write_unable({5, "no \x1b[memory"})))->why, "no ?[memory");
    EXPECT_EQ(parse_frozen(bytes(write_number(99)))->ceiling, 99u);
    CountReport counts[] = {{0, 1, 10, 0}, {4, 7, 12, 900}};
    auto read = parse_counts(bytes(write_counts(counts)));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->counts.at(1).count, 12u);
    EXPECT_EQ(parse_exited(bytes(write_exited({2, 9})))->wait_status, 9u);
}

TEST(PayloadTest, sizes_are_those_of_the_wire)
{
    EXPECT_EQ(write_init({}).size(), 16u);
    EXPECT_EQ(write_ready({}).size(), 44u);
    EXPECT_EQ(write_unable({}).size(), 4u);
    EXPECT_EQ(write_exited({}).size(), 8u);
    CountReport one[] = {{}};
    EXPECT_EQ(write_counts(one).size(), 24u);
}

TEST(PayloadTest, any_other_length_is_refused)
{
    std::string whole[] = {write_ready({}), write_number(5), write_exited({})};
    for (size_t length = 0; length < 64; length++) {
        std::string text(length, '\1');
        EXPECT_EQ(parse_ready(bytes(text)).has_value(), length == whole[0].size());
        EXPECT_EQ(parse_frozen(bytes(text)).has_value(), length == whole[1].size());
        EXPECT_EQ(parse_exited(bytes(text)).has_value(), length == whole[2].size());
        EXPECT_EQ(parse_counts(bytes(text)).has_value(), length % 24 == 0);
        EXPECT_FALSE(parse_init(bytes(text))) << "adaptive is neither 0 nor 1";
    }
    EXPECT_FALSE(
        parse_init(bytes(write_init({0, 1, 0, std::string(PMI_REPORT_CARD_MAX + 1, 'c')}))));
    EXPECT_FALSE(
        parse_unable(bytes(write_unable({0, std::string(PMI_REPORT_UNABLE_MAX + 1, 'c')}))));
    EXPECT_FALSE(parse_unable(bytes("abc")));
}

TEST(PayloadTest, texts_are_short_and_plain)
{
    EXPECT_EQ(parse_sizes(bytes(write_sizes({3, "2-8,16"})))->rule, "2-8,16");
    EXPECT_FALSE(parse_sizes(bytes(write_sizes({3, "2 8"}))));
    EXPECT_FALSE(parse_sizes(bytes(write_sizes({3, std::string(PMI_ADAPT_SIZES_MAX + 1, '1')}))));
    EXPECT_FALSE(parse_sizes(bytes("abc")));
    auto read = parse_unreceived(bytes(write_unreceived({1, 2, 3, -4, "intercomm"})));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->tag, -4);
    EXPECT_EQ(read->communicator, "intercomm");
    EXPECT_FALSE(parse_unreceived(bytes(write_unreceived({1, 2, 3, 4, "a\nb"}))));
    EXPECT_FALSE(parse_unreceived(bytes(write_unreceived({1, 2, 3, 4, std::string(65, 'a')}))));
    EXPECT_FALSE(parse_unreceived(bytes(std::string(15, '\1'))));
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
