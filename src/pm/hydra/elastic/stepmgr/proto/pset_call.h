/*
 * Calls of processes on sets and the answers to them, as bytes (pmi_adapt_set.h): read with every length, count and
 * character checked first, because they are the program's.
 */

#ifndef ELASTIC_PSET_CALL_H_INCLUDED
#define ELASTIC_PSET_CALL_H_INCLUDED

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stepmgr/common/bytes.h"
#include "pmi_adapt_set.h"
#include "stepmgr/common/pset_members.h"

namespace elastic {

struct SetOperand {
    std::string name;
    std::optional<SetMembers> members;  /* what the name means to the caller */
};
struct MakeSets {
    static constexpr uint32_t KIND = PMI_SET_MAKE;
    pmi_set_op op = PMI_SET_OP_UNION;
    std::string proposed;         /* "": none */
    std::vector<uint32_t> parts;
    std::vector<SetOperand> operands;
    bool lookups = false;       /* the caller wants their lookups, too */
};
struct MakeFromList {
    static constexpr uint32_t KIND = PMI_SET_FROM_LIST;
    std::string proposed;
    SetMembers members;
    bool lookups = false;
};
struct LookupSet {
    static constexpr uint32_t KIND = PMI_SET_LOOK;
    std::string name;
    bool state = true;          /* the caller wants to know it, not only whether the set has ended */
};
struct ListSets {
    static constexpr uint32_t KIND = PMI_SET_LIST;
    uint32_t after = 0;         /* serial */
};
struct MoveSet {
    static constexpr uint32_t KIND = PMI_SET_MOVE;
    std::string from, to;
};
struct FreeSet {
    static constexpr uint32_t KIND = PMI_SET_FREE;
    std::string name;
};
using SetData = std::map<std::string, std::string>;
struct PutData {
    static constexpr uint32_t KIND = PMI_SET_PUT;
    std::string name;
    SetData data;
};
struct GetData {
    static constexpr uint32_t KIND = PMI_SET_GET;
    SetOperand callers;
    std::string name;
    bool wait = false;
    std::vector<std::string> keys;
};
struct JoinBcast {
    static constexpr uint32_t KIND = PMI_SET_JOIN;
    SetOperand callers;
    uint32_t slot = 0;
};
struct GiveText {
    static constexpr uint32_t KIND = PMI_SET_GIVE;
    uint32_t slot = 0;
    std::string text;
};
struct TakeTurn {
    static constexpr uint32_t KIND = PMI_SET_TURN;
    uint32_t slot = 0;
    uint64_t number = 0;        /* of the call */
};
struct RendezvousMembers {
    static constexpr uint32_t KIND = PMI_SET_MEET;
    std::string tag, bc;
    SetMembers members;
    bool knows = false;         /* the caller has the business cards of all members */
};
/* By the caller itself; nobody waits for an answer. */
struct MadeSet {
    static constexpr uint32_t KIND = PMI_SET_MADE;
    uint32_t number = 0;
    pmi_set_op op = PMI_SET_OP_UNION;
    std::vector<std::string> operands;
    SetMembers members;
};
struct CountEnded {
    static constexpr uint32_t KIND = PMI_SET_ENDED_COUNT;
    SetMembers members;
};
struct NotifyState {
    static constexpr uint32_t KIND = PMI_SET_STATE;
    SetMembers members;
};
using SetCall = std::variant<MakeSets, MakeFromList, LookupSet, ListSets, MoveSet, FreeSet, PutData, GetData, JoinBcast,
                             GiveText, TakeTurn, RendezvousMembers, MadeSet, CountEnded, NotifyState>;

/* Calls that are not of the table of sets, but of the step: on changes through sets (pset_changes.h), and the last
 * (process_sets.cpp). */
struct BecomeDynamic {
    static constexpr uint32_t KIND = PMI_SET_DYNAMIC;
};
struct EnterJob {
    static constexpr uint32_t KIND = PMI_SET_ENTER;
    std::string bc;
};
struct AwaitAccept {
    static constexpr uint32_t KIND = PMI_SET_AWAIT;
    bool introduced = false;    /* the caller has claimed channels to all processes in the answer to EnterJob */
};
struct HasEntered {
    static constexpr uint32_t KIND = PMI_SET_ENTERED;
};
struct GetChange {
    static constexpr uint32_t KIND = PMI_SET_CHANGE;
    SetOperand bound;           /* "": all processes */
    bool only_query = false;
    std::string bc = {};
};
struct AcceptChange {
    static constexpr uint32_t KIND = PMI_SET_ACCEPT;
    uint32_t tag = 0;
    SetData keys;
};
struct DeclineChange {
    static constexpr uint32_t KIND = PMI_SET_DECLINE;
    uint32_t tag = 0;
};
struct RequestOp {
    static constexpr uint32_t KIND = PMI_SET_REQUEST;
    std::string bound;
    pmi_set_op op = PMI_SET_OP_ADD;
    uint32_t add = 0, remove = 0;
};
struct QueryOp {
    static constexpr uint32_t KIND = PMI_SET_QUERY;
    SetOperand callers;
    std::string name;
};
struct CloseOp {
    static constexpr uint32_t KIND = PMI_SET_CLOSE;
    std::string name;
};
struct QueryLeaving {
    static constexpr uint32_t KIND = PMI_SET_LEAVES;
};
struct AddHints {
    static constexpr uint32_t KIND = PMI_SET_HINTS;
    SetData hints;
};
struct QueryArrival {
    static constexpr uint32_t KIND = PMI_SET_COMES;
    uint32_t uid = 0;
    uint64_t creation = 0;
};
using ChangeCall = std::variant<BecomeDynamic, EnterJob, AwaitAccept, HasEntered, GetChange, AcceptChange,
                                DeclineChange, RequestOp, QueryOp, CloseOp, QueryLeaving, AddHints, QueryArrival>;

/* Nothing: it is malformed, or of the other kind. */
std::optional<SetCall> parse_set_call(Bytes call);
std::optional<ChangeCall> parse_change_call(Bytes call);
/* The reverse, for tests. */
std::string write_set_call(const SetCall &call);
std::string write_set_call(const ChangeCall &call);

void append_members(std::string &bytes, const SetMembers &members);

/* An answer that is being written, after its code. */
class SetAnswer {
  public:
    SetAnswer() { number(PMI_SET_OK); }
    static std::string error(pmi_set_code code, const std::string &text);
    static std::string wrong(const std::string &text) { return error(PMI_SET_WRONG, text); }

    SetAnswer &number(size_t value);
    SetAnswer &text(const std::string &value);
    SetAnswer &members(const SetMembers &members);
    SetAnswer &data(const SetData &data);
    const std::string &bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_CALL_H_INCLUDED */
