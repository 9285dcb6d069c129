/*
 * Types of fields of messages (src/pmi/messages.txt) that are more than a number or a text, and
 * conditions on fields.
 */

#ifndef ELASTIC_CALL_FIELDS_H_INCLUDED
#define ELASTIC_CALL_FIELDS_H_INCLUDED

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "stepmgr/common/pset_members.h"

namespace elastic {

struct SetOperand {
    std::string name;
    std::optional<SetMembers> members;  /* the members that the caller has for this name */
};

using SetData = std::map<std::string, std::string>;

/* Printable characters without blanks. */
bool is_plain(const std::string &text);
/* The number of a probe or call that can be reached. */
bool is_ceiling(uint64_t number);

}  // namespace elastic

#endif /* ELASTIC_CALL_FIELDS_H_INCLUDED */
