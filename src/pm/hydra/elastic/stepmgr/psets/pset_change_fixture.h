/*
 * Fixtures of the tests of changes through process sets: a job on two hosts, its calls, and the
 * replies.
 */

#ifndef ELASTIC_PSET_CHANGE_FIXTURE_H_INCLUDED
#define ELASTIC_PSET_CHANGE_FIXTURE_H_INCLUDED

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "stepmgr/proto/payload_fixture.h"
#include "stepmgr/common/size_request.h"
#include "stepmgr/proto/pset_call.h"
#include "stepmgr/proto/task_call.h"
#include "stepmgr/sim/fake_mpiexec.h"

namespace elastic {

class SetChangeTest : public testing::Test {
  protected:
    /* Two processes on node a, one on b, none of which has called MPI_Init. */
    void SetUp() override
    {
        ASSERT_EQ(mpiexec.create(), "");
        mpiexec.start_group(0, {"a", "a", "b"});
    }
    template <class Call> void call(uint32_t uid, const Call &call)
    {
        auto [group, proxy, rank] = where(uid);
        mpiexec.report(group, proxy, REPORT_SET_CALL, 0,
                       write_set_report(rank, ++ids[uid], write_set_call(call)));
        answer_at_once();
    }
    /* Replies as proxies do.  SA1, SR1. */
    void answer_at_once()
    {
        for (; seen < mpiexec.sent.size(); seen++) {
            const SentMessage message = mpiexec.sent[seen];
            if (message.command == STEP_INVALIDATE || message.command == STEP_BY_SETS)
                mpiexec.report(message.group, message.proxy, REPORT_INVALIDATED, 0,
                               message.payload);
            if (message.group == 0 &&
                (message.command == STEP_SETS || message.command == STEP_STARTS))
                notify_starts(message);
        }
    }
    void notify_starts(const SentMessage &message)
    {
        StartedReport started;
        if (message.command == STEP_STARTS)
            std::memcpy(&started.number, message.payload.data(), sizeof started.number);
        for (uint32_t uid : begun) {
            if (std::get<1>(where(uid)) == message.proxy)
                started.ranks.push_back(uid);
        }
        mpiexec.report(0, message.proxy, REPORT_STARTED, 0, write_started(started));
    }
    /* Group, proxy and rank of a process: the launch, then additions of two on node b each. */
    static std::tuple<int, int, uint32_t> where(uint32_t uid)
    {
        return uid < 3 ? std::tuple(0, uid == 2 ? 1 : 0, uid)
                       : std::tuple(int(uid - 3) / 2 + 1, 0, (uid - 3) % 2);
    }
    /* The reply to the last call of this process, from its code on; "": the call waits. */
    std::string answer_to(uint32_t uid)
    {
        answer_at_once();
        for (auto message = mpiexec.sent.rbegin(); message != mpiexec.sent.rend(); ++message) {
            if (message->command == STEP_SET_ANSWER && number_at(message->payload, 0) == uid &&
                number_at(message->payload, 4) == ids.at(uid))
                return message->payload.substr(8);
        }
        return "";
    }
    static constexpr uint32_t WAITS = UINT32_MAX;
    uint32_t code(uint32_t uid)
    {
        return answer_to(uid).empty() ? WAITS : number_at(answer_to(uid), 0);
    }
    /* "1 mpix://rc/1 1": kind, delta and tag in the answer to GetChange. */
    std::string notified(uint32_t uid)
    {
        std::string answer = answer_to(uid);
        if (code(uid) != PMI_SET_OK)
            return "code " + std::to_string(code(uid));
        uint32_t bytes = number_at(answer, 8);
        return std::to_string(number_at(answer, 4)) + " " + answer.substr(12, bytes) + " " +
               std::to_string(number_at(answer, 12 + bytes));
    }
    std::string state_of(const std::string &name)
    {
        const Json answer = mpiexec.send_request(1, R"({"id":1,"op":"psets"})").at(0);
        for (const Json &set : answer.at("psets")) {
            if (set.at("name") == name)
                return set.at("state").get<std::string>() + " " + set.at("uids").get<std::string>();
        }
        return "none";
    }
    void resize(int size, const std::string &more = "")
    {
        mpiexec.send_request(1, R"({"id":1,"op":"resize","size":)" + std::to_string(size) + more +
                                    "}");
    }
    /* The call of a joining process. */
    void await_accept(uint32_t uid, const std::string &bc = "", bool introduced = false)
    {
        call(uid, EnterJob{bc});
        call(uid, AwaitAccept{introduced});
    }
    /* Starts an addition of two processes with the uids 3 and 4, which wait. */
    void offer_addition()
    {
        call(0, BecomeDynamic{});
        resize(5);
        ASSERT_EQ(mpiexec.launches.size(), 1u);
        mpiexec.start_group(1, {"b", "b"});
        await_accept(3);
        await_accept(4);
    }
    void add()
    {
        offer_addition();
        call(0, GetChange{});
        call(0, AcceptChange{1, {}});
        call(3, HasEntered{});
        call(4, HasEntered{});
    }

    FakeMpiexec mpiexec;
    std::map<uint32_t, uint32_t> ids;
    /* processes of the launch that use MPI, as proxies report */
    std::set<uint32_t> begun = {0, 1, 2};
    size_t seen = 0;            /* number of messages that were read */

    inline static const GetChange all = {};
    static std::string write_broke(uint32_t rank)
    {
        return {reinterpret_cast<const char *>(&rank), sizeof rank};
    }
    static SetMembers list(const std::vector<uint32_t> &uids)
    {
        return *SetMembers::of_list(uids);
    }
};

/* Tests of operations that the program requests. */
class SetRequestTest : public SetChangeTest {
  protected:
    void SetUp() override
    {
        mpiexec.config.range_min = 1;
        mpiexec.config.range_max = 5;
        mpiexec.config.managed = managed;
        SetChangeTest::SetUp();
    }
    void send_request(uint32_t uid, pmi_set_op op, uint32_t add, uint32_t remove,
                      const std::string &bound = "mpix://WORLD/0")
    {
        call(uid, RequestOp{bound, op, add, remove});
    }
    /* "5 mpix://rc/1,mpix://op/0.1"; "0": not granted; "waits"; "code N". */
    std::string done(uint32_t uid)
    {
        std::string answer = answer_to(uid);
        if (answer.empty())
            return "waits";
        if (code(uid) != PMI_SET_OK)
            return "code " + std::to_string(code(uid));
        std::string text = std::to_string(number_at(answer, 4));
        size_t at = 12;
        for (uint32_t i = 0; i < number_at(answer, 8); i++) {
            uint32_t bytes = number_at(answer, at);
            text += (i == 0 ? " " : ",") + answer.substr(at + 4, bytes);
            at += 4 + bytes;
        }
        return text;
    }
    /* The reason why no operation was made. */
    std::string why_not(uint32_t uid)
    {
        std::string answer = answer_to(uid);
        size_t at = 12;
        for (uint32_t i = number_at(answer, 8); i > 0; i--)
            at += 4 + number_at(answer, at);
        return answer.substr(at + 4, number_at(answer, at));
    }
    void query(uint32_t uid, const std::string &name = "mpix://WORLD/0")
    {
        call(uid, QueryOp{{"mpi://WORLD", list({0, 1, 2})}, name});
    }
    void start_joining_group(int group)
    {
        mpiexec.start_group(group, {"b", "b"});
        uint32_t first = 3 + 2 * (static_cast<uint32_t>(group) - 1);
        await_accept(first);
        await_accept(first + 1);
    }
    void enter(uint32_t uid)
    {
        call(uid, HasEntered{});
    }

    bool managed = false;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_CHANGE_FIXTURE_H_INCLUDED */
