#include "store/store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>

#include "core/record.h"

namespace elastic::rm {
namespace {

class StoreTest : public testing::Test {
  protected:
    void SetUp() override
    {
        char name[] = "/tmp/store-test-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        folder_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    Store open()
    {
        auto store = Store::open(folder_);
        EXPECT_TRUE(store) << store.error();
        return std::move(store.value());
    }
    static Event event(uint64_t seq, EventContent content = Timer{})
    {
        return {seq, static_cast<int64_t>(1000 + seq), std::move(content)};
    }

    std::string folder_;
};

TEST_F(StoreTest, EventsAndSnapshotsComeBack)
{
    {
        Store store = open();
        Batch batch;
        for (uint64_t seq = 1; seq <= 5; seq++)
            batch.events.push_back(event(seq, NodeUp{"n" + std::to_string(seq), 4}));
        ASSERT_EQ(store.write(batch), "");
        ASSERT_EQ(store.write_snapshot(3, 1, {{"number", 3}}), "");
    }
    Store store = open();
    auto snapshot = store.last_snapshot();
    ASSERT_TRUE(snapshot && snapshot.value());
    EXPECT_EQ(snapshot.value()->seq, 3u);
    EXPECT_EQ(snapshot.value()->head["number"], 3);
    std::vector<std::string> nodes;
    EXPECT_EQ(store.each_event(3, [&](const Event &each) {
        nodes.push_back(std::get<NodeUp>(each.content).node);
        return std::string();
    }), "");
    EXPECT_EQ(nodes, (std::vector<std::string>{"n4", "n5"}));
}

TEST_F(StoreTest, ASnapshotIsThereWithAllOfItsParts)
{
    Store store = open();
    ASSERT_EQ(store.write_snapshot_part(7, 0, {{"jobs", {1, 2}}}), "");
    ASSERT_EQ(store.write_snapshot_part(7, 1, {{"jobs", {3}}}), "");
    EXPECT_FALSE(store.last_snapshot().value()) << "it is not complete";
    ASSERT_EQ(store.write_snapshot(7, 1, {{"number", 7}}, 2), "");
    auto snapshot = store.last_snapshot().value();
    ASSERT_TRUE(snapshot);
    ASSERT_EQ(snapshot->parts.size(), 2u);
    EXPECT_EQ(snapshot->parts[1]["jobs"], Json({3}));
    /* From a dropped snapshot, and from a later one. */
    ASSERT_EQ(store.write_snapshot_part(9, 0, {{"jobs", {4}}}), "");
    ASSERT_EQ(store.write_snapshot(8, 2, Json::object(), 3), "") << "parts are missing";
    snapshot = store.last_snapshot().value();
    ASSERT_TRUE(snapshot);
    EXPECT_EQ(snapshot->seq, 7u) << "the one before";
    EXPECT_FALSE(store.tidy_snapshots(10).value());
    EXPECT_EQ(store.last_snapshot().value()->parts.size(), 2u) << "tidied too much";
}

TEST_F(StoreTest, PartsOfFormerSnapshotsAreDeletedBitByBit)
{
    Store store = open();
    for (uint64_t seq = 1; seq <= 4; seq++) {
        for (uint64_t number = 0; number < 5; number++)
            ASSERT_EQ(store.write_snapshot_part(seq, number, Json::array()), "");
        ASSERT_EQ(store.write_snapshot(seq, 1, Json::object(), 5), "");
    }
    int times = 1;
    for (; store.tidy_snapshots(3).value(); times++)
        ASSERT_LT(times, 100);
    EXPECT_EQ(times, 4) << "two of four snapshots are stored: ten parts, three at a time";
    EXPECT_EQ(store.last_snapshot().value()->parts.size(), 5u);
    EXPECT_EQ(store.last_snapshot(4).value()->parts.size(), 5u);
}

TEST_F(StoreTest, ALaunchOfAnArrayIsThatOfEachTaskUntilTheLastIsDiscarded)
{
    Store store = open();
    Batch batch;
    for (uint64_t seq : {1, 2, 3}) {
        batch.events.push_back(event(seq));
        batch.launches.push_back({seq, 7, {{"environment", {"A=1"}}, {"of", seq}}, "#!"});
    }
    ASSERT_EQ(store.write(batch), "");
    Batch rows;
    rows.bound = {{1, 1, 1}, {2, 2, 4}, {3, 6, 6}};
    rows.records.push_back({1, 5, "submitted", 3, "", {}});
    ASSERT_EQ(store.write(rows), "");
    auto launch = [&](JobId job) { return store.launch(job).value(); };
    for (JobId job : {2, 3, 4})
        EXPECT_EQ(launch(job) ? launch(job)->seq : 0, 2u) << job;
    EXPECT_EQ(launch(1)->seq, 1u);
    EXPECT_FALSE(launch(5));
    EXPECT_EQ(launch(6)->seq, 3u);
    EXPECT_EQ(store.launch_sizes().value().size(), 5u) << "each task is a job of its user";
    for (JobId job : {3, 2, 4}) {
        EXPECT_TRUE(launch(job)->body.contains("environment")) << job;
        Batch ended;
        ended.ended.push_back({job, 7, 1, 10 + static_cast<int64_t>(job), Json::object()});
        ASSERT_EQ(store.write(ended), "");
    }
    EXPECT_FALSE(launch(2)->body.contains("environment")) << "all have ended";
    EXPECT_TRUE(launch(1)->body.contains("environment"));
    ASSERT_TRUE(store.remove_before(14, 100));
    EXPECT_TRUE(launch(4)) << "the last task is still in the history";
    ASSERT_TRUE(store.remove_before(15, 100));
    EXPECT_FALSE(launch(4));
    EXPECT_TRUE(launch(6)) << "it has not ended";
}

TEST_F(StoreTest, AStoreOfAFormerVersionIsBroughtToThisOne)
{
    constexpr const char *COMMON = R"(
        CREATE TABLE launch (seq INTEGER PRIMARY KEY, job INTEGER UNIQUE, uid INTEGER NOT NULL,
                             body TEXT NOT NULL, script TEXT NOT NULL);
        CREATE TABLE record (number INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL,
                             event TEXT NOT NULL, job INTEGER, node TEXT, data TEXT NOT NULL);
        CREATE TABLE ended (job INTEGER PRIMARY KEY, uid INTEGER NOT NULL,
                            submitted_ms INTEGER NOT NULL,
                            ended_ms INTEGER NOT NULL, body TEXT NOT NULL);
        INSERT INTO event (seq, time_ms, body)
            VALUES (4, 9, '{"event":"timer","seq":4,"time_ms":9}');
        INSERT INTO snapshot (seq, time_ms, body) VALUES (3, 9, x'a1667365715f697303');
        PRAGMA application_id = 1701601651;
    )";
    const std::string tables[] = {
        "CREATE TABLE event (seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, body TEXT NOT "
        "NULL);"
        "CREATE TABLE snapshot (seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, body BLOB NOT "
        "NULL);"
        "PRAGMA user_version = 1;",
        "CREATE TABLE event (seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, body TEXT NOT "
        "NULL, sum INTEGER);"
        "CREATE TABLE snapshot (seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, body BLOB NOT "
        "NULL, sum INTEGER);"
        "CREATE TABLE clock (id INTEGER PRIMARY KEY, boot TEXT NOT NULL, boot_ms INTEGER NOT NULL,"
        "                    clock_ms INTEGER NOT NULL);"
        "PRAGMA user_version = 2;"};
    for (const std::string &former : tables) {
        std::filesystem::remove(folder_ + "/store.sqlite");
        sqlite3 *database = nullptr;
        ASSERT_EQ(sqlite3_open((folder_ + "/store.sqlite").c_str(), &database), SQLITE_OK);
        char *wrong = nullptr;
        EXPECT_EQ(sqlite3_exec(database, (former + COMMON).c_str(), nullptr, nullptr, &wrong),
                  SQLITE_OK)
            << wrong;
        sqlite3_close(database);
        for (int times = 0; times < 2; times++) {
            Store store = open();
            auto snapshot = store.last_snapshot();
            ASSERT_TRUE(snapshot && snapshot.value()) << snapshot.error();
            EXPECT_EQ(snapshot.value()->seq, 3u);
            uint64_t last = 0;
            EXPECT_EQ(store.each_event(3,
                                       [&](const Event &event) {
                                           last = event.seq;
                                           return std::string();
                                       }),
                      "");
            EXPECT_EQ(last, 4u);
            EXPECT_EQ(store.write_snapshot_part(5, 0, Json::array()), "");
        }
    }
}

TEST_F(StoreTest, ABatchIsWrittenInFullOrNotAtAll)
{
    Store store = open();
    ASSERT_EQ(store.write({{event(1)}, {}, {}, {}, {}, {}}), "");
    Batch batch;
    batch.launches.push_back({2, 1000, Json::object(), "#!/bin/sh"});
    batch.events = {event(2), event(1)};        /* the second has a number that is taken */
    EXPECT_NE(store.write(batch), "");
    uint64_t count = 0;
    store.each_event(0, [&](const Event &) { count++; return std::string(); });
    EXPECT_EQ(count, 1u);
    batch.events = {event(2)};
    EXPECT_EQ(store.write(batch), "") << "the failed transaction must be undone";
}

TEST_F(StoreTest, ALaunchBelongsToTheJobThatItMade)
{
    Store store = open();
    Batch batch;
    batch.launches = {{7, 1000, {{"directory", "/a"}}, "script"},
                      {8, 1000, {{"directory", "/b"}}, ""}};
    batch.events = {event(7), event(8)};
    ASSERT_EQ(store.write(batch), "");
    EXPECT_FALSE(store.launch(3).value());
    ASSERT_EQ(store.write({{}, {}, {{7, 3}, {8, 0}}, {}, {}, {}}), "");
    auto launch = store.launch(3).value();
    ASSERT_TRUE(launch);
    EXPECT_EQ(launch->body["directory"], "/a");
    EXPECT_EQ(launch->script, "script");
    EXPECT_EQ(store.write({{}, {}, {{7, 3}, {8, 0}}, {}, {}, {}}), "")
        << "again, as after a restart";
}

TEST_F(StoreTest, RecordsAreFoundByJobAndNode)
{
    Store store = open();
    Batch batch;
    batch.records = {{1, 10, record::SUBMITTED, 5, "", {{"a", 1}}},
                     {2, 20, record::NODE_DOWN, 0, "n1", Json::object()},
                     {3, 30, record::ENDED, 5, "", Json::object()}};
    ASSERT_EQ(store.write(batch), "");
    ASSERT_EQ(store.write(batch), "") << "again, as after a restart";
    EXPECT_EQ(store.records({1, 100, 0, ""}).value().size(), 3u);
    EXPECT_EQ(store.records({2, 100, 5, ""}).value().size(), 1u);
    EXPECT_EQ(store.records({1, 100, 0, "n1"}).value()[0]["seq"], 2);
    EXPECT_EQ(store.records({1, 2, 0, ""}).value().size(), 2u);
    EXPECT_EQ(store.last_record().value(), 3u);
    EXPECT_TRUE(store.remove_before(25, 1).value()) << "there is more";
    auto oldest = [&store] { return store.records({1, 1, 0, ""}).value().at(0)["seq"]; };
    EXPECT_EQ(oldest(), 2) << "a part at a time";
    ASSERT_FALSE(store.remove_before(25, 1000).value());
    EXPECT_EQ(oldest(), 3);
}

TEST_F(StoreTest, ForgettingKeepsWhatARestartNeeds)
{
    Store store = open();
    Batch batch;
    for (uint64_t seq = 1; seq <= 10; seq++)
        batch.events.push_back(event(seq));
    ASSERT_EQ(store.write(batch), "");
    ASSERT_FALSE(store.remove_before(1000000, 1000).value());
    uint64_t count = 0;
    auto counting = [&](const Event &) { count++; return std::string(); };
    store.each_event(0, counting);
    EXPECT_EQ(count, 10u) << "without a snapshot every event is needed";
    store.write_snapshot(4, 1, Json::object());
    store.write_snapshot(8, 2, Json::object());
    ASSERT_FALSE(store.remove_before(1000000, 1000).value());
    count = 0;
    store.each_event(0, counting);
    EXPECT_EQ(count, 6u) << "from the older snapshot on";
}

TEST_F(StoreTest, OnlyOneAtATime)
{
    Store store = open();
    auto second = Store::open(folder_);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().find("another elasticd"), std::string::npos) << second.error();
}

TEST_F(StoreTest, AFolderOfOthersIsRefused)
{
    std::filesystem::permissions(folder_, std::filesystem::perms::all);
    auto store = Store::open(folder_);
    ASSERT_FALSE(store);
    EXPECT_NE(store.error().find("can be written by others"), std::string::npos) << store.error();
}

/* A launch with a script, its record and its end. */
void put_job(Store &store, uint64_t number, uint32_t uid, size_t script_bytes)
{
    Batch begun;
    begun.events.push_back({number, 0, Timer{}});
    begun.launches.push_back({number, uid, {{"command", {"a"}}}, std::string(script_bytes, '#')});
    ASSERT_EQ(store.write(begun), "");
    Batch ended;
    ended.bound.emplace_back(number, number);
    ended.records.push_back({number, 0, record::ENDED, number, "", {{"state", "DONE"}}});
    ended.ended.push_back({number, uid, 0, 0, {{"id", number}}});
    ASSERT_EQ(store.write(ended), "");
}

TEST_F(StoreTest, BytesOfAUserCountUntilTheyAreDeleted)
{
    Store store = open();
    for (uint64_t number = 1; number <= 10; number++)
        put_job(store, number, number % 2 == 0 ? 7 : 8, 100000);
    int64_t before = store.used_bytes(7).value();
    EXPECT_GT(before, 500000);
    EXPECT_LT(before, 510000);
    EXPECT_EQ(store.users_above(before).value(), std::vector<uint32_t>());
    EXPECT_EQ(store.users_above(400000).value().size(), 2u);
    EXPECT_TRUE(store.remove_oldest_of(7, 2).value());
    EXPECT_LT(store.used_bytes(7).value(), before - 90000);
    EXPECT_FALSE(store.launch(2).value()) << "the oldest";
    EXPECT_TRUE(store.launch(10).value());
    while (store.remove_oldest_of(7, 3).value())
        ;
    EXPECT_EQ(store.used_bytes(7).value(), 0);
    EXPECT_FALSE(store.ended(10).value());
    for (JobId job : {1, 3, 5, 7, 9})
        EXPECT_TRUE(store.ended(job).value()) << "another user's are there: " << job;
    EXPECT_GT(store.used_bytes(8).value(), 500000);
}

TEST_F(StoreTest, ADamagedLaunchStopsNoWriting)
{
    {
        Store store = open();
        Batch batch;
        for (uint64_t seq : {1, 2}) {
            batch.events.push_back(event(seq));
            batch.launches.push_back({seq, 7, {{"environment", {"A=1"}}}, "#!"});
        }
        ASSERT_EQ(store.write(batch), "");
        Batch rows;
        rows.bound = {{1, 1, 1}, {2, 2, 3}};
        ASSERT_EQ(store.write(rows), "");
    }
    sqlite3 *database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ + "/store.sqlite").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, "UPDATE launch SET body = '{'", nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(database);
    Store store = open();
    for (JobId job : {1, 2, 3}) {
        ASSERT_TRUE(store.remove_before(5, 100));
        EXPECT_TRUE(store.launch(3).value()) << "a task has not ended";
        Batch ended;
        ended.ended.push_back({job, 7, 1, 10, Json::object()});
        ASSERT_EQ(store.write(ended), "") << job;
    }
    ASSERT_TRUE(store.remove_before(11, 100));
    for (JobId job : {1, 2, 3})
        EXPECT_FALSE(store.launch(job).value()) << job;
}

TEST_F(StoreTest, SpaceThatIsNotUsedIsReturned)
{
    Store store = open();
    for (uint64_t number = 1; number <= 20; number++)
        put_job(store, number, 7, 1000000);
    while (store.remove_oldest_of(7, 100).value())
        ;
    Store::Pages before = store.pages();
    EXPECT_GT(before.unused_bytes, 15000000);
    EXPECT_EQ(store.return_pages(100), "");
    EXPECT_LT(store.pages().unused_bytes, before.unused_bytes);
    EXPECT_EQ(store.return_pages(1000000), "");
    EXPECT_LT(store.pages().unused_bytes, 10000);
}

TEST_F(StoreTest, ADamagedSubmissionIsFoundByItsRows)
{
    Store store = open();
    Batch batch;
    JobSpec spec;
    spec.name = "ocean";
    spec.uid = 7;
    batch.events.push_back(event(1, Submit{"r", spec}));
    batch.launches.push_back({1, 7, {{"command", {"a"}}}, ""});
    ASSERT_EQ(store.write(batch), "");
    Batch rows;
    rows.bound.emplace_back(1, 5);
    rows.records.push_back({1, 0, record::SUBMITTED, 5, "", {{"spec", write(spec)}}});
    ASSERT_EQ(store.write(rows), "");
    auto submission = store.submission(1);
    ASSERT_TRUE(submission && submission.value());
    EXPECT_EQ(submission.value()->spec.name, "ocean");
    EXPECT_FALSE(submission.value()->spec.held);
    EXPECT_FALSE(store.submission(2).value());
}

}  // namespace
}  // namespace elastic::rm
