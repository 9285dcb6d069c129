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

static void append_data(std::string &bytes, const SetData &data)
{
    append_number(bytes, data.size());
    for (const auto &[key, value] : data) {
        append_text(bytes, key);
        append_text(bytes, value);
    }
}

namespace {

class SetReader : public FieldReader {
  public:
    using FieldReader::FieldReader;

    void name(std::string &value) { text(value, PMI_SET_NAME_MAX); }
    void members(SetMembers &members)
    {
        size_t n = number();
        std::vector<SetMembers::Run> runs;
        if (!require(n <= left().size() / (2 * sizeof(uint32_t))))
            return;
        runs.resize(n);
        for (SetMembers::Run &run : runs) {
            run.first = number();
            run.count = number();
        }
        auto read = SetMembers::of_runs(runs);
        if (require(read.has_value()))
            members = std::move(*read);
    }
    void operand(SetOperand &operand)
    {
        name(operand.name);
        if (number(1))
            members(operand.members.emplace());
    }
    void data(SetData &data)
    {
        for (uint32_t n = number(PMI_SET_KEYS_MAX); n > 0 && ok(); n--) {
            std::string key = text(PMI_SET_KEY_MAX);
            data[key] = text(PMI_SET_VALUE_MAX);
        }
    }
};

class SetWriter : public FieldWriter {
  public:
    using FieldWriter::FieldWriter;

    void name(const std::string &value) { text(value); }
    void members(const SetMembers &members) { append_members(bytes_, members); }
    void operand(const SetOperand &operand)
    {
        name(operand.name);
        flag(operand.members.has_value());
        if (operand.members)
            members(*operand.members);
    }
    void data(const SetData &data) { append_data(bytes_, data); }
};

}  // namespace

/* ---- the fields of each call, in their order ------------------------------------------------------------- */

template <class Codec> static void code(Codec &codec, MakeSets &call)
{
    codec.integer(call.op, PMI_SET_OP_SPLIT);
    codec.name(call.proposed);
    codec.list(call.parts, PMI_SET_OPERANDS_MAX, [&](uint32_t &part) { codec.integer(part); });
    codec.list(call.operands, PMI_SET_OPERANDS_MAX, [&](SetOperand &operand) { codec.operand(operand); });
    codec.flag(call.lookups);
}

template <class Codec> static void code(Codec &codec, MakeFromList &call)
{
    codec.name(call.proposed);
    codec.members(call.members);
    codec.flag(call.lookups);
}

/* Older libraries send no state. */
template <class Codec> static void code(Codec &codec, LookupSet &call)
{
    codec.name(call.name);
    if (codec.has_more())
        codec.flag(call.state);
}

template <class Codec> static void code(Codec &codec, ListSets &call)
{
    codec.integer(call.after);
}

template <class Codec> static void code(Codec &codec, MoveSet &call)
{
    codec.name(call.from);
    codec.name(call.to);
}

template <class Codec> static void code(Codec &codec, FreeSet &call)
{
    codec.name(call.name);
}

template <class Codec> static void code(Codec &codec, PutData &call)
{
    codec.name(call.name);
    codec.data(call.data);
}

template <class Codec> static void code(Codec &codec, GetData &call)
{
    codec.operand(call.callers);
    codec.name(call.name);
    codec.flag(call.wait);
    codec.list(call.keys, PMI_SET_KEYS_MAX, [&](std::string &key) { codec.text(key, PMI_SET_KEY_MAX); });
}

template <class Codec> static void code(Codec &codec, JoinBcast &call)
{
    codec.operand(call.callers);
    codec.integer(call.slot, PMI_SET_BCASTS_MAX - 1);
}

template <class Codec> static void code(Codec &codec, GiveText &call)
{
    codec.integer(call.slot, PMI_SET_BCASTS_MAX - 1);
    codec.text(call.text, PMI_SET_TEXT_MAX);
}

template <class Codec> static void code(Codec &codec, TakeTurn &call)
{
    codec.integer(call.slot, PMI_SET_BCASTS_MAX - 1);
    codec.wide(call.number);
}

template <class Codec> static void code(Codec &codec, RendezvousMembers &call)
{
    codec.text(call.tag, PMI_SET_TAG_MAX);
    codec.text(call.bc, PMI_SET_CARD_MAX);
    codec.members(call.members);
    codec.flag(call.knows);
}

template <class Codec> static void code(Codec &codec, MadeSet &call)
{
    codec.integer(call.number);
    codec.integer(call.op, PMI_SET_OP_INTERSECTION);
    codec.list(call.operands, PMI_SET_GRANT_OPERANDS, [&](std::string &operand) { codec.name(operand); });
    codec.members(call.members);
}

template <class Codec> static void code(Codec &codec, CountEnded &call)
{
    codec.members(call.members);
}

template <class Codec> static void code(Codec &codec, NotifyState &call)
{
    codec.members(call.members);
}

template <class Codec> static void code(Codec &, BecomeDynamic &)
{
}

template <class Codec> static void code(Codec &codec, EnterJob &call)
{
    codec.text(call.bc, PMI_SET_CARD_MAX);
}

template <class Codec> static void code(Codec &codec, AwaitAccept &call)
{
    codec.flag(call.introduced);
}

template <class Codec> static void code(Codec &, HasEntered &)
{
}

template <class Codec> static void code(Codec &codec, GetChange &call)
{
    codec.operand(call.bound);
    codec.flag(call.only_query);
    codec.text(call.bc, PMI_SET_CARD_MAX);
}

template <class Codec> static void code(Codec &codec, AcceptChange &call)
{
    codec.integer(call.tag);
    codec.data(call.keys);
}

template <class Codec> static void code(Codec &codec, DeclineChange &call)
{
    codec.integer(call.tag);
}

template <class Codec> static void code(Codec &codec, RequestOp &call)
{
    codec.name(call.bound);
    codec.integer(call.op, PMI_SET_OP_SHRINK);
    codec.integer(call.add, SetMembers::MAX);
    codec.integer(call.remove, SetMembers::MAX);
}

template <class Codec> static void code(Codec &codec, QueryOp &call)
{
    codec.operand(call.callers);
    codec.name(call.name);
}

template <class Codec> static void code(Codec &codec, CloseOp &call)
{
    codec.name(call.name);
}

template <class Codec> static void code(Codec &, QueryLeaving &)
{
}

template <class Codec> static void code(Codec &codec, AddHints &call)
{
    codec.data(call.hints);
}

/* A set of one process. */
template <class Codec> static void code(Codec &codec, QueryArrival &call)
{
    auto members = *SetMembers::of_list(std::span(&call.uid, 1));
    codec.members(members);
    call.uid = codec.require(members.size() == 1) ? members.greatest() : 0;
    codec.wide(call.creation);
}

std::optional<SetCall> parse_set_call(Bytes call)
{
    SetReader reader(call);
    return parse_kind<SetCall>(reader.number(), reader);
}

std::optional<ChangeCall> parse_change_call(Bytes call)
{
    SetReader reader(call);
    return parse_kind<ChangeCall>(reader.number(), reader);
}

std::string write_set_call(const SetCall &call)
{
    return write_kind<SetWriter>(call);
}

std::string write_set_call(const ChangeCall &call)
{
    return write_kind<SetWriter>(call);
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
