/* The file of tokens, and the limit for wrong tokens. */

#include "http/access.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace elastic::rm {
namespace {

constexpr const char *SECRET = "0123456789abcdef", *OTHER = "fedcba9876543210";

class AccessTest : public testing::Test {
  protected:
    AccessTest()
    {
        char name[] = "/tmp/elastic-access-XXXXXX";
        folder_ = mkdtemp(name);
        user_ = getpwuid(geteuid())->pw_name;
    }
    ~AccessTest() override { std::filesystem::remove_all(folder_); }
    std::string write_file(const std::string &text, mode_t mode)
    {
        std::string path = folder_ + "/tokens";
        std::ofstream(path) << text;
        EXPECT_EQ(chmod(path.c_str(), mode), 0);
        return path;
    }
    std::string line() const { return std::string(SECRET) + " " + user_ + "\n"; }

    std::string folder_, user_;
};

TEST_F(AccessTest, the_file_of_tokens_is_for_its_owner_alone)
{
    for (mode_t mode : {0600, 0400})
        EXPECT_TRUE(Access::read_tokens(write_file(line(), mode)).ok()) << std::oct << mode;
    for (mode_t mode : {0640, 0620, 0610, 0604, 0602, 0601, 0644, 0666}) {
        auto tokens = Access::read_tokens(write_file(line(), mode));
        ASSERT_FALSE(tokens.ok()) << std::oct << mode;
        EXPECT_NE(tokens.error().find("mode 0600"), std::string::npos) << tokens.error();
    }
}

TEST_F(AccessTest, each_byte_of_a_token_counts)
{
    Settings settings;
    Access access(settings);
    auto tokens = Access::read_tokens(write_file(line(), 0600));
    ASSERT_TRUE(tokens.ok());
    access.set_tokens(std::move(tokens.value()));
    int64_t now_ms = 1000;
    std::string bearer = std::string("Bearer ") + SECRET;
    EXPECT_TRUE(access.of_token(bearer, "127.0.0.1", now_ms).caller);
    for (size_t i = strlen("Bearer "); i < bearer.size(); i++) {
        std::string wrong = bearer;
        wrong[i] = wrong[i] == 'x' ? 'y' : 'x';
        now_ms += 60000; /* no back-off */
        EXPECT_FALSE(access.of_token(wrong, "127.0.0.1", now_ms).caller) << wrong;
    }
    EXPECT_FALSE(access.of_token(bearer + "0", "127.0.0.1", now_ms).caller);
    EXPECT_FALSE(access.of_token(SECRET, "127.0.0.1", now_ms).caller) << "no scheme";
}

TEST_F(AccessTest, an_address_with_many_wrong_tokens_waits_and_known_tokens_do_not)
{
    Settings settings;
    Access access(settings);
    auto tokens = Access::read_tokens(
        write_file(line() + OTHER + " " + user_ + " admin\n", 0600));
    ASSERT_TRUE(tokens.ok());
    access.set_tokens(std::move(tokens.value()));
    std::string known = std::string("Bearer ") + SECRET, fresh = std::string("Bearer ") + OTHER;
    EXPECT_TRUE(access.of_token(known, "10.0.0.1", 0).caller);
    for (int i = 0; i <= Access::WRONG_AT_ONCE; i++)
        access.of_token("Bearer wrong", "10.0.0.1", 1);
    EXPECT_GT(access.of_token(fresh, "10.0.0.1", 2).wait_ms, 0) << "not from there before";
    EXPECT_TRUE(access.of_token(known, "10.0.0.1", 3).caller) << "right from there before";
    EXPECT_TRUE(access.of_token(fresh, "10.0.0.2", 4).caller) << "another address";
}

/* All users of a machine, or behind a proxy, have one address. */
TEST_F(AccessTest, wrong_tokens_of_somebody_keep_nobody_with_a_long_token_out)
{
    Settings settings;
    Access access(settings);
    std::string secret = std::string(SECRET) + OTHER + SECRET;
    auto tokens = Access::read_tokens(write_file(secret + " " + user_ + "\n", 0600));
    ASSERT_TRUE(tokens.ok());
    access.set_tokens(std::move(tokens.value()));
    for (int i = 0; i <= Access::WRONG_AT_ONCE; i++)
        access.of_token("Bearer wrong", "10.0.0.1", 1);
    EXPECT_TRUE(access.of_token("Bearer " + secret, "10.0.0.1", 2).caller);
    secret.back() = 'x';
    EXPECT_GT(access.of_token("Bearer " + secret, "10.0.0.1", 3).wait_ms, 0);
}

}  // namespace
}  // namespace elastic::rm
