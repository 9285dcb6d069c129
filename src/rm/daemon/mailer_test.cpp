/* Mails of jobs: the text, the recipients, and the command that sends them. */

#include "daemon/mailer.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/record.h"

namespace elastic::rm {
namespace {

Job some_job()
{
    Job job;
    job.id = 3;
    job.spec.name = "heat";
    job.spec.user = "ann";
    job.state = JobState::FAILED;
    job.submitted_ms = 1000;
    job.ended_ms = 61000;
    job.exit_code = 2;
    return job;
}

Launch to(const std::string &address)
{
    Launch launch;
    launch.mail_to = address;
    return launch;
}

TEST(MailMessageTest, it_reports_what_has_happened)
{
    setenv("TZ", "UTC", 1);
    tzset();
    std::string text =
        mail_message(Occasion::ENDED, some_job(), nullptr, to("ann@example.org"), "c1", 0);
    for (const char *line :
         {"To: ann@example.org\n", "\nSubject: job 3 (heat) on c1 has ended: FAILED, exit code 2\n",
          "\nAuto-Submitted: auto-generated\n", "\n\nEvent: job 3 has ended",
          "\nEnded: 1970-01-01T00:01:01\n"})
        EXPECT_NE(text.find(line), std::string::npos) << line << " in\n" << text;
}

TEST(MailMessageTest, a_name_adds_no_header)
{
    Job job = some_job();
    job.spec.name = "x\r\nBcc: all@example.org\n\n~!rm\n.\n" + std::string(1000, 'y');
    job.spec.user = "a\nb";
    job.reason = "r\nTo: other\x1b[31m\xc3\xa9";
    std::istringstream text(
        mail_message(Occasion::ENDED, job, nullptr, to("ann\nBcc: x"), "c\n1", 0));
    int headers = 0;
    bool in_header = true;
    for (std::string line; std::getline(text, line);) {
        in_header = in_header && !line.empty();
        headers += in_header;
        EXPECT_FALSE(line.starts_with("Bcc") || line.starts_with(".") || line.starts_with("~"));
        for (char c : line)
            EXPECT_TRUE(c >= ' ' && c <= '~') << line;
        EXPECT_LT(line.size(), 900u) << "RFC 5322";
    }
    EXPECT_EQ(headers, 5);
}

TEST(MailMessageTest, addresses)
{
    for (const char *good : {"ann", "ann@example.org", "a.b-c+d_e=f@x-1.y", "7@localhost"})
        EXPECT_EQ(wrong_with_address(good), "") << good;
    for (const char *wrong :
         {"", "-oQ/tmp", "a b", "a@", "@b", "a@-b", "a@b@c", "a\n", "a,b", "|rm", "/etc/passwd",
          "\"a\"@b", "a@b c", "a;b", ":include:/x", "a@[::1]"})
        EXPECT_NE(wrong_with_address(wrong), "") << wrong;
    EXPECT_NE(wrong_with_address(std::string(ADDRESS_BYTES_MAX + 1, 'a')), "");
}

TEST(MailMessageTest, a_mail_for_what_is_wanted)
{
    Job job = some_job();
    using Wanted = std::vector<MailEvent>;
    auto about = [&](const char *event, const Wanted &wanted, const JobArray *array = nullptr) {
        return occasion_of(event, job, array, wanted);
    };
    EXPECT_EQ(about(record::STARTED, {MailEvent::BEGIN}), Occasion::BEGAN);
    EXPECT_FALSE(about(record::STARTED, {MailEvent::END, MailEvent::FAIL}));
    EXPECT_EQ(about(record::ENDED, {MailEvent::FAIL}), Occasion::ENDED);
    EXPECT_EQ(about(record::ENDED, {MailEvent::END}), Occasion::ENDED);
    EXPECT_EQ(about(record::REQUEUED, {MailEvent::REQUEUE}), Occasion::REQUEUED);
    EXPECT_FALSE(about(record::COMMITTED, {MailEvent::BEGIN, MailEvent::END}));
    job.state = JobState::DONE;
    EXPECT_FALSE(about(record::ENDED, {MailEvent::FAIL}));

    job.task = ArrayTask{2, 7, false, true};
    JobArray array{2, 10, 0, 10, 9, 1, 0, 0};
    EXPECT_FALSE(about(record::ENDED, {MailEvent::END}, &array)) << "one task runs";
    EXPECT_EQ(about(record::ENDED, {MailEvent::END, MailEvent::ARRAY_TASKS}, &array),
              Occasion::ENDED);
    array.ended = 10;
    EXPECT_EQ(about(record::ENDED, {MailEvent::FAIL}, &array), Occasion::ENDED) << "another failed";
    EXPECT_FALSE(about(record::STARTED, {MailEvent::BEGIN}, &array)) << "it is not the first";
    EXPECT_FALSE(about(record::REQUEUED, {MailEvent::REQUEUE}, &array));
    EXPECT_NE(mail_message(Occasion::ENDED, job, &array, to("ann"), "c1", 0)
                  .find("array 2 (heat) on c1 has ended: 10 tasks, 1 failed, 0 cancelled"),
              std::string::npos);
}

class MailerTest : public testing::Test {
  protected:
    MailerTest()
    {
        sigprocmask(SIG_BLOCK, nullptr, &signals_before_);
        loop_.watch_signals({SIGCHLD}, [this](int) { loop_.reap_children(); });
        char name[] = "/tmp/mailer-test-XXXXXX";
        folder_ = mkdtemp(name);
    }
    ~MailerTest() override
    {
        sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
        std::filesystem::remove_all(folder_);
    }

    std::vector<std::string> shell(const std::string &script)
    {
        return {"/bin/sh", "-c", "cd " + folder_ + "; " + script};
    }
    /* Content of the file of that name. */
    std::string text(const std::string &name)
    {
        std::ifstream file(folder_ + "/" + name);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    bool turn_until(const std::function<bool()> &condition)
    {
        bool late = false;
        Loop::TimerId timer = loop_.after(60000, [&] { late = true; }), next = 0;
        std::function<void()> tick = [&] { next = loop_.after(5, tick); };
        tick();
        loop_.run([&] {
            if (late || condition())
                loop_.stop();
        });
        loop_.cancel(timer);
        loop_.cancel(next);
        return condition();
    }

    Loop loop_;
    sigset_t signals_before_;
    std::string folder_;
};

TEST_F(MailerTest, the_command_gets_each_mail)
{
    Mailer mailer(loop_, shell("cat >mail-$$ && mv mail-$$ \"$(head -n 1 mail-$$)\""), 30000);
    for (uint32_t i = 0; i < 5; i++)
        mailer.send({i, i, "m" + std::to_string(i) + "\ntext\n"});
    EXPECT_TRUE(turn_until([&] { return text("m4") == "m4\ntext\n"; }));
    for (const char *name : {"m0", "m1", "m2", "m3"})
        EXPECT_TRUE(turn_until([&] { return !text(name).empty(); })) << name;
}

TEST_F(MailerTest, one_that_hangs_is_ended_and_others_follow)
{
    Mailer mailer(loop_, shell("read what; [ \"$what\" = last ] || exec sleep 1000; echo >last"),
                  100);
    for (uint32_t i = 0; i < Mailer::AT_ONCE; i++)
        mailer.send({1, i, "hangs\n"});
    mailer.send({1, 9, "last\n"});
    EXPECT_EQ(mailer.waiting(), 1u);
    EXPECT_TRUE(turn_until([&] { return !text("last").empty(); }));
}

TEST_F(MailerTest, the_queue_has_a_bound)
{
    Mailer mailer(loop_, shell("exec sleep 1000"), 30000);
    for (uint32_t i = 0; i < 3 * Mailer::WAITING_OF_USER_MAX; i++)
        mailer.send({1, i, "x"});
    EXPECT_EQ(mailer.waiting(), Mailer::WAITING_OF_USER_MAX) << "of one user";
    for (uint32_t user = 2; user < 50; user++) {
        for (uint32_t i = 0; i < 50; i++)
            mailer.send({user, i, "x"});
    }
    EXPECT_EQ(mailer.waiting(), Mailer::WAITING_MAX) << "of all";
}

TEST_F(MailerTest, a_mail_about_an_array_comes_once)
{
    Mailer mailer(loop_, {"/bin/true"}, 1000);
    EXPECT_TRUE(mailer.is_first(3, 10) && mailer.is_first(4, 10));
    EXPECT_FALSE(mailer.is_first(3, 10));
    EXPECT_TRUE(mailer.is_first(5, 11));
}

}  // namespace
}  // namespace elastic::rm
