/* See loops.h. */

#include "stepmgr/proto/loops.h"

#include <algorithm>

#include "base/change.h"

namespace elastic {

namespace {

const char *name_of(uint32_t kind)
{
    switch (static_cast<loop_kind>(kind)) {
        case LOOP_P2P: return "p2p";
        case LOOP_COLLECTIVE: return "collective";
        case LOOP_IO: return "io";
        case LOOP_MANAGE: return "manage";
        case LOOP_PROBE: return "probe";
        case LOOP_ELASTIC_PHASE: return "elastic_phase";
        case LOOP_RIGID_PHASE: return "rigid_phase";
        case LOOP_RMA:
        case LOOP_KINDS: break;
    }
    return "?";
}

std::string name_of_key(const LoopSet &set, uint64_t key)
{
    for (const loop &other : set.loops()) {
        if (other.key == key && is_elastic(other))
            return "probe";
    }
    char text[17];
    snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(key));
    return text;
}

std::string ranks_of(const loop &loop)
{
    std::string text;
    for (uint32_t i = 0; i < loop.ranges && text.size() <= RANKS_TOLD_BYTES_MAX; i++) {
        const loop_ranks &range = loop.range[i];
        text += (i > 0 ? "," : "") + std::to_string(range.first);
        if (range.last > range.first)
            text += "-" + std::to_string(range.last);
    }
    return shorten(std::move(text), RANKS_TOLD_BYTES_MAX);
}

Json ratio(uint32_t ppm)
{
    return static_cast<double>(ppm) / LOOP_PPM;
}

Json describe(const LoopSet &set, const loop &loop)
{
    Json items = Json::array();
    for (size_t i = 0; i < std::min<size_t>(loop.items, ITEMS_TOLD_MAX); i++)
        items.push_back(name_of(loop.item[i].kind));
    bool known = loop.ratio_min != LOOP_NO_RATIO;
    return {{"key", name_of_key(set, loop.key)},
            {"name", loop.name},
            {"parent", loop.parent == 0 ? Json() : Json(name_of_key(set, loop.parent))},
            {"ranks", ranks_of(loop)},
            {"processes", loop_processes(&loop)},
            {"items", items},
            {"items_total", loop.items},
            {"iterations", loop.iterations},
            {"loop_us", loop.loop_ns / 1000},
            {"mpi_us", loop.mpi_ns / 1000},
            {"ratio_min", known ? ratio(loop.ratio_min) : Json()},
            {"ratio_max", known ? ratio(loop.ratio_max) : Json()}};
}

}  // namespace

std::optional<LoopSet> LoopSet::read(Bytes bytes)
{
    LoopSet set;
    if (!loop_set_read(&set.set_, bytes.data(), bytes.size()))
        return std::nullopt;
    return set;
}

std::string LoopSet::write() const
{
    std::string bytes(loop_set_bytes(&set_), '\0');
    loop_set_write(&set_, bytes.data());
    return bytes;
}

void LoopSet::renumber(uint32_t limit, const std::function<int64_t(uint32_t)> &number)
{
    auto call = [](void *context, uint32_t rank) -> int64_t {
        return (*static_cast<const std::function<int64_t(uint32_t)> *>(context))(rank);
    };
    loop_set_renumber(&set_, limit, call, const_cast<std::function<int64_t(uint32_t)> *>(&number));
}

bool is_elastic(const loop &loop)
{
    return loop.item[0].kind == LOOP_PROBE;
}

const loop *find_phase(const LoopSet &set, uint64_t id)
{
    for (const loop &loop : set.loops()) {
        bool phase =
            loop.item[0].kind == LOOP_ELASTIC_PHASE || loop.item[0].kind == LOOP_RIGID_PHASE;
        if (phase && loop.item[0].id == id)
            return &loop;
    }
    return nullptr;
}

Json describe_inner_loops(const LoopSet &set)
{
    std::vector<const loop *> by_time;
    for (const loop &loop : set.loops()) {
        if (!is_elastic(loop))
            by_time.push_back(&loop);
    }
    std::stable_sort(by_time.begin(), by_time.end(),
                     [](const loop *a, const loop *b) { return a->loop_ns > b->loop_ns; });
    Json notified = Json::array();
    for (size_t i = 0; i < std::min(by_time.size(), LOOPS_TOLD_MAX); i++)
        notified.push_back(describe(set, *by_time[i]));
    return notified;
}

}  // namespace elastic
