/*
 * Calls of processes on sets, which are generated (messages/calls.h), and the replies to them, as
 * bytes.  Reading checks every length, count and character first, because the program wrote them.
 * ChangeCall: calls that the step handles, not the table of sets (pset_changes.h,
 * process_sets.cpp).
 */

#ifndef ELASTIC_PSET_CALL_H_INCLUDED
#define ELASTIC_PSET_CALL_H_INCLUDED

#include <optional>
#include <string>

#include "messages/calls.h"
#include "stepmgr/common/bytes.h"
#include "stepmgr/common/pset_members.h"

namespace elastic {

/* Nothing: the call is malformed, or is of the other kind. */
std::optional<SetCall> parse_set_call(Bytes call);
std::optional<ChangeCall> parse_change_call(Bytes call);
/* The reverse, for tests. */
std::string write_set_call(const SetCall &call);
std::string write_set_call(const ChangeCall &call);

void append_members(std::string &bytes, const SetMembers &members);

/* A reply under construction; its code is already written. */
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
