/*
 * What processes remember of sets, in random runs: boards that are written late, daemons that are slow and die,
 * processes that make, move and free names, end, and tell each other what they were told.  A seed gives the same run
 * each time.
 *
 * Invariant SA1: who answers from memory does not contradict what a process was told of the same name before, whoever
 * was told so: what one knows another may have by a message.
 */

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>

#include "fake_glue.h"
#include "set_call.h"

namespace elastic {
namespace {

constexpr int DAEMONS = 3;
constexpr uint32_t PROCESSES = 6;
const std::string NAMES[] = {"app://a", "app://b", "app://c"};

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

    int from_memory = 0, forgotten = 0;

  private:
    struct Remembered {
        Told told;
        uint32_t forgets = 0;
    };
    struct Process {
        bool ended = false, asks = false, looks = false;
        uint32_t calls = 0, forgets = 0;        /* on the board before the question */
        std::string name;
        std::map<std::string, Remembered> memory;
    };
    struct Message {
        size_t order = 0;       /* in which mpiexec has sent it */
        SentMessage sent;
    };
    struct Last {
        size_t order = 0;
        Told told;
    };
    struct Daemon {
        bool departed = false;
        uint32_t forgets = 0;
        std::deque<Message> down;   /* on their way */
        std::deque<std::string> up;     /* confirmations */
    };

    uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    Daemon &daemon_of(uint32_t uid) { return daemons_[uid / 2]; }
    bool lives(uint32_t uid) { return !processes_[uid].ended && !daemon_of(uid).departed; }

    void ask(uint32_t uid, const SetCall &call)
    {
        Process &process = processes_[uid];
        process.asks = true;
        process.looks = std::holds_alternative<LookAtSet>(call);
        process.forgets = daemon_of(uid).forgets;
        glue_.report(0, static_cast<int>(uid / 2), REPORT_SET_CALL, 0,
                     write_set_report(uid, ++process.calls, write_set_call(call)));
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
            look(uid, name);
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
        process.name = name;
        ask(uid, LookAtSet{name});
    }
    void end(uint32_t uid)
    {
        int daemon = static_cast<int>(uid / 2);
        if (pick(3) == 0) {
            daemons_[daemon].departed = true;
            glue_.departed(0, daemon);
        } else {
            processes_[uid].ended = true;
            glue_.exited(0, daemon, uid);
        }
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
                std::string confirmation = daemon.up.front();
                daemon.up.pop_front();
                glue_.report(0, number, REPORT_FORGOTTEN, 0, confirmation);
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
            daemon.up.push_back(message.sent.payload);
            forgotten++;
        } else {
            take_answer(message.order, message.sent.payload);
        }
    }
    void take_answer(size_t order, const std::string &payload)
    {
        uint32_t uid = number_at(payload, 0), code = number_at(payload, 8);
        Process &process = processes_[uid];
        process.asks = false;
        if (!process.looks || process.ended)
            return;
        Told told;
        if (code == PMI_SET_OK) {
            size_t at = 16 + number_at(payload, 12);
            told = {number_at(payload, at + 4), number_at(payload, at), number_at(payload, at + 8)};
        }
        if (Last &last = last_[process.name]; order >= last.order)
            last = {order, told};
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
    int from_memory = 0, forgotten = 0;
    for (uint64_t seed = 1; seed <= seeds && !testing::Test::HasFailure(); seed++) {
        ForgetfulJob job(seed);
        job.run();
        from_memory += job.from_memory;
        forgotten += job.forgotten;
    }
    printf("%llu jobs: %d look-ups from memory, %d times forgotten\n", static_cast<unsigned long long>(seeds),
           from_memory, forgotten);
    EXPECT_GT(from_memory, static_cast<int>(seeds));
    EXPECT_GT(forgotten, static_cast<int>(seeds));
}

}  // namespace
}  // namespace elastic
