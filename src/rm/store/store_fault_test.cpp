/* The store on disks that fail: acknowledged data are stored, and no reader gets a part of the data
 * as all of it. */

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "store/faulty_disk.h"
#include "store/store.h"

namespace elastic::rm {
namespace {

using Fault = FaultyDisk::Fault;

constexpr uint64_t EVENTS = 105, PARTS = 2;
constexpr int OPERATIONS_MAX = 5000;    /* in one run: more indicate an endless loop */

class StoreFaultTest : public testing::Test {
  protected:
    StoreFaultTest()
    {
        char name[] = "/tmp/store-fault-XXXXXX";
        folder_ = mkdtemp(name);
    }
    ~StoreFaultTest() override { std::filesystem::remove_all(folder_); }

    static Batch batch(uint64_t seq)
    {
        /* Some pages each, so that one part of the table is in the file and one in its log. */
        return {{{seq, static_cast<int64_t>(seq),
                  NodeUp{"n" + std::to_string(seq) + std::string(900, 'x'), 4}}},
                {},
                {},
                {},
                {},
                {}};
    }
    /* Its parts are some pages each, too. */
    static std::string write_snapshot(Store &store, uint64_t seq)
    {
        std::string error;
        for (uint64_t number = 0; number < PARTS && error.empty(); number++)
            error = store.write_snapshot_part(seq, number, part(seq, number));
        return error.empty() ? store.write_snapshot(seq, 1, {{"seq", seq}}, PARTS) : error;
    }
    static Json part(uint64_t seq, uint64_t number)
    {
        return {{"seq", seq}, {"number", number}, {"text", std::string(5000, 's')}};
    }
    void fill()
    {
        auto store = Store::open(folder_);
        ASSERT_TRUE(store) << store.error();
        for (uint64_t seq = 1; seq <= EVENTS; seq++) {
            ASSERT_EQ(store.value().write(batch(seq)), "");
            if (seq % 50 == 0) {
                ASSERT_EQ(write_snapshot(store.value(), seq), "");
            }
        }
    }
    /* The state after a restart; or the error for which it would refuse.  Every returned event
     * must be equal to the written one. */
    Result<uint64_t> recover()
    {
        auto store = Store::open(folder_);
        if (!store)
            return Error{store.error()};
        auto snapshot = store.value().last_snapshot();
        if (!snapshot)
            return Error{snapshot.error()};
        uint64_t last = snapshot.value() ? snapshot.value()->seq : 0;
        for (uint64_t number = 0; last && number < PARTS; number++)
            EXPECT_EQ(snapshot.value()->parts.at(number), part(last, number));
        std::string error = store.value().each_event(last, [&](const Event &event) -> std::string {
            EXPECT_EQ(to_json(event), to_json(batch(event.seq).events[0]));
            if (event.seq != last + 1)
                return "gap";
            last = event.seq;
            return "";
        });
        if (!error.empty())
            return Error{error};
        return last;
    }

    std::string folder_;
    FaultyDisk disk_;
};

TEST_F(StoreFaultTest, files_are_for_nobody_else_from_birth)
{
    mode_t before = umask(0);
    {
        auto store = Store::open(folder_);
        ASSERT_TRUE(store);
        ASSERT_EQ(store.value().write(batch(1)), "");
        for (const char *name : {"/store.sqlite", "/store.sqlite-wal", "/store.sqlite-shm"}) {
            struct stat status = {};
            ASSERT_EQ(stat((folder_ + name).c_str(), &status), 0) << name;
            EXPECT_EQ(status.st_mode & 0777, 0600u) << name;
        }
    }
    umask(before);
}

TEST_F(StoreFaultTest, a_read_error_is_not_the_end_of_the_table)
{
    fill();
    int number = 1;
    for (; number < OPERATIONS_MAX; number++) {
        disk_.fail(Fault::READ_ERROR, number);
        auto known = recover();
        if (!disk_.has_failed())
            break;
        EXPECT_TRUE(!known || known.value() == EVENTS)
            << "read " << number << ": " << known.value() << " events of " << EVENTS;
    }
    EXPECT_GT(number, 10);
    EXPECT_LT(number, OPERATIONS_MAX);
    disk_.heal();
    auto known = recover();
    ASSERT_TRUE(known) << known.error();
    EXPECT_EQ(known.value(), EVENTS);
}

TEST_F(StoreFaultTest, wrong_bytes_are_noticed)
{
    fill();
    int number = 1;
    for (; number < OPERATIONS_MAX; number++) {
        disk_.fail(Fault::READ_WRONG, number, 1);
        auto known = recover();
        if (!disk_.has_failed())
            break;
        EXPECT_TRUE(!known || known.value() == EVENTS)
            << "read " << number << ": " << known.value();
    }
    EXPECT_GT(number, 10);
    EXPECT_LT(number, OPERATIONS_MAX);
}

TEST_F(StoreFaultTest, what_is_acknowledged_is_there_after_write_errors)
{
    std::mt19937_64 random(1);
    uint64_t next = 1;
    for (int round = 0; round < 30; round++) {
        static const Fault FAULTS[] = {Fault::WRITE_ERROR, Fault::WRITE_SHORT, Fault::FULL};
        uint64_t acknowledged = next - 1;
        {
            auto store = Store::open(folder_);
            ASSERT_TRUE(store) << store.error();
            disk_.fail(FAULTS[round % 3], static_cast<int>(random() % 30 + 1));
            while (!disk_.has_failed()) {
                bool done = store.value().write(batch(next)).empty();
                acknowledged = done ? next : acknowledged;
                next += done;
                if (done && random() % 8 == 0)
                    write_snapshot(store.value(), next - 1);
            }
            disk_.heal();
            /* The same store can be written again when the disk works again. */
            if (round % 2 == 0) {
                ASSERT_EQ(store.value().write(batch(next)), "") << "round " << round;
                acknowledged = next++;
            }
        }
        auto known = recover();
        ASSERT_TRUE(known) << "round " << round << ": " << known.error();
        EXPECT_EQ(known.value(), acknowledged) << "round " << round;
        next = known.value() + 1;
    }
}

/* A disk that reports a synchronisation without performing it: the end may be missing, but no
 * part in the middle. */
TEST_F(StoreFaultTest, a_failed_synchronisation_affects_the_end_only)
{
    std::mt19937_64 random(2);
    for (int round = 0; round < 20; round++) {
        std::filesystem::remove_all(folder_);
        disk_.heal();
        uint64_t written = 0;
        {
            auto store = Store::open(folder_);
            ASSERT_TRUE(store) << store.error();
            disk_.fail(Fault::SYNC_LOST, static_cast<int>(random() % 40 + 1));
            for (uint64_t seq = 1; seq <= random() % 60 + 1; seq++) {
                ASSERT_EQ(store.value().write(batch(seq)), "");
                written = seq;
            }
            /* The power fails now: data that the store writes at its end never reach the disk. */
            std::filesystem::copy(folder_, folder_ + ".cut");
        }
        std::filesystem::remove_all(folder_);
        std::filesystem::rename(folder_ + ".cut", folder_);
        disk_.heal();
        FaultyDisk::power_cut(folder_);
        auto known = recover();
        EXPECT_TRUE(!known || known.value() <= written);
    }
}

TEST_F(StoreFaultTest, damage_on_the_disk_is_noticed_or_harmless)
{
    fill();
    std::filesystem::copy(folder_, folder_ + ".good");
    std::mt19937_64 random(3);
    int refused = 0;
    for (int round = 0; round < 100; round++) {
        std::filesystem::remove_all(folder_);
        std::filesystem::copy(folder_ + ".good", folder_);
        std::string name = folder_ + "/store.sqlite";
        auto size = std::filesystem::file_size(name);
        {
            std::fstream file(name, std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(static_cast<std::streamoff>(random() % size));
            std::string junk(random() % 64 + 1, static_cast<char>(random()));
            file.write(junk.data(), static_cast<std::streamsize>(junk.size()));
        }
        auto known = recover();
        refused += !known;
        EXPECT_TRUE(!known || known.value() == EVENTS)
            << "round " << round << ": " << known.value();
    }
    EXPECT_GT(refused, 0) << "no round has hit what is in use";
    std::filesystem::remove_all(folder_ + ".good");
}

/* Each page that a recovery needs is damaged, alone or in one byte: the rest is never taken for
 * all. */
TEST_F(StoreFaultTest, damage_of_any_page_in_use_is_refused)
{
    constexpr std::streamoff PAGE = 4096;
    fill();
    std::string name = folder_ + "/store.sqlite";
    std::filesystem::copy(folder_, folder_ + ".good");
    std::string text(std::filesystem::file_size(name), '\0');
    std::ifstream(name, std::ios::binary)
        .read(text.data(), static_cast<std::streamsize>(text.size()));
    std::vector<size_t> needed;         /* pages with data that must be read */
    for (uint64_t seq = 101; seq <= EVENTS; seq++)
        if (size_t at = text.find("n" + std::to_string(seq) + "xxx"); at != text.npos)
            needed.push_back(at);
    ASSERT_EQ(needed.size(), EVENTS - 100)
        << "events are not stored as text: find them in another way";
    auto refused = [&](std::streamoff at, const std::string &junk) {
        std::filesystem::remove_all(folder_);
        std::filesystem::copy(folder_ + ".good", folder_);
        std::fstream(name, std::ios::in | std::ios::out | std::ios::binary)
            .seekp(at)
            .write(junk.data(), static_cast<std::streamsize>(junk.size()));
        auto known = recover();
        EXPECT_TRUE(!known || known.value() == EVENTS) << "at " << at << ": " << known.value();
        return !known;
    };
    std::set<std::streamoff> pages = {0};
    for (size_t at : needed) {
        pages.insert(static_cast<std::streamoff>(at) / PAGE * PAGE);
        EXPECT_TRUE(refused(static_cast<std::streamoff>(at), "m"))
            << "one byte of an event, at " << at;
    }
    for (std::streamoff page : pages) {
        EXPECT_TRUE(refused(page, std::string(PAGE, '\x5a'))) << "page at " << page;
        EXPECT_TRUE(refused(page, std::string(PAGE, '\0'))) << "page at " << page << ", zeros";
    }
    /* All other pages: refused or harmless. */
    for (std::streamoff page = 0; page < static_cast<std::streamoff>(text.size()); page += PAGE)
        refused(page, std::string(PAGE, '\x5a'));
    std::filesystem::remove_all(folder_ + ".good");
}

TEST_F(StoreFaultTest, an_older_snapshot_is_found_if_the_newest_is_damaged)
{
    fill();
    auto store = Store::open(folder_);
    ASSERT_TRUE(store);
    auto newest = store.value().last_snapshot();
    ASSERT_TRUE(newest && newest.value());
    EXPECT_EQ(newest.value()->seq, 100u);
    auto older = store.value().last_snapshot(100);
    ASSERT_TRUE(older && older.value());
    EXPECT_EQ(older.value()->seq, 50u);
    auto none = store.value().last_snapshot(50);
    ASSERT_TRUE(none);
    EXPECT_FALSE(none.value());
}

TEST_F(StoreFaultTest, a_quarantined_event_becomes_a_timer)
{
    fill();
    {
        auto store = Store::open(folder_);
        ASSERT_TRUE(store);
        EXPECT_EQ(store.value().quarantine(70), "");
        EXPECT_NE(store.value().quarantine(EVENTS + 1), "");
    }
    auto store = Store::open(folder_);
    ASSERT_TRUE(store) << store.error();
    auto snapshot = store.value().last_snapshot();
    ASSERT_TRUE(snapshot && snapshot.value());
    EXPECT_EQ(snapshot.value()->seq, 50u) << "a snapshot that contains the event is deleted";
    std::string kind;
    uint64_t last = 0;
    EXPECT_EQ(store.value().each_event(50, [&](const Event &event) -> std::string {
        if (event.seq == 70)
            kind = name_of(event.content);
        last = event.seq;
        return "";
    }), "");
    EXPECT_EQ(kind, "timer");
    EXPECT_EQ(last, EVENTS);
}

}  // namespace
}  // namespace elastic::rm
