/*
 * What processes remember of sets, in random runs: boards that are written late, daemons that are slow and die, and
 * ask once for all of their processes, processes that make, move and free names, end, and tell each other what they
 * were told.  A seed gives the same run each time.
 *
 * Invariant SA1: who answers from memory does not contradict what a process was told of the same name before, whoever
 * was told so: what one knows another may have by a message.  Nor does an answer to another process, given to one that
 * asked after that.
 */

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "stepmgr/sim/fake_mpiexec.h"
#include "stepmgr/proto/pset_call.h"

namespace elastic {
namespace {

constexpr int DAEMONS = 3;
constexpr uint32_t PROCESSES = 6;
const std::string NAMES[] = {"app://a", "app://b", "app://c", "mpix://WORLD/0"};

/* Of one name. */
struct Told {
    uint32_t serial = 0;        /* 0: unknown */
    uint32_t state = 0, primary = 0;
    auto operator<=>(const Told &) const = default;
};

class ForgetfulJob {
  public:
    explicit ForgetfulJob(uint64_t seed) : seed_(seed), random_(seed) {}

    void run()
    {
        ASSERT_EQ(glue_.create(), "");
        glue_.place(0, {"a", "a", "b", "b", "c", "c"});
        for (uint32_t uid = 0; uid < PROCESSES; uid++)
            glue_.init(0, static_cast<int>(uid / 2), uid, false);
        for (int i = 0; i < 400 && !testing::Test::HasFailure(); i++) {
            act();
            take_sent();
        }
        while (deliver_one())
            take_sent();
        for (uint32_t uid = 0; uid < PROCESSES; uid++)
            EXPECT_TRUE(!lives(uid) || !processes_[uid].asks) << uid << " waits for ever; seed " << seed_;
        EXPECT_EQ(glue_.status().at("unexpected"), 0) << "seed " << seed_;
    }

    int from_memory = 0, forgotten = 0, kept = 0, given = 0;

  private:
    struct Remembered {
        Told told;
        uint32_t forgets = 0;
    };
    struct Last {
        size_t order = 0;
        Told told;
    };
    struct Process {
        bool ended = false, asks = false, looks = false;
        uint32_t calls = 0, forgets = 0;        /* on the board before the question */
        std::string name;
        Last known;             /* by anybody, when it asked */
        std::map<std::string, Remembered> memory;
    };
    struct Message {
        size_t order = 0;       /* in which mpiexec has sent it */
        SentMessage sent;
    };
    struct Up {
        step_report kind = REPORT_SET_CALL;
        std::string payload;
    };
    /* A look that has been passed on and is not answered. */
    struct Asked {
        uint32_t uid = 0, id = 0, forgets = 0;  /* of the board when it was passed on */
        std::string name;
        std::vector<uint32_t> behind = {};      /* who has asked the same since */
    };
    struct Latest {
        Message message;
        uint32_t forgets = 0;
    };
    struct Daemon {
        bool departed = false;
        uint32_t forgets = 0;
        std::deque<Message> down;   /* on their way */
        std::deque<Up> up;
        std::list<Asked> asked;
        std::map<std::string, Latest> latest;   /* by name */
    };

    uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    Daemon &daemon_of(uint32_t uid) { return daemons_[uid / 2]; }
    bool lives(uint32_t uid) { return !processes_[uid].ended && !daemon_of(uid).departed; }

    void ask(uint32_t uid, const SetCall &call)
    {
        Process &process = processes_[uid];
        process.asks = true;
        process.looks = false;
        pass_on(uid, call);
    }
    void pass_on(uint32_t uid, const SetCall &call)
    {
        daemon_of(uid).up.push_back(
            {REPORT_SET_CALL, write_set_report(uid, ++processes_[uid].calls, write_set_call(call))});
    }
    void pass_on_look(uint32_t uid)
    {
        Process &process = processes_[uid];
        pass_on(uid, LookAtSet{process.name});
        daemon_of(uid).asked.push_back({uid, process.calls, daemon_of(uid).forgets, process.name});
    }
    /* As proxy/sets.c does it. */
    void ask_look(uint32_t uid, const std::string &name)
    {
        Daemon &daemon = daemon_of(uid);
        Process &process = processes_[uid];
        process.asks = process.looks = true;
        process.name = name;
        process.forgets = daemon.forgets;
        process.known = last_[name];
        if (auto latest = daemon.latest.find(name); latest != daemon.latest.end() &&
                                                    latest->second.forgets == daemon.forgets &&
                                                    is_for(latest->second.message, uid)) {
            given++;
            return take_look(uid, latest->second.message);
        }
        for (Asked &asked : daemon.asked) {
            if (asked.name == name && asked.forgets == daemon.forgets)
                return asked.behind.push_back(uid);
        }
        pass_on_look(uid);
    }
    static bool is_for(const Message &message, uint32_t uid)
    {
        const std::string &others = message.sent.others;
        for (size_t at = 4; at < others.size(); at += 8) {
            if (uid - number_at(others, at) < number_at(others, at + 4))
                return true;
        }
        return false;
    }
    void act()
    {
        uint32_t uid = pick(PROCESSES);
        const std::string &name = NAMES[pick(3)];
        Process &process = processes_[uid];
        uint32_t what = pick(40);
        if (what >= 20) {
            deliver_one();
        } else if (!lives(uid)) {
            return;
        } else if (what == 19 && pick(10) == 0) {
            end(uid);
        } else if (process.asks) {
            return;
        } else if (what < 12) {
            look(uid, NAMES[pick(4)]);
        } else if (what < 15) {
            std::vector<uint32_t> all = {0, 1, 2, 3, 4, 5};
            ask(uid, MakeFromList{name, *SetMembers::of_list(all)});
        } else if (what < 17) {
            ask(uid, FreeSet{name});
        } else if (what == 17 && pick(4) == 0) {
            ask(uid, MoveSet{name, NAMES[pick(2)]});
        }
    }
    void look(uint32_t uid, const std::string &name)
    {
        Process &process = processes_[uid];
        auto known = process.memory.find(name);
        if (known != process.memory.end() && known->second.forgets == daemon_of(uid).forgets) {
            from_memory++;
            /* what anybody was told of this name last is what it still means */
            EXPECT_TRUE(last_[name].told == known->second.told) << name << " in process " << uid << "; seed " << seed_;
            return;
        }
        ask_look(uid, name);
    }
    void end(uint32_t uid)
    {
        int daemon = static_cast<int>(uid / 2);
        if (pick(3) == 0) {
            daemons_[daemon].departed = true;
            glue_.departed(0, daemon);
        } else {
            processes_[uid].ended = true;
            ask_for_others(daemons_[daemon], uid);
            glue_.exited(0, daemon, uid);
        }
    }
    /* Those who wait for the answer to one that has ended ask. */
    void ask_for_others(Daemon &daemon, uint32_t uid)
    {
        for (Asked &other : daemon.asked)
            std::erase(other.behind, uid);
        auto asked = std::ranges::find(daemon.asked, uid, &Asked::uid);
        if (asked == daemon.asked.end())
            return;
        std::vector<uint32_t> behind = std::move(asked->behind);
        daemon.asked.erase(asked);
        for (uint32_t other : behind)
            pass_on_look(other);
    }
    void take_sent()
    {
        for (; sent_ < glue_.sent.size(); sent_++) {
            const SentMessage &message = glue_.sent[sent_];
            if (message.command == STEP_FORGET || message.command == STEP_SET_ANSWER)
                daemons_[message.proxy].down.push_back({sent_, message});
        }
    }
    /* One message arrives somewhere; false: none is under way. */
    bool deliver_one()
    {
        uint32_t first = pick(DAEMONS);
        for (uint32_t i = 0; i < DAEMONS; i++) {
            int number = static_cast<int>((first + i) % DAEMONS);
            Daemon &daemon = daemons_[number];
            if (daemon.departed)
                continue;
            if (!daemon.up.empty() && (pick(2) || daemon.down.empty())) {
                Up up = daemon.up.front();
                daemon.up.pop_front();
                if (up.kind == REPORT_FORGOTTEN || !processes_[number_at(up.payload, 0)].ended)
                    glue_.report(0, number, up.kind, 0, up.payload);
                return true;
            }
            if (!daemon.down.empty()) {
                Message message = daemon.down.front();
                daemon.down.pop_front();
                arrive(daemon, message);
                return true;
            }
        }
        return false;
    }
    void arrive(Daemon &daemon, const Message &message)
    {
        if (message.sent.command == STEP_FORGET) {
            daemon.forgets++;
            daemon.up.push_back({REPORT_FORGOTTEN, message.sent.payload});
            forgotten++;
            return;
        }
        uint32_t uid = number_at(message.sent.payload, 0), id = number_at(message.sent.payload, 4);
        auto asked = std::ranges::find_if(daemon.asked, [&](const Asked &a) { return a.uid == uid && a.id == id; });
        if (asked == daemon.asked.end()) {
            processes_[uid].asks = processes_[uid].asks && processes_[uid].looks;
            return;             /* no look, or who asked has ended */
        }
        Asked answered = std::move(*asked);
        daemon.asked.erase(asked);
        take_look(uid, message);
        if (!message.sent.others.empty())
            daemon.latest[answered.name] = {message, answered.forgets};
        for (uint32_t other : answered.behind) {
            if (!is_for(message, other)) {
                pass_on_look(other);
            } else {
                kept++;
                take_look(other, message);
            }
        }
    }
    void take_look(uint32_t uid, const Message &message)
    {
        const std::string &payload = message.sent.payload;
        uint32_t code = number_at(payload, 8);
        Process &process = processes_[uid];
        process.asks = false;
        if (process.ended)
            return;
        Told told;
        if (code == PMI_SET_OK) {
            size_t at = 16 + number_at(payload, 12);
            told = {number_at(payload, at + 4), number_at(payload, at), number_at(payload, at + 8)};
        }
        Last &last = last_[process.name];
        EXPECT_TRUE(message.order >= process.known.order || told == process.known.told)
            << process.name << ": process " << uid << " asked when another one knew more; seed " << seed_;
        if (message.order >= last.order)
            last = {message.order, told};
        process.memory.erase(process.name);
        if (code == PMI_SET_OK && number_at(payload, payload.size() - 4) == 1)
            process.memory[process.name] = {told, process.forgets};
    }
    static uint32_t number_at(const std::string &payload, size_t at)
    {
        uint32_t number = 0;
        EXPECT_LE(at + sizeof number, payload.size());
        std::memcpy(&number, payload.data() + at, sizeof number);
        return number;
    }

    uint64_t seed_;
    std::mt19937_64 random_;
    FakeGlue glue_;
    Process processes_[PROCESSES];
    Daemon daemons_[DAEMONS];
    std::map<std::string, Last> last_;  /* what any process has been told last */
    size_t sent_ = 0;
};

TEST(SetForgetsTest, SA1_seeds)
{
    const char *text = getenv("ELASTIC_SIMULATION_SEEDS");
    uint64_t seeds = 2 * (text ? strtoull(text, nullptr, 10) : 100);
    int from_memory = 0, forgotten = 0, kept = 0, given = 0;
    for (uint64_t seed = 1; seed <= seeds && !testing::Test::HasFailure(); seed++) {
        ForgetfulJob job(seed);
        job.run();
        from_memory += job.from_memory;
        forgotten += job.forgotten;
        kept += job.kept;
        given += job.given;
    }
    printf("%llu jobs: %d look-ups from memory, %d times forgotten; others' answers: %d awaited, %d there\n",
           static_cast<unsigned long long>(seeds), from_memory, forgotten, kept, given);
    EXPECT_GT(from_memory, static_cast<int>(seeds));
    EXPECT_GT(forgotten, static_cast<int>(seeds));
    EXPECT_GT(kept, static_cast<int>(seeds));
    EXPECT_GT(given, static_cast<int>(seeds));
}

}  // namespace
}  // namespace elastic
