/*
 * Fixture of the tests of the table of process sets: calls, and the replies.
 */

#ifndef ELASTIC_PSETS_FIXTURE_H_INCLUDED
#define ELASTIC_PSETS_FIXTURE_H_INCLUDED

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "stepmgr/common/pset_members_fixture.h"
#include "stepmgr/psets/psets.h"

namespace elastic {

class SetsTest : public testing::Test {
  protected:
    SetsTest() { use({}); }
    void use(const Sets::Limits &limits)
    {
        sets = Sets(limits);
        sets.grow(8);
    }

    /* Reads a reply, and checks that it has the expected form. */
    struct Answer {
        std::string bytes;
        size_t at = 0;

        uint32_t number()
        {
            uint32_t value = 0;
            EXPECT_LE(at + sizeof value, bytes.size());
            std::memcpy(&value, bytes.data() + at, sizeof value);
            at += sizeof value;
            return value;
        }
        std::string text()
        {
            uint32_t n = number();
            at += n;
            return bytes.substr(at - n, n);
        }
        UidList members()
        {
            UidList uids;
            for (uint32_t n = number(); n > 0; n--) {
                uint32_t first = number();
                for (uint32_t k = number(); k > 0; k--)
                    uids.push_back(first++);
            }
            return uids;
        }
        bool complete() const { return at == bytes.size(); }
    };

    Answer send_request(uint32_t uid, const SetCall &call)
    {
        std::string bytes = write_set_call(call);
        auto replies = sets.call(
            {uid, ++id}, {reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size()});
        Answer mine;
        for (const Sets::Reply &reply : replies) {
            if (reply.caller.uid == uid && reply.caller.id == id)
                mine.bytes = reply.answer;
            else
                late.push_back(reply);
        }
        return mine;
    }
    uint32_t code(uint32_t uid, const SetCall &call) { return send_request(uid, call).number(); }
    SetOperand named(const std::string &name) { return {name, {}}; }

    std::vector<std::string> make(uint32_t uid, pmi_set_op op,
                                  const std::vector<std::string> &names,
                                  const std::string &proposed = "", const UidList &parts = {})
    {
        MakeSets call{op, proposed, parts, {}};
        for (const std::string &name : names)
            call.operands.push_back(named(name));
        Answer answer = send_request(uid, call);
        EXPECT_EQ(answer.number(), PMI_SET_OK);
        std::vector<std::string> made(answer.number());
        for (std::string &name : made)
            name = answer.text();
        EXPECT_TRUE(answer.complete());
        return made;
    }
    std::string from_list(uint32_t uid, const UidList &uids, const std::string &proposed = "")
    {
        Answer answer = send_request(uid, MakeFromList{proposed, list(uids)});
        EXPECT_EQ(answer.number(), PMI_SET_OK);
        return answer.text();
    }
    struct Queried {
        std::string name;
        uint32_t state = 0, primary = 0, op = 0;
        std::vector<std::string> operands;
        UidList members;
        uint32_t lasts = 0;     /* how long the reply may be cached */
    };
    Queried lookup(const std::string &name)
    {
        Queried set;
        Answer answer = send_request(0, LookupSet{name});
        if (answer.number() != PMI_SET_OK)
            return set;
        set.name = answer.text();
        set.state = answer.number();
        answer.number();
        set.primary = answer.number();
        set.op = answer.number();
        set.operands.resize(answer.number());
        for (std::string &operand : set.operands)
            operand = answer.text();
        set.members = answer.members();
        EXPECT_EQ(answer.number(), 0u) << "no addresses";
        set.lasts = answer.number();
        EXPECT_TRUE(answer.complete());
        return set;
    }
    std::vector<std::string> listed(uint32_t uid, uint32_t after = 0)
    {
        Answer answer = send_request(uid, ListSets{after});
        EXPECT_EQ(answer.number(), PMI_SET_OK);
        last_serial = answer.number();
        std::vector<std::string> names(answer.number());
        for (std::string &name : names) {
            name = answer.text();
            answer.number();
        }
        return names;
    }
    /* "key=value key=value"; "code N"; "waits". */
    static std::string data_of(Answer answer)
    {
        if (answer.bytes.empty())
            return "waits";
        if (uint32_t code = answer.number())
            return "code " + std::to_string(code);
        std::string text;
        for (uint32_t n = answer.number(); n > 0; n--) {
            text += (text.empty() ? "" : " ") + answer.text();
            text += "=" + answer.text();
        }
        return text;
    }
    std::string get(uint32_t uid, const std::string &callers, const std::string &name,
                    const std::vector<std::string> &keys, bool wait)
    {
        return data_of(send_request(uid, GetData{named(callers), name, wait, keys}));
    }

    Sets sets;
    uint32_t id = 0, last_serial = 0;
    std::vector<Sets::Reply> late;
};


}  // namespace elastic

#endif /* ELASTIC_PSETS_FIXTURE_H_INCLUDED */
