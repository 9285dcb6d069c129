/* Programs that run beside the loop: their ends, limits and outputs, and that no process of them
 * is left. */

#include "base/command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <optional>

namespace elastic::rm {
namespace {

constexpr int64_t PATIENCE_MS = 60000;

class CommandTest : public testing::Test {
  protected:
    CommandTest()
    {
        signals_before_ = mask();
        loop_.watch_signals({SIGCHLD}, [this](int) { loop_.reap_children(); });
    }
    ~CommandTest() override { sigprocmask(SIG_SETMASK, &signals_before_, nullptr); }

    static sigset_t mask()
    {
        sigset_t now;
        sigprocmask(SIG_BLOCK, nullptr, &now);
        return now;
    }

    /* Turns the loop until `condition`, or until a time limit. */
    bool turn_until(const std::function<bool()> &condition)
    {
        bool late = false;
        Loop::TimerId timer = loop_.after(PATIENCE_MS, [&] { late = true; });
        std::function<void()> tick = [&] { tick_ = loop_.after(5, tick); };
        tick();
        loop_.run([&] {
            if (late || condition())
                loop_.stop();
        });
        loop_.cancel(timer);
        loop_.cancel(tick_);
        return condition();
    }

    CommandEnd run(CommandSpec spec)
    {
        std::optional<CommandEnd> end;
        Command command(loop_, std::move(spec),
                        [&](const CommandEnd &reported) { end = reported; });
        EXPECT_FALSE(end) << "it must not report before the loop turns";
        EXPECT_TRUE(turn_until([&] { return end.has_value(); }));
        return end.value_or(CommandEnd{});
    }

    static CommandSpec shell(const std::string &script)
    {
        CommandSpec spec;
        spec.words = {"sh", "-c", script};
        return spec;
    }

    static bool is_without_children()
    {
        siginfo_t info = {};
        return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
    }

    Loop loop_;
    Loop::TimerId tick_ = 0;
    sigset_t signals_before_;
};

TEST_F(CommandTest, CollectsOutputAndCode)
{
    CommandEnd end = run(shell("echo out; echo err >&2; exit 3"));
    EXPECT_TRUE(end.started);
    EXPECT_EQ(end.output, "out\n");
    EXPECT_EQ(end.errors, "err\n");
    EXPECT_EQ(end.exit_code, 3);
    EXPECT_FALSE(end.good());
    EXPECT_NE(end.problem.find("ended with code 3: err"), std::string::npos) << end.problem;
    EXPECT_TRUE(run(shell("true")).good());
    EXPECT_TRUE(is_without_children());
}

TEST_F(CommandTest, GivesInputAndVariables)
{
    setenv("ELASTIC_COMMAND_TEST", "inherited", 1);
    CommandSpec spec = shell("cat; echo $ONE ${ELASTIC_COMMAND_TEST-unset}");
    spec.input.assign(300000, 'x');
    spec.input += '\n';
    spec.output_max = 1 << 20;
    spec.variables = {"ONE=1", "ELASTIC_COMMAND_TEST=given"};
    EXPECT_EQ(run(spec).output, spec.input + "1 given\n");
    spec.variables = {};
    spec.without = {"ELASTIC_COMMAND_TEST"};
    EXPECT_EQ(run(spec).output, spec.input + "unset\n");
    unsetenv("ELASTIC_COMMAND_TEST");
}

TEST_F(CommandTest, BoundsWhatItKeeps)
{
    CommandSpec spec = shell("head -c 1000000 /dev/zero | tr '\\0' y");
    spec.output_max = 1000;
    CommandEnd end = run(spec);
    EXPECT_EQ(end.output, std::string(1000, 'y'));
    EXPECT_TRUE(end.truncated);
    EXPECT_TRUE(end.good()) << end.problem;
}

TEST_F(CommandTest, ReportsAProgramThatCannotRun)
{
    CommandEnd end = run({{"/nonexistent/program", "x"}});
    EXPECT_FALSE(end.started);
    EXPECT_EQ(end.exit_code, -1);
    EXPECT_EQ(end.problem, "cannot run /nonexistent/program: No such file or directory");
    EXPECT_TRUE(is_without_children());
}

TEST_F(CommandTest, EndsWhatTakesTooLong)
{
    CommandSpec spec = shell("echo begun; sleep 1000");
    spec.limit_ms = 100;
    CommandEnd end = run(spec);
    EXPECT_TRUE(end.timed_out);
    EXPECT_EQ(end.exit_code, 128 + SIGTERM);
    EXPECT_NE(end.problem.find("gave no answer within 100 ms: begun"), std::string::npos)
        << end.problem;
    EXPECT_TRUE(is_without_children());
}

TEST_F(CommandTest, KillsWhatIgnoresSigterm)
{
    CommandSpec spec = shell("trap '' TERM; echo begun; while :; do sleep 1; done");
    spec.limit_ms = 300;
    spec.kill_grace_ms = 100;
    CommandEnd end = run(spec);
    EXPECT_TRUE(end.timed_out);
    EXPECT_EQ(end.exit_code, 128 + SIGKILL);
}

/* The leader ends at SIGTERM, its child does not: the whole group is killed. */
TEST_F(CommandTest, KillsTheGroupOfWhatTookTooLong)
{
    CommandSpec spec = shell("sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & wait");
    spec.limit_ms = 500;
    CommandEnd end = run(spec);
    EXPECT_TRUE(end.timed_out);
    pid_t child = static_cast<pid_t>(std::stol(end.output));
    EXPECT_TRUE(turn_until([&] {
        int state = kill(child, 0);
        FILE *file = fopen(("/proc/" + std::to_string(child) + "/stat").c_str(), "r");
        char text[512] = "";
        bool zombie = file && fgets(text, sizeof text, file) && strstr(text, ") Z ");
        if (file)
            fclose(file);
        return state != 0 || zombie;
    }));
}

TEST_F(CommandTest, DoesNotWaitForChildrenThatKeepItsOutput)
{
    CommandSpec spec = shell("sleep 1000 & echo $!");
    spec.limit_ms = PATIENCE_MS;
    CommandEnd end = run(spec);
    EXPECT_TRUE(end.good()) << end.problem;
    EXPECT_FALSE(end.timed_out);
    kill(static_cast<pid_t>(std::stol(end.output)), SIGKILL);
}

TEST_F(CommandTest, DestroyedItIsKilledAndReportsNothing)
{
    bool reported = false;
    {
        Command command(loop_, shell("trap '' TERM; sleep 1000"),
                        [&](const CommandEnd &) { reported = true; });
    }
    EXPECT_TRUE(turn_until([] { return is_without_children(); }));
    EXPECT_FALSE(reported);
}

TEST_F(CommandTest, MayBeDestroyedByItsOwnEnd)
{
    std::unique_ptr<Command> command;
    bool reported = false;
    command = std::make_unique<Command>(loop_, shell("true"), [&](const CommandEnd &) {
        command.reset();
        reported = true;
    });
    EXPECT_TRUE(turn_until([&] { return reported; }));
    reported = false;
    command =
        std::make_unique<Command>(loop_, CommandSpec{{"/nonexistent"}}, [&](const CommandEnd &) {
            command.reset();
            reported = true;
        });
    EXPECT_TRUE(turn_until([&] { return reported; }));
}

TEST_F(CommandTest, ManyAtOnce)
{
    constexpr int COUNT = 40;
    int good = 0;
    std::vector<std::unique_ptr<Command>> commands;
    for (int i = 0; i < COUNT; i++) {
        std::string expected = std::to_string(i) + "\n";
        commands.push_back(std::make_unique<Command>(
            loop_, shell("echo " + std::to_string(i)),
            [&, expected](auto &end) { good += end.good() && end.output == expected; }));
    }
    EXPECT_TRUE(turn_until([&] { return good == COUNT; }));
    EXPECT_TRUE(is_without_children());
}

TEST(LastLineTest, IsForMessages)
{
    EXPECT_EQ(last_line(""), "");
    EXPECT_EQ(last_line("one\ntwo\r\n\n"), "two");
    EXPECT_EQ(last_line("a\x1b[31mb"), "a?[31mb");
    EXPECT_EQ(last_line("abcdef", 3), "abc...");
}

}  // namespace
}  // namespace elastic::rm
