#include "step/start_service.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <filesystem>

#include "step/line_connection.h"
#include "step/pass_descriptor.h"

namespace elastic::rm {
namespace {

class StartServiceTest : public testing::Test {
  protected:
    void SetUp() override
    {
        char name[] = "/tmp/start-service-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        folder_ = name;
        service_ = Descriptor(listen_unix_anywhere(folder_ + "/service"));
        listening_ = Descriptor(listen_unix_anywhere(folder_ + "/stepd.sock"));
        ASSERT_TRUE(service_.is_open() && listening_.is_open());
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    Descriptor accepted() const
    {
        return Descriptor(accept4(service_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    /* The error of elastic-stepd for these bytes with that descriptor. */
    std::string error_of(const std::string &text, int descriptor) const
    {
        Descriptor mine(connect_unix(folder_ + "/service"));
        EXPECT_TRUE(send_with_descriptor(mine.get(), text, descriptor));
        mine.reset();
        auto request = receive_start_request(accepted().get());
        return request ? "" : request.error();
    }

    std::string folder_;
    Descriptor service_, listening_;
};

TEST_F(StartServiceTest, folder_and_socket_arrive)
{
    EXPECT_EQ(send_start_request(folder_ + "/service", folder_, listening_.get()), "");
    auto request = receive_start_request(accepted().get());
    ASSERT_TRUE(request) << request.error();
    EXPECT_EQ(request.value().folder, folder_);
    Descriptor client(connect_unix(folder_ + "/stepd.sock"));
    ASSERT_TRUE(client.is_open());
    listening_.reset();
    Descriptor connection(accept(request.value().listening.get(), nullptr, nullptr));
    EXPECT_TRUE(connection.is_open());
}

/* Until the request is received its socket accepts connections; they end if it is never
 * received. */
TEST_F(StartServiceTest, a_request_that_nobody_receives_ends_the_connections_to_its_step)
{
    EXPECT_EQ(send_start_request(folder_ + "/service", folder_, listening_.get()), "");
    listening_.reset();
    Descriptor client(connect_unix(folder_ + "/stepd.sock"));
    ASSERT_TRUE(client.is_open());
    accepted().reset();
    int flags = fcntl(client.get(), F_GETFL);
    fcntl(client.get(), F_SETFL, flags & ~O_NONBLOCK);
    char byte;
    EXPECT_LE(recv(client.get(), &byte, 1, 0), 0);
    EXPECT_EQ(connect_unix(folder_ + "/stepd.sock"), -1);
}

TEST_F(StartServiceTest, no_service_is_an_error_that_names_its_socket)
{
    std::string error = send_start_request(folder_ + "/none", folder_, listening_.get());
    EXPECT_NE(error.find(folder_ + "/none: No such file"), std::string::npos) << error;
    EXPECT_NE(error.find("elastic-step.socket"), std::string::npos) << error;
}

TEST_F(StartServiceTest, wrong_requests_are_refused)
{
    auto refused = [this](const char *why, const std::string &text, int descriptor) {
        std::string error = error_of(text, descriptor);
        EXPECT_NE(error.find(why), std::string::npos) << "'" << error << "'";
    };
    refused("does not carry one listening socket", folder_ + "\n", -1);
    Descriptor file(open("/dev/null", O_RDONLY));
    refused("does not carry one listening socket", folder_ + "\n", file.get());
    Descriptor connected(connect_unix(folder_ + "/service"));
    accepted().reset();
    refused("does not carry one listening socket", folder_ + "\n", connected.get());
    refused("did not arrive", folder_, listening_.get());
    refused("did not arrive", folder_.substr(0, 3), listening_.get());
    refused("too long", std::string(PATH_MAX + 1, '/') + "\n", listening_.get());
    refused("not a directory", folder_ + "/stepd.sock\n", listening_.get());
    refused("not a directory", folder_.substr(1) + "\n", listening_.get());
    refused("not a directory", "\n", listening_.get());
    ASSERT_EQ(symlink(folder_.c_str(), (folder_ + "/link").c_str()), 0);
    refused("not a directory", folder_ + "/link\n", listening_.get());
}

TEST_F(StartServiceTest, another_user_is_refused)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "needs root: only then are there two users";
    ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
    ASSERT_EQ(chmod((folder_ + "/service").c_str(), 0666), 0);
    constexpr uid_t OTHER = 65534;
    pid_t child = fork();
    if (child == 0)
        _exit(setuid(OTHER) == 0 &&
                      send_start_request(folder_ + "/service", folder_, listening_.get()).empty()
                  ? 0
                  : 1);
    int status = -1;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
    auto request = receive_start_request(accepted().get());
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error(), "the request to start a step is another user's");
}

}  // namespace
}  // namespace elastic::rm
