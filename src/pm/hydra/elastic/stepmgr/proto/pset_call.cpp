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

std::optional<SetCall> parse_set_call(Bytes call)
{
    return parse_call<SetCall>(call);
}

std::optional<ChangeCall> parse_change_call(Bytes call)
{
    return parse_call<ChangeCall>(call);
}

std::string write_set_call(const SetCall &call)
{
    return write_call(call);
}

std::string write_set_call(const ChangeCall &call)
{
    return write_call(call);
}

/* ---- answers --------------------------------------------------------------------------------- */

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
