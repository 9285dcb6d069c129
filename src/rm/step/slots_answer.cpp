/* See slots_answer.h. */

#include "step/slots_answer.h"

#include "step/field_rules.h"
#include "step/step_message.h"

namespace elastic::rm {

namespace {

constexpr size_t NAME_MAX_BYTES = 255;

struct Head {
    std::string step;
    uint64_t reported = 0, granted = 0;
};
const FieldRules<Head> HEAD = {
    {"step", &Head::step, REQUIRED, REQUEST_MPIEXEC_BYTES_MAX},
    {"told", &Head::reported, REQUIRED, STEP_NUMBER_MAX},
    {"granted", &Head::granted, REQUIRED, STEP_NUMBER_MAX},
};

struct Host {
    std::string name;
    uint64_t extra_slots = 0;
    bool exclusive = false;
};
const FieldRules<Host> HOST = {
    {"name", &Host::name, REQUIRED, NAME_MAX_BYTES},
    {"places", &Host::extra_slots, REQUIRED, SLOTS_MAX},
    {"exclusive", &Host::exclusive, OPTIONAL, 0},
};

struct SlotRequestRow {
    uint64_t size_request = 0, count = 0;
    bool hard = false, exclusive = false;
};
const FieldRules<SlotRequestRow> REQUEST = {
    {"wish", &SlotRequestRow::size_request, REQUIRED, STEP_NUMBER_MAX},
    {"count", &SlotRequestRow::count, REQUIRED, SLOTS_MAX},
    {"hard", &SlotRequestRow::hard, REQUIRED, 0},
    {"exclusive", &SlotRequestRow::exclusive, OPTIONAL, 0},
};

struct Spawned {
    std::string name;
    uint64_t processes = 0;
};
const FieldRules<Spawned> SPAWNED = {
    {"name", &Spawned::name, REQUIRED, NAME_MAX_BYTES},
    {"processes", &Spawned::processes, REQUIRED, REQUEST_SIZE_MAX},
};

/* The members of a list, each read by these rules; empty, or the error. */
template <class Item, class Take>
std::string read_list(const Json &line, const char *name, const FieldRules<Item> &rules, Take take,
                      size_t most = SLOTS_MAX)
{
    auto list = line.find(name);
    if (list == line.end() || !list->is_array() || list->size() > most)
        return "slots: field '" + std::string(name) + "' must be a list of bounded length";
    for (const Json &json : *list) {
        Item item;
        if (!json.is_object())
            return "slots: a member of '" + std::string(name) + "' is not an object";
        if (std::string wrong = read_fields(json, rules, item); !wrong.empty())
            return "slots: " + wrong;
        take(json, item);
    }
    return "";
}

/* At most one; empty: any. */
std::string host_of(const Json &size_request)
{
    auto hosts = size_request.find("hosts");
    bool named = hosts != size_request.end() && hosts->is_array() && hosts->size() == 1 &&
                 (*hosts)[0].is_string() &&
                 (*hosts)[0].get_ref<const std::string &>().size() <= NAME_MAX_BYTES;
    return named ? (*hosts)[0].get<std::string>() : "";
}

}  // namespace

Result<StepSlots> read_slots(const Json &line)
{
    StepSlots slots;
    Head head;
    if (std::string wrong = read_fields(line, HEAD, head); !wrong.empty())
        return Error{"slots: " + wrong};
    slots.mpiexec = head.step;
    slots.reported = head.reported;
    slots.granted = head.granted;
    std::string wrong = read_list(line, "hosts", HOST, [&](const Json &, const Host &host) {
        slots.held.push_back({host.name, static_cast<int>(host.extra_slots), host.exclusive});
    });
    if (wrong.empty())
        wrong = read_list(
            line, "wishes", REQUEST, [&](const Json &json, const SlotRequestRow &size_request) {
                slots.slot_requests.push_back(
                    {size_request.size_request, static_cast<int>(size_request.count),
                     size_request.hard, host_of(json), NEVER, "", size_request.exclusive});
            });
    auto add_spawned = [&](const Json &, const Spawned &spawned) {
        slots.spawned.push_back({spawned.name, static_cast<int>(spawned.processes)});
    };
    if (wrong.empty() && line.contains("spawned"))      /* an older mpiexec has none */
        wrong = read_list(line, "spawned", SPAWNED, add_spawned, SPAWNED_NODES_MAX);
    if (!wrong.empty())
        return Error{wrong};
    return slots;
}

}  // namespace elastic::rm
