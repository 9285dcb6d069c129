/* A slow directory service: the loop continues, and each user is queried once. */

#include "base/user_directory.h"

#include <gtest/gtest.h>

#include "base/no_descriptors.h"

namespace elastic::rm {
namespace {

/* A lookup that answers when the test permits. */
class SlowService {
  public:
    User lookup(uint32_t uid)
    {
        std::unique_lock lock(mutex_);
        queried_.push_back(uid);
        changed_.notify_all();
        changed_.wait(lock, [this] { return may_answer_; });
        return {true, uid, 100, "user" + std::to_string(uid), {100, queries()},
                ""};
    }
    void answer()
    {
        std::lock_guard lock(mutex_);
        may_answer_ = true;
        changed_.notify_all();
    }
    void wait_for_query()
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !queried_.empty(); });
    }
    std::vector<uint32_t> queried()
    {
        std::lock_guard lock(mutex_);
        return queried_;
    }

  private:
    uint32_t queries() const { return static_cast<uint32_t>(queried_.size()); }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<uint32_t> queried_;
    bool may_answer_ = false;
};

struct UserDirectoryTest : testing::Test {
    /* Runs until this number of users has been found; stores their names. */
    void run_until_found(size_t count)
    {
        loop.run([&] {
            if (found.size() >= count)
                loop.stop();
        });
    }
    void find(uint32_t uid, int64_t age_max_ms = UserDirectory::FRESH_MS)
    {
        users.find(uid, age_max_ms, [this](const User &user) { found.push_back(user.name); });
    }

    Loop loop;
    SlowService service;
    UserDirectory users{loop, [this](uint32_t uid) { return service.lookup(uid); }};
    std::vector<std::string> found;
};

TEST_F(UserDirectoryTest, the_loop_goes_on_while_the_service_hangs)
{
    users.start();
    find(7);
    service.wait_for_query();
    EXPECT_TRUE(found.empty());
    EXPECT_EQ(users.known(7), nullptr);
    int turns = 0;
    std::function<void()> turn = [&] {
        if (++turns == 100)
            service.answer();
        else
            loop.after(0, turn);
    };
    loop.after(0, turn);
    run_until_found(1);
    EXPECT_EQ(turns, 100) << "the loop has waited for the service";
    EXPECT_EQ(found, std::vector<std::string>{"user7"});
}

TEST_F(UserDirectoryTest, a_user_is_queried_once_for_all_who_wait)
{
    users.start();
    find(7);
    find(8);
    find(7);
    find(7);
    service.answer();
    run_until_found(4);
    EXPECT_EQ(service.queried(), (std::vector<uint32_t>{7, 8}));
    EXPECT_EQ(std::ranges::count(found, "user7"), 3);
    find(7);
    EXPECT_EQ(found.size(), 5U) << "it is known, so that nobody waits";
    EXPECT_EQ(service.queried().size(), 2U);
    ASSERT_NE(users.known(8), nullptr);
    EXPECT_EQ(users.known(8)->gid, 100U);
}

TEST_F(UserDirectoryTest, it_ends_while_lookups_are_left)
{
    users.start();
    for (uint32_t uid = 1; uid <= 50; uid++)
        find(uid);
    service.wait_for_query();
    service.answer();
    EXPECT_TRUE(found.empty()) << "the loop has not run";
}

/* It would fail as a user that does not exist, or without its groups. */
TEST_F(UserDirectoryTest, without_descriptors_it_is_unknown_whether_a_user_exists)
{
    EXPECT_TRUE(lookup_user(0).exists);
    User none = lookup_user(3999999999), now;
    EXPECT_FALSE(none.exists);
    EXPECT_EQ(none.error, "");
    {
        NoDescriptors no_descriptors;
        now = lookup_user(0);
    }
    EXPECT_FALSE(now.exists);
    EXPECT_EQ(now.error, "cannot look up its user: Too many open files");
    EXPECT_EQ(lookup_user(0).error, "");
}

TEST_F(UserDirectoryTest, an_error_of_the_lookup_is_not_remembered)
{
    bool fails = true;
    UserDirectory failing{loop, [&](uint32_t uid) {
        return User{!fails, uid, 0, "root", {}, fails ? "no descriptors" : ""};
    }};
    failing.start();
    for (const char *wanted : {"no descriptors", ""}) {
        failing.find(0, UserDirectory::KNOWN_MS, [&](const User &user) {
            EXPECT_EQ(user.error, wanted);
            found.push_back(user.name);
        });
        run_until_found(found.size() + 1);
        fails = false;
    }
    ASSERT_NE(failing.known(0), nullptr);
    EXPECT_TRUE(failing.known(0)->exists);
}

}  // namespace
}  // namespace elastic::rm
