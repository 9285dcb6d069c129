/* See pset_call.h. */

#include "stepmgr/proto/pset_call.h"

#include "stepmgr/proto/call_bytes.h"

namespace elastic {

void append_members(std::string &bytes, const SetMembers &members)
{
    append_number(bytes, members.runs().size());
    for (const SetMembers::Run &run : members.runs()) {
        append_number(bytes, run.first);
        append_number(bytes, run.count);
    }
}

namespace {

class CallReader : public CallBytes {
  public:
    using CallBytes::CallBytes;

    std::string name() { return text(PMI_SET_NAME_MAX); }
    SetMembers members()
    {
        size_t n = number();
        std::vector<SetMembers::Run> runs;
        if (!require(n <= left().size() / (2 * sizeof(uint32_t))))
            return {};
        runs.resize(n);
        for (SetMembers::Run &run : runs) {
            run.first = number();
            run.count = number();
        }
        auto members = SetMembers::of_runs(runs);
        return require(members.has_value()) ? std::move(*members) : SetMembers();
    }
    SetOperand operand()
    {
        SetOperand operand{name(), {}};
        if (number(1))
            operand.members = members();
        return operand;
    }
};

void append_data(std::string &bytes, const SetData &data)
{
    append_number(bytes, data.size());
    for (const auto &[key, value] : data) {
        append_text(bytes, key);
        append_text(bytes, value);
    }
}

void append_operand(std::string &bytes, const SetOperand &operand)
{
    append_text(bytes, operand.name);
    append_number(bytes, operand.members ? 1 : 0);
    if (operand.members)
        append_members(bytes, *operand.members);
}

/* ---- one call ------------------------------------------------------------------------------------------ */

template <class Call> Call read(CallReader &reader);

template <> MakeSets read(CallReader &reader)
{
    MakeSets call;
    call.op = static_cast<pmi_set_op>(reader.number(PMI_SET_OP_SPLIT));
    call.wished = reader.name();
    for (uint32_t n = reader.number(PMI_SET_OPERANDS_MAX); n > 0 && reader.ok(); n--)
        call.parts.push_back(reader.number());
    for (uint32_t n = reader.number(PMI_SET_OPERANDS_MAX); n > 0 && reader.ok(); n--)
        call.operands.push_back(reader.operand());
    call.lookups = reader.number(1) == 1;
    return call;
}

template <> MakeFromList read(CallReader &reader)
{
    std::string wished = reader.name();
    SetMembers members = reader.members();
    return {std::move(wished), std::move(members), reader.number(1) == 1};
}

template <> LookupSet read(CallReader &reader)
{
    std::string name = reader.name();
    bool is_older = reader.left().empty();
    return {std::move(name), is_older || reader.number(1) == 1};
}

template <> ListSets read(CallReader &reader)
{
    return {reader.number()};
}

template <> MoveSet read(CallReader &reader)
{
    std::string from = reader.name();
    return {std::move(from), reader.name()};
}

template <> FreeSet read(CallReader &reader)
{
    return {reader.name()};
}

SetData read_data(CallReader &reader)
{
    SetData data;
    for (uint32_t n = reader.number(PMI_SET_KEYS_MAX); n > 0 && reader.ok(); n--) {
        std::string key = reader.text(PMI_SET_KEY_MAX);
        data[key] = reader.text(PMI_SET_VALUE_MAX);
    }
    return data;
}

template <> PutData read(CallReader &reader)
{
    std::string name = reader.name();
    return {std::move(name), read_data(reader)};
}

template <> GetData read(CallReader &reader)
{
    GetData call;
    call.callers = reader.operand();
    call.name = reader.name();
    call.wait = reader.number(1) == 1;
    for (uint32_t n = reader.number(PMI_SET_KEYS_MAX); n > 0 && reader.ok(); n--)
        call.keys.push_back(reader.text(PMI_SET_KEY_MAX));
    return call;
}

template <> JoinBcast read(CallReader &reader)
{
    SetOperand callers = reader.operand();
    return {std::move(callers), reader.number(PMI_SET_BCASTS_MAX - 1)};
}

template <> GiveText read(CallReader &reader)
{
    uint32_t slot = reader.number(PMI_SET_BCASTS_MAX - 1);
    return {slot, reader.text(PMI_SET_TEXT_MAX)};
}

template <> TakeTurn read(CallReader &reader)
{
    uint32_t slot = reader.number(PMI_SET_BCASTS_MAX - 1);
    uint64_t low = reader.number();
    return {slot, static_cast<uint64_t>(reader.number()) << 32 | low};
}

template <> RendezvousMembers read(CallReader &reader)
{
    std::string tag = reader.text(PMI_SET_TAG_MAX), bc = reader.text(PMI_SET_CARD_MAX);
    SetMembers members = reader.members();
    return {std::move(tag), std::move(bc), std::move(members), reader.number(1) == 1};
}

template <> MadeSet read(CallReader &reader)
{
    MadeSet call;
    call.number = reader.number();
    call.op = static_cast<pmi_set_op>(reader.number(PMI_SET_OP_INTERSECTION));
    for (uint32_t n = reader.number(PMI_SET_GRANT_OPERANDS); n > 0 && reader.ok(); n--)
        call.operands.push_back(reader.name());
    call.members = reader.members();
    return call;
}

template <> CountEnded read(CallReader &reader)
{
    return {reader.members()};
}

template <> NotifyState read(CallReader &reader)
{
    return {reader.members()};
}

template <> BecomeDynamic read(CallReader &)
{
    return {};
}

template <> EnterJob read(CallReader &reader)
{
    return {reader.text(PMI_SET_CARD_MAX)};
}

template <> AwaitAccept read(CallReader &reader)
{
    return {reader.number(1) == 1};
}

template <> HasEntered read(CallReader &)
{
    return {};
}

template <> GetChange read(CallReader &reader)
{
    SetOperand bound = reader.operand();
    bool only_query = reader.number(1) == 1;
    return {std::move(bound), only_query, reader.text(PMI_SET_CARD_MAX)};
}

template <> AcceptChange read(CallReader &reader)
{
    uint32_t tag = reader.number();
    return {tag, read_data(reader)};
}

template <> DeclineChange read(CallReader &reader)
{
    return {reader.number()};
}

template <> RequestOp read(CallReader &reader)
{
    std::string bound = reader.name();
    auto op = static_cast<pmi_set_op>(reader.number(PMI_SET_OP_SHRINK));
    uint32_t add = reader.number(SetMembers::MAX);
    return {std::move(bound), op, add, reader.number(SetMembers::MAX)};
}

template <> QueryOp read(CallReader &reader)
{
    SetOperand callers = reader.operand();
    return {std::move(callers), reader.name()};
}

template <> CloseOp read(CallReader &reader)
{
    return {reader.name()};
}

/* Of one member. */
template <> QueryArrival read(CallReader &reader)
{
    SetMembers members = reader.members();
    uint32_t uid = reader.require(members.size() == 1) ? members.greatest() : 0;
    uint64_t low = reader.number();
    return {uid, static_cast<uint64_t>(reader.number()) << 32 | low};
}

template <> QueryLeaving read(CallReader &)
{
    return {};
}

template <> AddHints read(CallReader &reader)
{
    return {read_data(reader)};
}

template <class Any, class Call> std::optional<Any> whole_of(CallReader &reader)
{
    Call call = read<Call>(reader);
    return reader.complete() ? std::optional<Any>(std::move(call)) : std::nullopt;
}

template <class Call> std::optional<SetCall> whole(CallReader &reader)
{
    return whole_of<SetCall, Call>(reader);
}

template <class Call> std::optional<ChangeCall> whole_change(CallReader &reader)
{
    return whole_of<ChangeCall, Call>(reader);
}

struct Write {
    std::string &bytes;

    void operator()(const MakeSets &call)
    {
        append_number(bytes, PMI_SET_MAKE);
        append_number(bytes, call.op);
        append_text(bytes, call.wished);
        append_number(bytes, call.parts.size());
        for (uint32_t part : call.parts)
            append_number(bytes, part);
        append_number(bytes, call.operands.size());
        for (const SetOperand &operand : call.operands)
            append_operand(bytes, operand);
        append_number(bytes, call.lookups ? 1 : 0);
    }
    void operator()(const MakeFromList &call)
    {
        append_number(bytes, PMI_SET_FROM_LIST);
        append_text(bytes, call.wished);
        append_members(bytes, call.members);
        append_number(bytes, call.lookups ? 1 : 0);
    }
    void operator()(const LookupSet &call)
    {
        append_number(bytes, PMI_SET_LOOK);
        append_text(bytes, call.name);
        append_number(bytes, call.state ? 1 : 0);
    }
    void operator()(const ListSets &call)
    {
        append_number(bytes, PMI_SET_LIST);
        append_number(bytes, call.after);
    }
    void operator()(const MoveSet &call)
    {
        append_number(bytes, PMI_SET_MOVE);
        append_text(bytes, call.from);
        append_text(bytes, call.to);
    }
    void operator()(const FreeSet &call)
    {
        append_number(bytes, PMI_SET_FREE);
        append_text(bytes, call.name);
    }
    void operator()(const PutData &call)
    {
        append_number(bytes, PMI_SET_PUT);
        append_text(bytes, call.name);
        append_data(bytes, call.data);
    }
    void operator()(const GetData &call)
    {
        append_number(bytes, PMI_SET_GET);
        append_operand(bytes, call.callers);
        append_text(bytes, call.name);
        append_number(bytes, call.wait ? 1 : 0);
        append_number(bytes, call.keys.size());
        for (const std::string &key : call.keys)
            append_text(bytes, key);
    }
    void operator()(const JoinBcast &call)
    {
        append_number(bytes, PMI_SET_JOIN);
        append_operand(bytes, call.callers);
        append_number(bytes, call.slot);
    }
    void operator()(const GiveText &call)
    {
        append_number(bytes, PMI_SET_GIVE);
        append_number(bytes, call.slot);
        append_text(bytes, call.text);
    }
    void operator()(const TakeTurn &call)
    {
        append_number(bytes, PMI_SET_TURN);
        append_number(bytes, call.slot);
        append_number(bytes, call.number);
        append_number(bytes, call.number >> 32);
    }
    void operator()(const RendezvousMembers &call)
    {
        append_number(bytes, PMI_SET_MEET);
        append_text(bytes, call.tag);
        append_text(bytes, call.bc);
        append_members(bytes, call.members);
        append_number(bytes, call.knows ? 1 : 0);
    }
    void operator()(const MadeSet &call)
    {
        append_number(bytes, PMI_SET_MADE);
        append_number(bytes, call.number);
        append_number(bytes, call.op);
        append_number(bytes, call.operands.size());
        for (const std::string &operand : call.operands)
            append_text(bytes, operand);
        append_members(bytes, call.members);
    }
    void operator()(const NotifyState &call)
    {
        append_number(bytes, PMI_SET_STATE);
        append_members(bytes, call.members);
    }
    void operator()(const CountEnded &call)
    {
        append_number(bytes, PMI_SET_ENDED_COUNT);
        append_members(bytes, call.members);
    }
    void operator()(const BecomeDynamic &) { append_number(bytes, PMI_SET_DYNAMIC); }
    void operator()(const EnterJob &call)
    {
        append_number(bytes, PMI_SET_ENTER);
        append_text(bytes, call.bc);
    }
    void operator()(const AwaitAccept &call)
    {
        append_number(bytes, PMI_SET_AWAIT);
        append_number(bytes, call.introduced ? 1 : 0);
    }
    void operator()(const HasEntered &) { append_number(bytes, PMI_SET_ENTERED); }
    void operator()(const GetChange &call)
    {
        append_number(bytes, PMI_SET_CHANGE);
        append_operand(bytes, call.bound);
        append_number(bytes, call.only_query ? 1 : 0);
        append_text(bytes, call.bc);
    }
    void operator()(const AcceptChange &call)
    {
        append_number(bytes, PMI_SET_ACCEPT);
        append_number(bytes, call.tag);
        append_data(bytes, call.keys);
    }
    void operator()(const DeclineChange &call)
    {
        append_number(bytes, PMI_SET_DECLINE);
        append_number(bytes, call.tag);
    }
    void operator()(const RequestOp &call)
    {
        append_number(bytes, PMI_SET_REQUEST);
        append_text(bytes, call.bound);
        append_number(bytes, call.op);
        append_number(bytes, call.add);
        append_number(bytes, call.remove);
    }
    void operator()(const QueryOp &call)
    {
        append_number(bytes, PMI_SET_QUERY);
        append_operand(bytes, call.callers);
        append_text(bytes, call.name);
    }
    void operator()(const CloseOp &call)
    {
        append_number(bytes, PMI_SET_CLOSE);
        append_text(bytes, call.name);
    }
    void operator()(const QueryLeaving &) { append_number(bytes, PMI_SET_LEAVES); }
    void operator()(const QueryArrival &call)
    {
        append_number(bytes, PMI_SET_COMES);
        append_members(bytes, *SetMembers::of_list(std::span(&call.uid, 1)));
        append_number(bytes, call.creation);
        append_number(bytes, call.creation >> 32);
    }
    void operator()(const AddHints &call)
    {
        append_number(bytes, PMI_SET_HINTS);
        append_data(bytes, call.hints);
    }
};

}  // namespace

std::optional<SetCall> parse_set_call(Bytes call)
{
    CallReader reader(call);
    switch (reader.number()) {
        case PMI_SET_MAKE:
            return whole<MakeSets>(reader);
        case PMI_SET_FROM_LIST:
            return whole<MakeFromList>(reader);
        case PMI_SET_LOOK:
            return whole<LookupSet>(reader);
        case PMI_SET_LIST:
            return whole<ListSets>(reader);
        case PMI_SET_MOVE:
            return whole<MoveSet>(reader);
        case PMI_SET_FREE:
            return whole<FreeSet>(reader);
        case PMI_SET_PUT:
            return whole<PutData>(reader);
        case PMI_SET_GET:
            return whole<GetData>(reader);
        case PMI_SET_JOIN:
            return whole<JoinBcast>(reader);
        case PMI_SET_GIVE:
            return whole<GiveText>(reader);
        case PMI_SET_TURN:
            return whole<TakeTurn>(reader);
        case PMI_SET_MEET:
            return whole<RendezvousMembers>(reader);
        case PMI_SET_MADE:
            return whole<MadeSet>(reader);
        case PMI_SET_ENDED_COUNT:
            return whole<CountEnded>(reader);
        case PMI_SET_STATE:
            return whole<NotifyState>(reader);
        default:
            return std::nullopt;
    }
}

std::optional<ChangeCall> parse_change_call(Bytes call)
{
    CallReader reader(call);
    switch (reader.number()) {
        case PMI_SET_DYNAMIC:
            return whole_change<BecomeDynamic>(reader);
        case PMI_SET_ENTER:
            return whole_change<EnterJob>(reader);
        case PMI_SET_AWAIT:
            return whole_change<AwaitAccept>(reader);
        case PMI_SET_ENTERED:
            return whole_change<HasEntered>(reader);
        case PMI_SET_CHANGE:
            return whole_change<GetChange>(reader);
        case PMI_SET_ACCEPT:
            return whole_change<AcceptChange>(reader);
        case PMI_SET_DECLINE:
            return whole_change<DeclineChange>(reader);
        case PMI_SET_REQUEST:
            return whole_change<RequestOp>(reader);
        case PMI_SET_QUERY:
            return whole_change<QueryOp>(reader);
        case PMI_SET_CLOSE:
            return whole_change<CloseOp>(reader);
        case PMI_SET_LEAVES:
            return whole_change<QueryLeaving>(reader);
        case PMI_SET_HINTS:
            return whole_change<AddHints>(reader);
        case PMI_SET_COMES:
            return whole_change<QueryArrival>(reader);
        default:
            return std::nullopt;
    }
}

std::string write_set_call(const SetCall &call)
{
    std::string bytes;
    std::visit(Write{bytes}, call);
    return bytes;
}

std::string write_set_call(const ChangeCall &call)
{
    std::string bytes;
    std::visit(Write{bytes}, call);
    return bytes;
}

/* ---- answers -------------------------------------------------------------------------------------------- */

std::string SetAnswer::error(pmi_set_code code, const std::string &text)
{
    std::string bytes;
    append_number(bytes, code);
    append_text(bytes, text);
    return bytes;
}

SetAnswer &SetAnswer::number(size_t value)
{
    append_number(bytes_, value);
    return *this;
}

SetAnswer &SetAnswer::text(const std::string &value)
{
    append_text(bytes_, value);
    return *this;
}

SetAnswer &SetAnswer::members(const SetMembers &members)
{
    append_members(bytes_, members);
    return *this;
}

SetAnswer &SetAnswer::data(const SetData &data)
{
    append_data(bytes_, data);
    return *this;
}

}  // namespace elastic
