#include "posix_channel_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr uint64_t CAPACITY = 4096;

/* A ring with both of its ends. */
template <uint64_t BYTES> struct RingOf {
    alignas(CHANNEL_LINE) char memory[sizeof(channel_ring) + BYTES] = {};
    channel_end out{reinterpret_cast<channel_ring *>(memory), BYTES, 0, 0, 0, 0};
    channel_end in = out;

    bool put(uint32_t number, uint64_t payload)
    {
        channel_record *record = channel_put(&out, payload);
        if (!record)
            return false;
        record->kind = CHANNEL_FIRST;
        std::vector<char> content(payload + 1, static_cast<char>(number));
        channel_copy_in(channel_payload(record), content.data(), payload, number % 2 == 1);
        channel_publish(&out, record, payload);
        return true;
    }

    /* The number of the record, or -1; checks its payload. */
    int take(uint64_t payload)
    {
        uint32_t bytes, found;
        bool wrong;
        channel_record *record = channel_take(&in, &bytes, &found, &wrong);
        EXPECT_FALSE(wrong);
        if (!record)
            return -1;
        EXPECT_EQ(payload, found);
        auto *content = static_cast<unsigned char *>(channel_payload(record));
        int number = found ? content[0] : 0;
        for (uint32_t i = 0; i < found; i++)
            EXPECT_EQ(number, content[i]);
        channel_taken(&in, bytes);
        return number;
    }
};

using Ring = RingOf<CAPACITY>;

TEST(ChannelRing, GivesBackWhatWasPutInInOrder)
{
    Ring ring;
    ring.put(1, 10);
    ring.put(2, 100);
    EXPECT_EQ(1, ring.take(10));
    EXPECT_EQ(2, ring.take(100));
    EXPECT_EQ(-1, ring.take(0));
    EXPECT_TRUE(channel_is_empty(&ring.in));
}

TEST(ChannelRing, IsFullAndHasSpaceAgain)
{
    Ring ring;
    int n = 0;
    while (ring.put(static_cast<uint32_t>(n), 32))
        n++;
    EXPECT_EQ(CAPACITY / CHANNEL_LINE, n);
    EXPECT_EQ(0, ring.take(32));
    EXPECT_TRUE(ring.put(0, 32));
    EXPECT_FALSE(ring.put(0, 32));
}

TEST(ChannelRing, TakesTheGreatestRecordAtAnyOffset)
{
    const uint64_t greatest = CAPACITY - sizeof(channel_record);
    for (uint64_t before = 0; before < CAPACITY - CHANNEL_LINE; before += CHANNEL_LINE) {
        Ring ring;
        ASSERT_TRUE(ring.put(1, before));
        EXPECT_FALSE(ring.put(2, greatest));
        EXPECT_EQ(before ? 1 : 0, ring.take(before));
        bool is_put = ring.put(2, greatest);
        if (!is_put) {
            EXPECT_EQ(-1, ring.take(0));  // the filler
            is_put = ring.put(2, greatest);
        }
        EXPECT_TRUE(is_put);
        EXPECT_EQ(2, ring.take(greatest));
    }
}

TEST(ChannelRing, BeginsAtTheFrontWhenAllIsTaken)
{
    Ring ring;
    for (int i = 0; i < 1000; i++) {
        ASSERT_TRUE(ring.put(7, 1000));
        EXPECT_GT(CAPACITY / 2, ring.in.count % CAPACITY);
        EXPECT_EQ(7, ring.take(1000));
    }
}

TEST(ChannelRing, GoesOnWithLongRecordsAsFarAsItMay)
{
    Ring ring;
    ring.out.reach = CAPACITY / 2;
    uint64_t farthest = 0;
    for (int i = 0; i < 1000; i++) {
        ASSERT_TRUE(ring.put(7, 200));
        farthest = std::max(farthest, ring.in.count % CAPACITY);
        EXPECT_EQ(7, ring.take(200));
    }
    EXPECT_LT(CAPACITY / 3, farthest);
    EXPECT_GE(CAPACITY / 2 + CHANNEL_RECORD_BYTES(200), farthest);
}

TEST(ChannelRing, KeepsShortRecordsAtTheFrontUnlessLongOnesAreBetween)
{
    constexpr uint64_t front = 1024, all = CHANNEL_FRONT * front;
    auto farthest = [](int shorts, int longs) {
        static RingOf<all> ring;
        ring = {};
        ring.out.ring = ring.in.ring = reinterpret_cast<channel_ring *>(ring.memory);
        ring.out.reach = all / 2;
        uint64_t offset = 0;
        for (int i = 0; i < 1000; i++) {
            uint64_t payload = i % (shorts + longs) < shorts ? 100 : 10000;
            EXPECT_TRUE(ring.put(7, payload));
            offset = std::max(offset, ring.in.count % all);
            EXPECT_EQ(7, ring.take(payload));
        }
        return offset;
    };
    EXPECT_GE(front + CHANNEL_RECORD_BYTES(100), farthest(1, 0));
    EXPECT_LT(all / 3, farthest(CHANNEL_SHORTS - 1, 1));
    EXPECT_GT(all / 3, farthest(4 * CHANNEL_SHORTS, 1));
}

TEST(ChannelRing, RefusesWhatCannotBe)
{
    auto is_wrong = [](auto spoil) {
        Ring ring;
        ring.put(1, 100);
        spoil(ring, *reinterpret_cast<channel_record *>(ring.out.ring->bytes));
        uint32_t bytes, payload;
        bool wrong;
        EXPECT_EQ(nullptr, channel_take(&ring.in, &bytes, &payload, &wrong));
        return wrong;
    };
    EXPECT_TRUE(is_wrong(
        [](Ring &ring, channel_record &) { ring.out.ring->head = CAPACITY + CHANNEL_LINE; }));
    EXPECT_TRUE(is_wrong([](Ring &ring, channel_record &) { ring.out.ring->head = UINT64_MAX; }));
    EXPECT_TRUE(is_wrong([](Ring &, channel_record &record) { record.bytes = 0; }));
    EXPECT_TRUE(is_wrong([](Ring &, channel_record &record) { record.bytes = 100; }));
    EXPECT_TRUE(is_wrong(
        [](Ring &, channel_record &record) { record.bytes = 2 * CHANNEL_LINE + CAPACITY; }));
    EXPECT_TRUE(is_wrong([](Ring &, channel_record &record) { record.payload = 1000; }));
    EXPECT_TRUE(is_wrong([](Ring &, channel_record &record) { record.payload = UINT32_MAX; }));
    EXPECT_TRUE(is_wrong([](Ring &, channel_record &record) { record.kind = 17; }));
    Ring ring;
    while (ring.out.count <= CAPACITY / 16)
        ring.put(1, 1);
    ring.out.ring->tail = ring.out.count + CHANNEL_LINE;  // more than was ever put in
    EXPECT_EQ(nullptr, channel_put(&ring.out, 1));
}

TEST(ChannelRing, KeepsTheOrderBetweenTwoThreads)
{
    constexpr uint32_t RECORDS = 20000;
    Ring ring;
    auto payload_of = [](std::mt19937 &random) {
        return random() % 8 ? random() % 200 : random() % 3000;
    };
    std::thread sender([&] {
        std::mt19937 random(1);
        for (uint32_t i = 0; i < RECORDS; i++) {
            uint64_t payload = payload_of(random) + 1;
            while (!ring.put(i, payload))
                std::this_thread::yield();
        }
    });
    std::mt19937 random(1);
    for (uint32_t i = 0; i < RECORDS; i++) {
        uint64_t payload = payload_of(random) + 1;
        int number = -1;
        while ((number = ring.take(payload)) < 0)
            std::this_thread::yield();
        EXPECT_EQ(static_cast<int>(i & 0xff), number);
    }
    sender.join();
}

// ---- copying what is long ----

TEST(ChannelCopy, CopiesAnyNumberOfBytesToAnyOffset)
{
    std::vector<char> from(1000), to(1400);
    std::mt19937 random(1);
    for (char &c : from)
        c = static_cast<char>(random());
    auto check = [&](auto copy, size_t at, size_t start, size_t bytes) {
        std::fill(to.begin(), to.end(), '\0');
        copy(&to[at], &from[start], bytes);
        EXPECT_TRUE(std::equal(&from[start], &from[start + bytes], &to[at]))
            << at << " " << start << " " << bytes;
        EXPECT_EQ(at, std::count(to.begin(), to.begin() + static_cast<long>(at), '\0'));
        EXPECT_EQ(to.size() - at - bytes,
                  std::count(to.begin() + static_cast<long>(at + bytes), to.end(), '\0'));
    };
    for (size_t bytes : {0, 1, 15, 63, 64, 65, 127, 128, 129, 191, 255, 256, 300, 513}) {
        for (size_t at = 0; at < 3 * CHANNEL_LINE; at += 7) {
            size_t start = random() % 200;
            check([](auto... all) { channel_copy_in(all..., true); }, at, start, bytes);
            check([](auto... all) { channel_copy_in(all..., false); }, at, start, bytes);
            check([](auto... all) { channel_copy_out(all...); }, at, start, bytes);
        }
    }
}

/* The number of streamed copies among so many, at these costs. */
int count_streamed(channel_pace &pace, int copies, uint64_t cached, uint64_t streamed)
{
    int n = 0;
    for (int i = 0; i < copies; i++) {
        bool streams = channel_streams(&pace);
        n += streams;
        channel_took(&pace, streams, streams ? streamed : cached, CHANNEL_LONG);
    }
    return n;
}

constexpr uint64_t FAR = 100000, NEAR = 10000, STREAMED = 15000;

TEST(ChannelPace, TriesStreamingOnceInAWhileWhereTheCacheIsShared)
{
    channel_pace pace{};
    EXPECT_EQ(0, count_streamed(pace, CHANNEL_FIRST_TRIAL, NEAR, STREAMED));
    EXPECT_TRUE(channel_streams(&pace));
    EXPECT_EQ(20, count_streamed(pace, 20 * CHANNEL_TRIAL, NEAR, STREAMED));
}

TEST(ChannelPace, StreamsWhereWritingIntoTheCacheTakesLongAndComesBack)
{
    channel_pace pace{};
    count_streamed(pace, CHANNEL_FIRST_TRIAL + 1, FAR, STREAMED);
    EXPECT_EQ(CHANNEL_TRIAL * 20 - 20, count_streamed(pace, CHANNEL_TRIAL * 20, FAR, STREAMED));
    count_streamed(pace, CHANNEL_TRIAL, NEAR, STREAMED);
    EXPECT_EQ(20, count_streamed(pace, 20 * CHANNEL_TRIAL, NEAR, STREAMED));
    count_streamed(pace, CHANNEL_TRIAL, FAR, STREAMED);
    EXPECT_EQ(CHANNEL_TRIAL * 20 - 20, count_streamed(pace, CHANNEL_TRIAL * 20, FAR, STREAMED));
}

TEST(ChannelPace, TakesAnInterruptionForNone)
{
    channel_pace pace{};
    count_streamed(pace, 2 * CHANNEL_TRIAL, NEAR, STREAMED);
    for (int i = 0; i < 3; i++)
        channel_took(&pace, false, 1000 * NEAR, CHANNEL_LONG);
    EXPECT_EQ(1, count_streamed(pace, CHANNEL_TRIAL, NEAR, STREAMED));
    pace = {};
    // memory that is touched for the first time
    count_streamed(pace, CHANNEL_FIRST_TRIAL, 1000 * NEAR, STREAMED);
    channel_took(&pace, true, 1000 * STREAMED, CHANNEL_LONG);
    EXPECT_EQ(3, count_streamed(pace, 3 * CHANNEL_TRIAL, NEAR, STREAMED));
}

}  // namespace
