/*
 * For tests: the other side of stepmgr.h.  Records every effect, and has short functions for events
 * of the step manager.  Owns the step manager and a clock that only the test advances.
 */

#ifndef ELASTIC_FAKE_MPIEXEC_H_INCLUDED
#define ELASTIC_FAKE_MPIEXEC_H_INCLUDED

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "stepmgr/common/step_events.h"
#include "stepmgr/proto/payload.h"
#include "stepmgr/stepmgr.h"

namespace elastic {

/* STEP_SET_SHARED is recorded as STEP_SET_ANSWER, with `others` and `bcs`. */
struct SentMessage {
    int group, proxy;
    step_command command;
    uint32_t epoch;
    std::string payload;
    std::string others = {}, bcs = {};  /* members, as bytes */
};

struct LaunchCall {
    uint32_t epoch;
    int count, program, pre;
    uint32_t first_uid;
    std::vector<std::string> hosts;
    int group;
    bool modify = false;
};

class FakeMpiexec {
  public:
    FakeMpiexec()
    {
        config.step_id = "4711";
        config.program = "./app";
        config.user = "user";
        config.margin = 2;
        config.prepare_ms = 50;
        config.seed = 1;
        config.interval_ms = 1000;
        config.unix_ms_at_zero = 1700000000000;
    }
    ~FakeMpiexec() { stepmgr_destroy(core); }
    FakeMpiexec(const FakeMpiexec &) = delete;
    FakeMpiexec &operator=(const FakeMpiexec &) = delete;

    /* Returns "", or the error in the options. */
    std::string create()
    {
        step_effects effects = {this,    launch,  kill_group, abort_step,
                                send,    reply,   log,        notify_user,
                                wake_at, nullptr, state_line, launch_world};
        char error[1024] = "";
        core = stepmgr_create(&config, &effects, error, sizeof error);
        return core ? "" : error;
    }

    /* `hosts[i]` is the host of rank i.  Each host has one proxy; proxies are numbered in order of
     * appearance. */
    void start_group(int group, const std::vector<std::string> &hosts)
    {
        std::vector<step_process> processes;
        std::map<std::string, int> proxies;
        for (const std::string &host : hosts) {
            int proxy = proxies.try_emplace(host, static_cast<int>(proxies.size())).first->second;
            processes.push_back({proxy, host.c_str()});
        }
        stepmgr_group(core, now_ms, group, static_cast<int>(hosts.size()), processes.data());
    }
    void report(int group, int proxy, step_report kind, uint32_t epoch, const std::string &payload)
    {
        stepmgr_report(core, now_ms, group, proxy, kind, epoch, payload.data(), payload.size());
    }
    void init(int group, int proxy, uint32_t rank, bool adaptive = true)
    {
        report(group, proxy, REPORT_INIT, 0,
               write_init(
                   {rank, adaptive, 0, "addr" + std::to_string(group) + std::to_string(rank)}));
    }
    void ready(int group, int proxy, uint32_t rank, uint32_t epoch)
    {
        report(group, proxy, REPORT_READY, epoch,
               write_ready({rank, {100 + rank, 7, 4096, 0, 0, 0}}));
    }
    void prepared(int group, int proxy, uint32_t epoch)
    {
        report(group, proxy, REPORT_PREPARED, epoch, "");
    }
    void greeted(int group, int proxy, uint32_t epoch)
    {
        report(group, proxy, REPORT_GREETED, epoch, "");
    }
    void frozen(int group, int proxy, uint32_t epoch, uint64_t ceiling)
    {
        report(group, proxy, REPORT_FROZEN, epoch, write_number(ceiling));
    }
    void committed(int group, int proxy, uint32_t epoch)
    {
        report(group, proxy, REPORT_COMMITTED, epoch, "");
    }
    void exited(int group, int proxy, uint32_t rank, uint32_t wait_status = 0)
    {
        report(group, proxy, REPORT_EXITED, 0, write_exited({rank, wait_status}));
    }
    void disconnected(int group, int proxy)
    {
        stepmgr_proxy_disconnected(core, now_ms, group, proxy);
    }
    void time(int64_t to_ms)
    {
        now_ms = to_ms;
        stepmgr_time(core, now_ms);
    }
    /* Sends a line; returns the immediate replies. */
    std::vector<Json> send_request(int client, const std::string &line)
    {
        size_t before = replies[client].size();
        stepmgr_client_line(core, now_ms, client, line.c_str());
        return {replies[client].begin() + static_cast<long>(before), replies[client].end()};
    }
    Json status() { return send_request(99, R"({"id":1,"op":"status"})").at(0); }

    std::vector<SentMessage> sent_since(size_t first) const
    {
        return {sent.begin() + static_cast<long>(first), sent.end()};
    }
    /* Text of the messages from number `first` on, for example "plan:0.0 freeze:0.0". */
    std::string sent_text(size_t first = 0) const
    {
        static const char *const NAMES[] = {"?",       "plan",        "freeze",
                                            "target",  "thaw",        "release",
                                            "counts",  "performance", "size_request_ended",
                                            "sets",    "answer",      "bcast",
                                            "let_go",  "offer",       "invalidate",
                                            "task",    "sync",        "break", "by_sets", "starts"};
        std::string text;
        for (const SentMessage &m : sent_since(first))
            text += (text.empty() ? "" : " ") + std::string(NAMES[m.command]) + ":" +
                    std::to_string(m.group) + "." + std::to_string(m.proxy);
        return text;
    }
    /* Names of the events so far, in order. */
    std::string events() const
    {
        std::string text;
        for (const Json &line : logged)
            text += (text.empty() ? "" : " ") + line.at("event").get<std::string>();
        return text;
    }
    int count_events(const std::string &name) const
    {
        int count = 0;
        for (const Json &line : logged)
            count += line.at("event") == name;
        return count;
    }
    Json last_event(const std::string &name) const
    {
        for (auto line = logged.rbegin(); line != logged.rend(); ++line) {
            if (line->at("event") == name)
                return *line;
        }
        ADD_FAILURE() << "no event " << name << " among: " << events();
        return Json::object();
    }

    step_config config = {};
    stepmgr *core = nullptr;
    int64_t now_ms = 0;
    int next_group = 1;
    std::string refuse_launch;  /* error of launches; empty: launches succeed */

    std::vector<SentMessage> sent;
    std::vector<LaunchCall> launches;
    std::vector<std::string> worlds;    /* "UID NUMBER@HOST=PROGRAM ... PARENT" */
    std::vector<int> killed;
    std::vector<std::string> aborts, notified;
    std::map<int, std::vector<Json>> replies;
    std::vector<Json> logged;
    std::vector<std::string> state_lines;
    int64_t wake_ms = -1;

  private:
    static FakeMpiexec &self(void *context) { return *static_cast<FakeMpiexec *>(context); }

    static int launch(void *context, uint32_t epoch, int count, int program, int pre,
                      uint32_t first_uid, int modify, const char *const *hosts, int n_hosts,
                      int *group, char *error, size_t error_bytes)
    {
        FakeMpiexec &mpiexec = self(context);
        if (!mpiexec.refuse_launch.empty()) {
            snprintf(error, error_bytes, "%s", mpiexec.refuse_launch.c_str());
            return -1;
        }
        *group = mpiexec.next_group++;
        mpiexec.launches.push_back(
            {epoch, count, program, pre, first_uid, {hosts, hosts + n_hosts}, *group, modify != 0});
        return 0;
    }
    static int launch_world(void *context, const step_world *world, int *group, char *error,
                            size_t error_bytes)
    {
        FakeMpiexec &mpiexec = self(context);
        if (!mpiexec.refuse_launch.empty()) {
            snprintf(error, error_bytes, "%s", mpiexec.refuse_launch.c_str());
            return -1;
        }
        *group = mpiexec.next_group++;
        std::string text = std::to_string(world->uid);
        for (int i = 0; i < world->count; i++) {
            text += " " + std::to_string(world->numbers[i]) + "@" + world->hosts[i] + "=";
            for (const char *const *argument = world->argv[i]; *argument; argument++)
                text += (argument == world->argv[i] ? "" : ",") + std::string(*argument);
        }
        mpiexec.worlds.push_back(text + " " + world->parent);
        return 0;
    }
    static void kill_group(void *context, int group) { self(context).killed.push_back(group); }
    static void abort_step(void *context, const char *reason)
    {
        self(context).aborts.push_back(reason);
    }
    static void send(void *context, const step_proxy *to, int n, step_command command,
                     uint32_t epoch, const void *payload, size_t bytes)
    {
        for (int i = 0; i < n; i++)
            self(context).sent.push_back(
                {to[i].group, to[i].number, command, epoch,
                 {static_cast<const char *>(payload), bytes}});
        if (command == STEP_SET_SHARED)
            take_apart(self(context).sent.back());
    }
    static void take_apart(SentMessage &message)
    {
        constexpr size_t AFTER_HEAD = 2 * sizeof(uint32_t);
        message.command = STEP_SET_ANSWER;
        for (std::string *members : {&message.others, &message.bcs}) {
            uint32_t runs = 0;
            message.payload.copy(reinterpret_cast<char *>(&runs), sizeof runs, AFTER_HEAD);
            size_t size = sizeof runs + runs * 2 * sizeof(uint32_t);
            *members = message.payload.substr(AFTER_HEAD, size);
            message.payload.erase(AFTER_HEAD, size);
        }
    }
    static void reply(void *context, int client, const char *line)
    {
        Json parsed = Json::parse(line, nullptr, false);
        EXPECT_TRUE(parsed.is_object()) << line;
        EXPECT_EQ(std::string(line).find('\n'), std::string::npos);
        self(context).replies[client].push_back(parsed);
    }
    static void log(void *context, const char *line)
    {
        Json parsed = Json::parse(line, nullptr, false);
        EXPECT_TRUE(parsed.is_object()) << line;
        self(context).logged.push_back(parsed);
    }
    static void notify_user(void *context,
                            const char *text) { self(context).notified.push_back(text); }
    static void state_line(void *context,
                           const char *text) { self(context).state_lines.push_back(text); }
    static void wake_at(void *context, int64_t time_ms) { self(context).wake_ms = time_ms; }
};

}  // namespace elastic

#endif /* ELASTIC_FAKE_MPIEXEC_H_INCLUDED */
