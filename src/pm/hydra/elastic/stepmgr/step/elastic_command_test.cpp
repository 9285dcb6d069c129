/*
 * The `elastic` command with a step: the real core with a real socket in a private directory, and
 * proxies that execute each command at once.  ELASTIC_COMMAND names the program; without it these
 * tests are skipped, with a message.
 */

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

#include "stepmgr/proto/payload.h"
#include "stepmgr/stepmgr.h"
#include "wire/step_socket.h"

namespace elastic {
namespace {

constexpr size_t PSETS = 1500;  /* more than one reply contains */

struct CommandResult {
    int code = -1;
    std::string output;         /* standard output and error */
};

/* Runs on its own thread, the only one that uses the step manager. */
class Server {
  public:
    explicit Server(const std::string &socket_path) : path_(socket_path)
    {
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        snprintf(address.sun_path, sizeof address.sun_path, "%s", path_.c_str());
        listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
        EXPECT_EQ(listen(listener_, 8), 0);
        make_core();
        thread_ = std::thread([this] { serve(); });
    }
    ~Server()
    {
        stop_ = true;
        thread_.join();
        stepmgr_destroy(core_);
        for (auto &[fd, text] : clients_)
            close(fd);
        close(listener_);
        unlink(path_.c_str());
    }
    void hold_joining() { hold_ = true; }

  private:
    static Server &self(void *context) { return *static_cast<Server *>(context); }

    void make_core()
    {
        step_config config = {};
        config.step_id = "77";
        config.program = "./app";
        config.user = "user";
        config.programs = 2;
        step_effects effects = {};
        effects.context = this;
        effects.launch = launch;
        effects.kill_group = [](void *, int) {};
        effects.abort_step = [](void *, const char *) {};
        effects.send = send;
        effects.reply = reply;
        effects.log = [](void *, const char *) {};
        effects.notify_user = [](void *, const char *) {};
        effects.wake_at = [](void *, int64_t) {};
        char error[256];
        core_ = stepmgr_create(&config, &effects, error, sizeof error);
        const uint32_t turned[][2] = {{1, 1}, {0, 1}}, first[][2] = {{0, 1}};
        stepmgr_add_set(core_, "app://turned", turned, 2);
        for (size_t i = 0; i < PSETS; i++)
            stepmgr_add_set(core_, ("app://first/" + std::to_string(i)).c_str(), first, 1);
        start_group(0, 2);
    }
    void start_group(int group, int count)
    {
        std::vector<step_process> processes(static_cast<size_t>(count), {0, "here"});
        stepmgr_group(core_, 1, group, count, processes.data());
        for (uint32_t rank = 0; rank < static_cast<uint32_t>(count); rank++)
            report(group, REPORT_INIT, 0, write_init({rank, REPORT_MODE_ADAPTIVE, 0, "c"}));
    }
    void report(int group, step_report kind, uint32_t epoch, const std::string &payload)
    {
        stepmgr_report(core_, 1, group, 0, kind, epoch, payload.data(), payload.size());
    }
    static int launch(void *context, uint32_t epoch, int count, int, int, uint32_t, int,
                      const char *const *hosts, int n_hosts, int *group, char *error, size_t bytes)
    {
        Server &server = self(context);
        if (n_hosts > 0 && std::string(hosts[0]) == "full") {
            snprintf(error, bytes, "host full has no capacity");
            return -1;
        }
        *group = server.next_group_++;
        server.todo_.push_back([&server, group = *group, count, epoch] {
            server.start_group(group, count);
            for (int rank = 0; rank < count && !server.hold_; rank++)
                server.report(group, REPORT_READY, epoch,
                              write_ready({static_cast<uint32_t>(rank), {}}));
        });
        return 0;
    }
    static void send(void *context, const step_proxy *to, int n, step_command command,
                     uint32_t epoch, const void *, size_t)
    {
        for (int i = 0; i < n; i++)
            self(context).take(to[i].group, command, epoch);
    }
    void take(int group, step_command command, uint32_t epoch)
    {
        Server &server = *this;
        if (command == STEP_PLAN)
            server.participants_.push_back(group);
        if (command == STEP_PLAN)
            server.todo_.push_back([&server, group, epoch] {
                server.report(group, REPORT_PREPARED, epoch, "");
                if (group == server.next_group_ - 1 && group > 0)
                    server.report(group, REPORT_GREETED, epoch, "");
            });
        if (command == STEP_FREEZE)
            server.todo_.push_back([&server, group, epoch] {
                server.report(group, REPORT_FROZEN, epoch, write_number(3));
            });
        if (command == STEP_PERFORMANCE)
            server.todo_.push_back([&server, group, epoch] {
                std::vector<PerformanceReport> rows = {
                    {0, 1, 100, 10, 500 * 1000 * 1000, 5 * 1000 * 1000},
                    {1, 1, 100, 10, 500 * 1000 * 1000, 95 * 1000 * 1000}};
                server.report(group, REPORT_PERFORMANCE, epoch, write_performance(rows));
            });
        if (command == STEP_TARGET)
            server.todo_.push_back([&server, epoch] {
                auto participants = std::exchange(server.participants_, {});
                for (int participant : participants)
                    server.report(participant, REPORT_COMMITTED, epoch, "");
            });
    }
    static void reply(void *, int client, const char *line)
    {
        std::string text = std::string(line) + "\n";
        (void) ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
    }

    void serve()
    {
        while (!stop_) {
            while (!todo_.empty()) {
                auto action = todo_.front();
                todo_.pop_front();
                action();
            }
            std::vector<pollfd> waiting = {{listener_, POLLIN, 0}};
            for (auto &[fd, text] : clients_)
                waiting.push_back({fd, POLLIN, 0});
            poll(waiting.data(), waiting.size(), 20);
            for (size_t i = 1; i < waiting.size(); i++) {
                if (waiting[i].revents)
                    receive(waiting[i].fd);
            }
            if (waiting[0].revents)
                clients_[accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)] = "";
        }
    }
    void receive(int fd)
    {
        char block[4096];
        ssize_t bytes = recv(fd, block, sizeof block, 0);
        if (bytes <= 0) {
            stepmgr_client_disconnected(core_, fd);
            close(fd);
            clients_.erase(fd);
            return;
        }
        std::string &text = clients_[fd];
        text.append(block, static_cast<size_t>(bytes));
        for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
            stepmgr_client_line(core_, 1, fd, text.substr(0, end).c_str());
    }

    std::string path_;
    int listener_ = -1, next_group_ = 1;
    stepmgr *core_ = nullptr;
    std::map<int, std::string> clients_;
    std::deque<std::function<void()>> todo_;
    std::vector<int> participants_;
    std::atomic<bool> hold_ = false, stop_ = false;
    std::thread thread_;
};

class ElasticCommandTest : public testing::Test {
  protected:
    void SetUp() override
    {
        if (!getenv("ELASTIC_COMMAND"))
            GTEST_SKIP() << "ELASTIC_COMMAND is not set";
        char pattern[] = "/tmp/elastic-test-XXXXXX";
        ASSERT_TRUE(mkdtemp(pattern));
        base_ = pattern;
        setenv("XDG_RUNTIME_DIR", base_.c_str(), 1);
        char text[STEP_SOCKET_PATH_MAX], error[STEP_SOCKET_ERROR_MAX];
        ASSERT_EQ(step_socket_directory(text, sizeof text, error, sizeof error), 0);
        directory_ = text;
        ASSERT_EQ(step_socket_make_directory(text, error, sizeof error), 0) << error;
    }
    void TearDown() override
    {
        if (base_.empty())
            return;
        for (const std::string &file : files_)
            unlink(file.c_str());
        rmdir(directory_.c_str());
        rmdir(base_.c_str());
    }
    std::string socket_of(long pid)
    {
        char text[STEP_SOCKET_PATH_MAX], error[STEP_SOCKET_ERROR_MAX];
        EXPECT_EQ(step_socket_path(directory_.c_str(), std::to_string(pid).c_str(), text,
                                   sizeof text, error, sizeof error),
                  0);
        return text;
    }
    CommandResult run(const std::string &arguments)
    {
        std::string line = std::string(getenv("ELASTIC_COMMAND")) + " " + arguments + " 2>&1";
        CommandResult result;
        FILE *pipe = popen(line.c_str(), "r");
        char block[4096];
        while (size_t bytes = fread(block, 1, sizeof block, pipe))
            result.output.append(block, bytes);
        result.code = WEXITSTATUS(pclose(pipe));
        return result;
    }

    std::string base_, directory_;
    std::vector<std::string> files_;
};

TEST_F(ElasticCommandTest, lists_and_resizes)
{
    Server server(socket_of(getpid()));
    CommandResult ps = run("ps");
    EXPECT_EQ(ps.code, 0);
    EXPECT_NE(ps.output.find("\n77 "), ps.output.npos) << ps.output;
    EXPECT_NE(ps.output.find(" ./app "), ps.output.npos);
    EXPECT_NE(run("ps --parsable2").output.find("|2|running|"), std::string::npos) << ps.output;
    CommandResult grown = run("resize 77 4 --program 1 --wait");
    EXPECT_EQ(grown.code, 0) << grown.output;
    EXPECT_NE(grown.output.find("2 -> 4 processes, 2 join, 0 leave"), grown.output.npos);
    EXPECT_NE(grown.output.find("committed as epoch 1"), grown.output.npos) << grown.output;
    CommandResult shrunk = run("resize 77 2 --leave '[0,2]' --wait --json");
    EXPECT_EQ(shrunk.code, 0) << shrunk.output;
    EXPECT_NE(shrunk.output.find("\"leaving\":[0,2]"), shrunk.output.npos) << shrunk.output;
    EXPECT_NE(run("ps --json").output.find("\"epoch\":2"), std::string::npos);
    CommandResult events = run("events 77");
    EXPECT_EQ(events.code, 0);
    EXPECT_NE(events.output.find(" program=1"), events.output.npos) << events.output;
    EXPECT_NE(events.output.find("committed"), events.output.npos) << events.output;
    EXPECT_NE(run("events 77 --json --since 3").output.find("{\"event\":\"requested\",\"seq\":3"),
              std::string::npos);
}

TEST_F(ElasticCommandTest, reports_the_use_of_time_of_a_step)
{
    Server server(socket_of(getpid()));
    CommandResult loops = run("loops 77");
    EXPECT_EQ(loops.code, 0) << loops.output;
    EXPECT_TRUE(loops.output.starts_with("step 77: 2 processes, 100 probes in ")) << loops.output;
    EXPECT_NE(loops.output.find(
                  "ranks 0-1: 50 ms per iteration, 10.0 % of it in MPI (from 1.0 % to 19.0 % by "
                  "rank;"),
              loops.output.npos)
        << loops.output;
    EXPECT_NE(loops.output.find("rank 0 on here (1.0 %), rank 1 on here (19.0 %)"),
              loops.output.npos)
        << loops.output;
    EXPECT_NE(run("loops 77 --json").output.find("\"available\":true"), std::string::npos);
    EXPECT_EQ(run("loops 78").code, 3);
}

TEST_F(ElasticCommandTest, lists_all_process_sets_of_a_step)
{
    Server server(socket_of(getpid()));
    CommandResult psets = run("psets 77");
    EXPECT_EQ(psets.code, 0) << psets.output;
    std::istringstream lines(psets.output);
    std::vector<std::string> words;
    for (std::string line; std::getline(lines, line);) {
        words.emplace_back();
        std::istringstream row(line);
        for (std::string word; row >> word;)
            words.back() += (words.back().empty() ? "" : " ") + word;
    }
    ASSERT_EQ(words.size(), 2 + PSETS);
    EXPECT_EQ(words[1], "app://turned 2 running 1,0");
    EXPECT_EQ(words.back(), "app://first/1499 1 running 0");
    EXPECT_NE(run("psets 77 --json").output.find("\"name\":\"app://turned\""), std::string::npos);
    EXPECT_EQ(run("psets 78").code, 3);
}

TEST_F(ElasticCommandTest, refusals_have_messages_and_codes)
{
    Server server(socket_of(getpid()));
    CommandResult same = run("resize 77 2");
    EXPECT_EQ(same.code, 1);
    EXPECT_EQ(same.output, "elastic: step 77 refuses: the size is 2 already\n");
    EXPECT_EQ(run("resize 77 4 --hosts full").output,
              "elastic: step 77 refuses: host full has no capacity\n");
    EXPECT_EQ(
        run("resize 77 4 --program 2").output,
        "elastic: step 77 refuses: there is no program 2: 2 programs were launched, give 0 to 1\n");
    server.hold_joining();
    EXPECT_EQ(run("resize 77 4").code, 0);
    CommandResult busy = run("resize 77 5");
    EXPECT_EQ(busy.code, 1);
    EXPECT_NE(busy.output.find("adapting from 2 to 4"), busy.output.npos) << busy.output;
    EXPECT_EQ(run("cancel 77").code, 0);
    EXPECT_EQ(run("cancel 77").code, 1);
}

TEST_F(ElasticCommandTest, wrong_usage_and_steps_that_have_ended)
{
    for (const char *bad : {"", "explode", "resize", "resize 77", "resize 77 0", "resize 77 x",
                            "resize 77 2 --leave a", "resize 77 4 --program x",
                            "resize 77 4 --program -1", "resize 77 2 --hosts 'a b'", "ps extra"})
        EXPECT_EQ(run(bad).code, 2) << bad;
    CommandResult none = run("resize 77 2");
    EXPECT_EQ(none.code, 3);
    EXPECT_NE(none.output.find("there is no step 77"), none.output.npos);
    EXPECT_EQ(run("--version").code, 0);
    EXPECT_EQ(run("--help").code, 0);
}

TEST_F(ElasticCommandTest, a_socket_of_a_failed_step_is_removed)
{
    std::string left = socket_of(getpid());
    files_.push_back(left);
    pid_t child = fork();
    if (child == 0) {
        Server dies(left);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    ASSERT_EQ(access(left.c_str(), F_OK), 0);
    EXPECT_EQ(run("ps").code, 0);
    EXPECT_NE(access(left.c_str(), F_OK), 0);
}

TEST_F(ElasticCommandTest, a_socket_of_another_pid_namespace_stays)
{
    /* whose pid does not exist here */
    Server server(socket_of(INT32_MAX));
    EXPECT_NE(run("ps").output.find("\n77 "), std::string::npos);
    EXPECT_EQ(access(socket_of(INT32_MAX).c_str(), F_OK), 0);
}

TEST(StepSocketTest, ids_and_names_belong_together)
{
    char id[STEP_ID_MAX];
    for (const char *good : {"step-1.sock", "step-4711.sock", "step-4711-2.sock"})
        EXPECT_TRUE(step_socket_id_of(good, id, sizeof id)) << good;
    EXPECT_STREQ(id, "4711-2");
    for (const char *bad :
         {"step-.sock", "step-x.sock", "step-4711-.sock", "step-4711-1.sock", "step-47 11.sock",
          "step--2.sock", "step-4711.sock2", "new-4711", "step-4711-2-3.sock", "step-+1.sock",
          "step-99999999999999999999999999999999999.sock"})
        EXPECT_FALSE(step_socket_id_of(bad, id, sizeof id)) << bad;
}

TEST_F(ElasticCommandTest, a_directory_that_others_may_enter_is_refused)
{
    ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
    CommandResult ps = run("ps");
    EXPECT_EQ(ps.code, 4);
    EXPECT_NE(ps.output.find("not a directory that you own"), ps.output.npos) << ps.output;
}

}  // namespace
}  // namespace elastic
