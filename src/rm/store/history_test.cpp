#include "store/history.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/loop.h"
#include "core/record.h"
#include "store/statement.h"

namespace elastic::rm {
namespace {

constexpr uint64_t JOBS = 60;

/* Jobs of two users in turn, each with two records, and one record of a node. */
class HistoryTest : public testing::Test {
  protected:
    void SetUp() override
    {
        char name[] = "/tmp/history-test-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        folder_ = name;
        auto store = Store::open(folder_);
        ASSERT_TRUE(store) << store.error();
        Batch begun, rest;
        rest.records.push_back({1, 0, record::NODE_UP, 0, "n0", {{"cores", 4}}});
        rest.records.push_back({2, 0, record::CONFIGURED, 0, "", Json::object()});
        last_ = 2;
        for (JobId id = 1; id <= JOBS; id++) {
            Job job;
            job.id = id;
            job.spec.uid = uid_of(id);
            job.spec.name = "job";
            begun.launches.push_back({id, uid_of(id), {{"command", {"a"}}}, "#!script"});
            rest.bound.emplace_back(id, id);
            for (const char *event : {record::SUBMITTED, record::ENDED})
                rest.records.push_back({++last_, 0, event, id, "", {{"text", text_}}});
            auto second = static_cast<int64_t>(id) * 1000;
            rest.ended.push_back({id, uid_of(id), second, second + 3000, write(job)});
        }
        ASSERT_EQ(store.value().write(begun), "");
        ASSERT_EQ(store.value().write(rest), "");
        store_.emplace(std::move(store.value()));
        auto history = History::open(folder_);
        ASSERT_TRUE(history) << history.error();
        history_.emplace(std::move(history.value()));
        history_->set_deadline(monotonic_ms() + 60000);
    }
    void TearDown() override
    {
        history_.reset();
        store_.reset();
        std::filesystem::remove_all(folder_);
    }
    static uint32_t uid_of(JobId id) { return id % 2 == 0 ? 8 : 7; }

    /* All pages. */
    std::vector<Json> all_records(RecordQuery query, const RecordView &view, int *pages = nullptr)
    {
        std::vector<Json> all;
        while (query.since <= last_) {
            auto page = history_->records(query, view, last_);
            EXPECT_TRUE(page) << page.error();
            EXPECT_GT(page.value().next, query.since);
            query.since = page.value().next;
            for (Json &row : page.value().rows)
                all.push_back(std::move(row));
            if (pages)
                ++*pages;
        }
        return all;
    }

    std::string folder_, text_ = std::string(20000, 'x');
    uint64_t last_ = 0;
    std::optional<Store> store_;
    std::optional<History> history_;
};

TEST_F(HistoryTest, AUserSeesHisRecordsAndThoseOfNodes)
{
    RecordQuery query;
    query.limit = 7;
    auto seen = all_records(query, {7, true});
    ASSERT_EQ(seen.size(), JOBS + 1);
    EXPECT_EQ(seen[0]["node"], "n0");
    for (size_t i = 1; i < seen.size(); i++) {
        EXPECT_EQ(uid_of(seen[i]["job"].get<JobId>()), 7u);
        EXPECT_LT(seen[i - 1]["seq"], seen[i]["seq"]);
    }
    EXPECT_EQ(all_records(query, {}).size(), last_);
    EXPECT_EQ(all_records(query, {std::nullopt, true}).size(), last_ - 1);
    query.job = 2;
    EXPECT_EQ(all_records(query, {7, true}).size(), 0u);
    EXPECT_EQ(all_records(query, {8, true}).size(), 2u);
    query.job = 0;
    query.node = "n0";
    EXPECT_EQ(all_records(query, {7, true}).size(), 1u);
}

TEST_F(HistoryTest, APageHasSoManyBytes)
{
    int pages = 0;
    RecordQuery query;
    query.limit = 10000;
    EXPECT_EQ(all_records(query, {}, &pages).size(), last_);
    EXPECT_GE(pages, 2);
    auto page = history_->records(query, {}, last_);
    EXPECT_LT(page.value().rows.size() * text_.size(), PAGE_BYTES_MAX + 4 * text_.size());
}

TEST_F(HistoryTest, EndedJobsComeInPages)
{
    EndedQuery query;
    query.limit = 10;
    query.newest_first = true;
    query.uid = 8;
    auto page = history_->ended(query, [](const Job &) { return true; });
    ASSERT_TRUE(page) << page.error();
    ASSERT_EQ(page.value().jobs.size(), 10u);
    EXPECT_EQ(page.value().jobs[0].job.id, JOBS);
    EXPECT_EQ(page.value().jobs[0].launch["command"][0], "a");
    EXPECT_EQ(page.value().last, JOBS - 18);
    query.before = *page.value().last;
    query.limit = 1000;
    page = history_->ended(query, [](const Job &) { return true; });
    EXPECT_EQ(page.value().jobs.size(), JOBS / 2 - 10);
    EXPECT_FALSE(page.value().last) << "there are no more";
    query = {};
    query.ids = {3, 5, 1000};
    page = history_->ended(query, [](const Job &job) { return job.id != 3; });
    ASSERT_EQ(page.value().jobs.size(), 1u);
    EXPECT_EQ(page.value().jobs[0].job.id, 5u);
    EXPECT_EQ(history_->owner(5).value(), 7u);
    EXPECT_FALSE(history_->owner(1000).value());
    EXPECT_EQ(history_->launch(5).value()->script, "#!script");
}

TEST_F(HistoryTest, EndedJobsOfATimeWereWaitingOrRunningThen)
{
    auto numbers = [&](const EndedQuery &query) {
        auto page = history_->ended(query, [](const Job &) { return true; });
        std::vector<JobId> found;
        for (const EndedJob &each : page.value().jobs) {
            EXPECT_EQ(each.launch["command"][0], "a");
            found.push_back(each.job.id);
        }
        return found;
    };
    EndedQuery query;           /* job N is submitted at N seconds, and ends 3 seconds later */
    query.from_ms = 9000;
    query.to_ms = 10000;
    EXPECT_EQ(numbers(query), (std::vector<JobId>{6, 7, 8, 9, 10}));
    query.to_ms = INT64_MAX;
    query.before = 9;
    EXPECT_EQ(numbers(query), (std::vector<JobId>{6, 7, 8}));
    query = {};
    query.to_ms = 2999;
    query.newest_first = true;
    query.limit = 1;
    EXPECT_EQ(numbers(query), (std::vector<JobId>{2}));
    EXPECT_EQ(history_->ended(query, [](const Job &) { return true; }).value().last, 2u);
    query.from_ms = INT64_MAX;
    EXPECT_TRUE(numbers(query).empty());
}

TEST_F(HistoryTest, ReadingEndsAtTheDeadline)
{
    history_->set_deadline(monotonic_ms() - 1);
    EndedQuery query;
    auto page = history_->ended(query, [](const Job &) { return false; });
    bool is_short = !page || page.value().last;
    EXPECT_TRUE(is_short) << "it was read to its end";
}

TEST_F(HistoryTest, WhatIsWrittenMeanwhileIsSeen)
{
    Batch batch;
    batch.records.push_back({++last_, 0, record::NODE_UP, 0, "n1", Json::object()});
    ASSERT_EQ(store_->write(batch), "");
    RecordQuery query;
    query.node = "n1";
    EXPECT_EQ(all_records(query, {}).size(), 1u);
}

TEST_F(HistoryTest, ADamagedRecordHasAnObject)
{
    sqlite3 *database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ + "/store.sqlite").c_str(), &database), SQLITE_OK);
    for (const char *data : {"{", "[1]", "x'ff00'"}) {
        std::string value = *data == 'x' ? data : "'" + std::string(data) + "'";
        EXPECT_EQ(execute(database, "UPDATE record SET data = " + value + " WHERE number = 5"), "");
        auto page = history_->records({5, 1, 0, ""}, {}, last_);
        ASSERT_TRUE(page) << page.error();
        ASSERT_EQ(page.value().rows.size(), 1u);
        EXPECT_EQ(page.value().rows[0]["data"], Json::object()) << data;
    }
    sqlite3_close(database);
}

TEST_F(HistoryTest, AMissingTableIsAnError)
{
    sqlite3 *database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ + "/store.sqlite").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(execute(database, "DROP TABLE record"), "");
    sqlite3_close(database);
    auto page = history_->records({1, 10, 0, ""}, {}, last_);
    ASSERT_FALSE(page);
    EXPECT_NE(page.error().find("no such table"), std::string::npos) << page.error();
    EXPECT_FALSE(store_->records({1, 10, 0, ""}));
}

}  // namespace
}  // namespace elastic::rm
