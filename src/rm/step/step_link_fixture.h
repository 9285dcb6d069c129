/* For tests of StepLink: a step whose lines the test writes, and the events that follow. */

#ifndef ELASTIC_RM_STEP_LINK_FIXTURE_H_INCLUDED
#define ELASTIC_RM_STEP_LINK_FIXTURE_H_INCLUDED

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "step/step_link.h"

namespace elastic::rm {

constexpr int64_t PATIENCE_MS = 60000;

class StepLinkTest : public testing::Test {
  protected:
    explicit StepLinkTest(int processes_max = 0)
    {
        char name[] = "/tmp/step-link-XXXXXX";
        folder_ = mkdtemp(name);
        listening_ = Descriptor(listen_unix_anywhere(folder_ + "/step.sock"));
        StepLink::Setup setup;
        setup.job = 1;
        setup.step = 1;
        setup.socket = folder_ + "/step.sock";
        setup.uid = getuid();
        setup.processes_max = processes_max;
        setup.last_request = [this] { return last_request_; };
        setup.most_slots = [] { return 6; };
        setup.notify = [this](EventContent content) {
            events_.push_back(std::move(content));
            return stored_;
        };
        setup.sampled = [this](const PerformanceAnswer &answer) {
            answers_.push_back(answer);
            return reads_;
        };
        link_ = std::make_unique<StepLink>(loop_, std::move(setup));
        step_ =
            Descriptor(accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    }
    ~StepLinkTest() override { std::filesystem::remove_all(folder_); }

    bool turn_until(const std::function<bool()> &condition)
    {
        bool late = false;
        Loop::TimerId end = loop_.after(PATIENCE_MS, [&] { late = true; }), tick = 0;
        std::function<void()> again = [&] {
            step_writes();
            tick = loop_.after(1, again);
        };
        again();
        loop_.run([&] {
            if (late || condition())
                loop_.stop();
        });
        loop_.cancel(end);
        loop_.cancel(tick);
        return !late;
    }
    /* Sends the step's lines as fast as they are read. */
    void step_writes()
    {
        ssize_t bytes = ::send(step_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
        if (bytes > 0)
            outgoing_.erase(0, static_cast<size_t>(bytes));
    }
    void queue_line(const std::string &line) { outgoing_ += line + "\n"; }
    void send_history() { queue_line(R"({"id":"events","ok":true,"oldest":1,"next":1})"); }
    void event(const std::string &name, const std::string &fields = "")
    {
        queue_line(R"({"event":")" + name + R"(","seq":)" + std::to_string(++seq_) + fields + "}");
    }
    template <class Kind> size_t count() const
    {
        return static_cast<size_t>(
            std::count_if(events_.begin(), events_.end(), [](const EventContent &content) {
                return std::holds_alternative<Kind>(content);
            }));
    }
    std::string incoming()
    {
        char block[65536];
        ssize_t bytes = recv(step_.get(), block, sizeof block, 0);
        return incoming_ += std::string(block, bytes > 0 ? static_cast<size_t>(bytes) : 0);
    }
    void resize(uint64_t request)
    {
        last_request_ = request;
        link_->resize({1, 1, request, link_->epoch(), 4, {}, {}, "test"});
    }
    /* Reports a change of size like a correct step. */
    void commit(uint64_t request, uint64_t epoch)
    {
        std::string number = R"(,"request":)" + std::to_string(request);
        event("requested", number + R"(,"tag":")" + std::to_string(request) + "\"");
        event("plan", number);
        event("target", number);
        event("committed", number + R"(,"epoch":)" + std::to_string(epoch));
    }
    bool is_broken() { return turn_until([this] { return count<StepBroken>() > 0; }); }

    Loop loop_;
    std::string folder_, outgoing_, incoming_;
    Descriptor listening_, step_;
    uint64_t last_request_ = 0, seq_ = 0;
    bool stored_ = false;       /* reported events wait to be stored */
    bool reads_ = true;         /* the core receives samples */
    std::vector<PerformanceAnswer> answers_;
    std::vector<EventContent> events_;
    std::unique_ptr<StepLink> link_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEP_LINK_FIXTURE_H_INCLUDED */
