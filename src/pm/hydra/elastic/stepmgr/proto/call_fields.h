/*
 * Types of fields of calls (src/pmi/messages.txt) that are more than a number or a text.
 */

#ifndef ELASTIC_CALL_FIELDS_H_INCLUDED
#define ELASTIC_CALL_FIELDS_H_INCLUDED

#include <map>
#include <optional>
#include <string>

#include "stepmgr/common/pset_members.h"

namespace elastic {

struct SetOperand {
    std::string name;
    std::optional<SetMembers> members;  /* what the name means to the caller */
};

using SetData = std::map<std::string, std::string>;

}  // namespace elastic

#endif /* ELASTIC_CALL_FIELDS_H_INCLUDED */
