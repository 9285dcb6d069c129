#include "daemon/snapshot_writer.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

constexpr int NODES = 450;

class SnapshotWriterTest : public testing::Test {
  protected:
    SnapshotWriterTest()
    {
        char name[] = "/tmp/snapshot-test-XXXXXX";
        folder_ = mkdtemp(name);
        notify(Configure{CoreDriver::config_of(PolicyKind::EASY)});
        for (int i = 0; i < NODES; i++)
            notify(NodeUp{"n" + std::to_string(i), 4});
    }
    ~SnapshotWriterTest() override { std::filesystem::remove_all(folder_); }

    Store open()
    {
        auto store = Store::open(folder_);
        EXPECT_TRUE(store) << store.error();
        return std::move(store.value());
    }
    static Json restored(Store &store)
    {
        auto snapshot = store.last_snapshot();
        EXPECT_TRUE(snapshot && snapshot.value());
        auto core = Core::restore(snapshot.value()->head, snapshot.value()->parts);
        EXPECT_TRUE(core) << core.error();
        return core.value().snapshot();
    }

    void notify(EventContent content)
    {
        core_.handle({core_.state().seq + 1, 1000, std::move(content)});
    }
    void submit(int jobs, int size)
    {
        for (int i = 0; i < jobs; i++)
            notify(Submit{"s" + std::to_string(++submitted_), rigid(size)});
    }

    std::string folder_;
    Core core_;
    int submitted_ = 0;
};

TEST_F(SnapshotWriterTest, it_writes_the_core_as_it_was_while_that_goes_on)
{
    Store store = open();
    SnapshotWriter writer(core_, 0, 500);
    EXPECT_FALSE(writer.is_due()) << "451 events";
    submit(600, 8);
    ASSERT_TRUE(writer.is_due());
    Json before = core_.snapshot();
    writer.begin(1);
    EXPECT_FALSE(writer.is_due()) << "one is being taken";
    int parts = 0;
    for (bool more = true; more; parts++) {
        notify(Cancel{{"c" + std::to_string(parts), static_cast<JobId>(600 - parts)}});
        submit(1, 1);
        auto written = writer.go_on(store);
        ASSERT_TRUE(written) << written.error();
        more = written.value();
    }
    EXPECT_GE(parts, 6) << "450 nodes and 600 jobs are more than a part each";
    EXPECT_EQ(restored(store), before);
    EXPECT_NE(core_.snapshot(), before);
    EXPECT_FALSE(writer.go_on(store).value()) << "nothing is left to do";
}

/* The number of jobs is larger than the number of events between two snapshots. */
TEST_F(SnapshotWriterTest, many_jobs_are_not_written_for_few_events)
{
    Store store = open();
    SnapshotWriter writer(core_, 0, 10);
    submit(900, 8);
    writer.begin(1);
    while (writer.go_on(store).value())
        continue;
    for (int i = 0; i < 450; i++)
        notify(Timer{});
    EXPECT_FALSE(writer.is_due());
    for (int i = 0; i < 450; i++)
        notify(Timer{});
    EXPECT_TRUE(writer.is_due());
}

/* elasticd ends during a snapshot, and then writes a complete one. */
TEST_F(SnapshotWriterTest, a_new_one_replaces_one_that_is_being_taken)
{
    Store store = open();
    SnapshotWriter writer(core_, 0, 10);
    submit(1, 2);
    writer.begin(1);
    for (int i = 0; i < 3; i++)
        ASSERT_TRUE(writer.go_on(store).value());
    submit(1, 3);
    writer.begin(2);
    while (writer.go_on(store).value())
        continue;
    EXPECT_EQ(restored(store), core_.snapshot());
    EXPECT_FALSE(store.tidy_snapshots(1).value()) << "what was written of the first one is left";
}

}  // namespace
}  // namespace elastic::rm
