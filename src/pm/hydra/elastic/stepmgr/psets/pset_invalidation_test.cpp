/*
 * Cached replies about sets, in random runs: boards that are written late, proxies that are slow
 * and die, and query once for all of their processes, processes that make, move and free names,
 * end, and send each other what they were notified of.  A seed gives the same run each time.
 *
 * Invariant SA1: an answer from a cache does not contradict an earlier notification of any process
 * about the same name, because one process may send it to another in a message.  Nor does a shared
 * answer for another process, if the query was made after that notification.
 */

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "stepmgr/proto/payload_fixture.h"
#include "stepmgr/sim/fake_mpiexec.h"
#include "stepmgr/proto/pset_call.h"

namespace elastic {
namespace {

constexpr int PROXIES = 3;
constexpr uint32_t PROCESSES = 6;
const std::string NAMES[] = {"app://a", "app://b", "app://c", "mpix://WORLD/0"};

/* The data of one name that a process was notified of. */
struct Notified {
    uint32_t serial = 0;        /* 0: unknown */
    uint32_t state = 0, primary = 0;
    auto operator<=>(const Notified &) const = default;
};

class ForgetfulJob {
  public:
    explicit ForgetfulJob(uint64_t seed) : seed_(seed), random_(seed) {}

    void run()
    {
        ASSERT_EQ(mpiexec_.create(), "");
        mpiexec_.start_group(0, {"a", "a", "b", "b", "c", "c"});
        for (uint32_t uid = 0; uid < PROCESSES; uid++)
            mpiexec_.init(0, static_cast<int>(uid / 2), uid, false);
        for (int i = 0; i < 400 && !testing::Test::HasFailure(); i++) {
            act();
            take_sent();
        }
        while (deliver_one())
            take_sent();
        for (uint32_t uid = 0; uid < PROCESSES; uid++)
            EXPECT_TRUE(!lives(uid) || !processes_[uid].queries)
                << uid << " waits for ever; seed " << seed_;
        EXPECT_EQ(mpiexec_.status().at("unexpected"), 0) << "seed " << seed_;
    }

    int from_memory = 0, invalidated = 0, held_back = 0, given = 0;

  private:
    struct Cached {
        Notified notified;
        uint32_t invalidations = 0;
    };
    struct Last {
        size_t order = 0;
        Notified notified;
    };
    struct Process {
        bool ended = false, queries = false, lookups = false;
        uint32_t calls = 0, invalidations = 0;        /* on the board before the question */
        std::string name;
        Last known;             /* by any process, when this one queried */
        std::map<std::string, Cached> memory;
    };
    struct Message {
        size_t order = 0;       /* order in which mpiexec sent it */
        SentMessage sent;
    };
    struct Up {
        step_report kind = REPORT_SET_CALL;
        std::string payload;
    };
    /* A lookup that has been passed on and is not answered. */
    struct Requested {
        uint32_t uid = 0, id = 0, invalidations = 0;  /* of the board when it was passed on */
        std::string name;
        std::vector<uint32_t> waiting = {};     /* processes that have sent the same query since */
    };
    struct Latest {
        Message message;
        uint32_t invalidations = 0;
    };
    struct Proxy {
        bool disconnected = false;
        uint32_t invalidations = 0;
        std::deque<Message> down;       /* in transit */
        std::deque<Up> up;
        std::list<Requested> requested;
        std::map<std::string, Latest> latest;   /* by name */
    };

    uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    Proxy &proxy_of(uint32_t uid) { return proxies_[uid / 2]; }
    bool lives(uint32_t uid) { return !processes_[uid].ended && !proxy_of(uid).disconnected; }

    void send_request(uint32_t uid, const SetCall &call)
    {
        Process &process = processes_[uid];
        process.queries = true;
        process.lookups = false;
        pass_on(uid, call);
    }
    void pass_on(uint32_t uid, const SetCall &call)
    {
        proxy_of(uid).up.push_back({REPORT_SET_CALL, write_set_report(uid, ++processes_[uid].calls,
                                                                       write_set_call(call))});
    }
    void forward_lookup(uint32_t uid)
    {
        Process &process = processes_[uid];
        pass_on(uid, LookupSet{process.name});
        proxy_of(uid).requested.push_back(
            {uid, process.calls, proxy_of(uid).invalidations, process.name});
    }
    /* As in proxy/sets.c. */
    void query_lookup(uint32_t uid, const std::string &name)
    {
        Proxy &proxy = proxy_of(uid);
        Process &process = processes_[uid];
        process.queries = process.lookups = true;
        process.name = name;
        process.invalidations = proxy.invalidations;
        process.known = last_[name];
        if (auto latest = proxy.latest.find(name);
            latest != proxy.latest.end() && latest->second.invalidations == proxy.invalidations &&
            is_for(latest->second.message, uid)) {
            given++;
            return take_lookup(uid, latest->second.message);
        }
        for (Requested &requested : proxy.requested) {
            if (requested.name == name && requested.invalidations == proxy.invalidations)
                return requested.waiting.push_back(uid);
        }
        forward_lookup(uid);
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
        } else if (process.queries) {
            return;
        } else if (what < 12) {
            lookup(uid, NAMES[pick(4)]);
        } else if (what < 15) {
            std::vector<uint32_t> all = {0, 1, 2, 3, 4, 5};
            send_request(uid, MakeFromList{name, *SetMembers::of_list(all)});
        } else if (what < 17) {
            send_request(uid, FreeSet{name});
        } else if (what == 17 && pick(4) == 0) {
            send_request(uid, MoveSet{name, NAMES[pick(2)]});
        }
    }
    void lookup(uint32_t uid, const std::string &name)
    {
        Process &process = processes_[uid];
        auto known = process.memory.find(name);
        if (known != process.memory.end() &&
            known->second.invalidations == proxy_of(uid).invalidations) {
            from_memory++;
            /* the last notification of any process about this name is still valid */
            EXPECT_TRUE(last_[name].notified == known->second.notified)
                << name << " in process " << uid << "; seed " << seed_;
            return;
        }
        query_lookup(uid, name);
    }
    void end(uint32_t uid)
    {
        int proxy = static_cast<int>(uid / 2);
        if (pick(3) == 0) {
            proxies_[proxy].disconnected = true;
            mpiexec_.disconnected(0, proxy);
        } else {
            processes_[uid].ended = true;
            query_others(proxies_[proxy], uid);
            mpiexec_.exited(0, proxy, uid);
        }
    }
    /* Processes that wait for the reply to an ended process query again. */
    void query_others(Proxy &proxy, uint32_t uid)
    {
        for (Requested &other : proxy.requested)
            std::erase(other.waiting, uid);
        auto requested = std::ranges::find(proxy.requested, uid, &Requested::uid);
        if (requested == proxy.requested.end())
            return;
        std::vector<uint32_t> waiting = std::move(requested->waiting);
        proxy.requested.erase(requested);
        for (uint32_t other : waiting)
            forward_lookup(other);
    }
    void take_sent()
    {
        for (; sent_ < mpiexec_.sent.size(); sent_++) {
            const SentMessage &message = mpiexec_.sent[sent_];
            if (message.command == STEP_INVALIDATE || message.command == STEP_SET_ANSWER)
                proxies_[message.proxy].down.push_back({sent_, message});
        }
    }
    /* Delivers one message; false: none is in transit. */
    bool deliver_one()
    {
        uint32_t first = pick(PROXIES);
        for (uint32_t i = 0; i < PROXIES; i++) {
            int number = static_cast<int>((first + i) % PROXIES);
            Proxy &proxy = proxies_[number];
            if (proxy.disconnected)
                continue;
            if (!proxy.up.empty() && (pick(2) || proxy.down.empty())) {
                Up up = proxy.up.front();
                proxy.up.pop_front();
                if (up.kind == REPORT_INVALIDATED || !processes_[number_at(up.payload, 0)].ended)
                    mpiexec_.report(0, number, up.kind, 0, up.payload);
                return true;
            }
            if (!proxy.down.empty()) {
                Message message = proxy.down.front();
                proxy.down.pop_front();
                arrive(proxy, message);
                return true;
            }
        }
        return false;
    }
    void arrive(Proxy &proxy, const Message &message)
    {
        if (message.sent.command == STEP_INVALIDATE) {
            proxy.invalidations++;
            proxy.up.push_back({REPORT_INVALIDATED, message.sent.payload});
            invalidated++;
            return;
        }
        uint32_t uid = number_at(message.sent.payload, 0), id = number_at(message.sent.payload, 4);
        auto requested = std::ranges::find_if(
            proxy.requested, [&](const Requested &a) { return a.uid == uid && a.id == id; });
        if (requested == proxy.requested.end()) {
            processes_[uid].queries = processes_[uid].queries && processes_[uid].lookups;
            return;             /* no lookup, or the caller has ended */
        }
        Requested answered = std::move(*requested);
        proxy.requested.erase(requested);
        take_lookup(uid, message);
        if (!message.sent.others.empty())
            proxy.latest[answered.name] = {message, answered.invalidations};
        for (uint32_t other : answered.waiting) {
            if (!is_for(message, other)) {
                forward_lookup(other);
            } else {
                held_back++;
                take_lookup(other, message);
            }
        }
    }
    void take_lookup(uint32_t uid, const Message &message)
    {
        const std::string &payload = message.sent.payload;
        uint32_t code = number_at(payload, 8);
        Process &process = processes_[uid];
        process.queries = false;
        if (process.ended)
            return;
        Notified notified;
        if (code == PMI_SET_OK) {
            size_t at = 16 + number_at(payload, 12);
            notified = {number_at(payload, at + 4), number_at(payload, at),
                        number_at(payload, at + 8)};
        }
        Last &last = last_[process.name];
        EXPECT_TRUE(message.order >= process.known.order || notified == process.known.notified)
            << process.name << ": process " << uid << " queried when another one knew more; seed "
            << seed_;
        if (message.order >= last.order)
            last = {message.order, notified};
        process.memory.erase(process.name);
        if (code == PMI_SET_OK && number_at(payload, payload.size() - 4) == 1)
            process.memory[process.name] = {notified, process.invalidations};
    }

    uint64_t seed_;
    std::mt19937_64 random_;
    FakeMpiexec mpiexec_;
    Process processes_[PROCESSES];
    Proxy proxies_[PROXIES];
    std::map<std::string, Last> last_;  /* last notification of any process */
    size_t sent_ = 0;
};

TEST(PsetInvalidationTest, SA1_seeds)
{
    const char *text = getenv("ELASTIC_SIMULATION_SEEDS");
    uint64_t seeds = 2 * (text ? strtoull(text, nullptr, 10) : 100);
    int from_memory = 0, invalidated = 0, held_back = 0, given = 0;
    for (uint64_t seed = 1; seed <= seeds && !testing::Test::HasFailure(); seed++) {
        ForgetfulJob job(seed);
        job.run();
        from_memory += job.from_memory;
        invalidated += job.invalidated;
        held_back += job.held_back;
        given += job.given;
    }
    printf("%llu jobs: %d lookups from memory, %d times invalidated; others' answers: %d awaited, "
           "%d there\n",
           static_cast<unsigned long long>(seeds), from_memory, invalidated, held_back, given);
    EXPECT_GT(from_memory, static_cast<int>(seeds));
    EXPECT_GT(invalidated, static_cast<int>(seeds));
    EXPECT_GT(held_back, static_cast<int>(seeds));
    EXPECT_GT(given, static_cast<int>(seeds));
}

}  // namespace
}  // namespace elastic
