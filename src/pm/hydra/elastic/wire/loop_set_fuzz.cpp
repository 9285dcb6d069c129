/* Arbitrary bytes as the board of a process, and as messages of a proxy: refused, or merged,
 * written and read again without loss.  SPEC-performance B6. */

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "wire/loop_set.h"

namespace {

void require(bool condition)
{
    if (!condition)
        abort();
}

std::string write(const loop_set &set)
{
    std::string bytes(loop_set_bytes(&set), '\0');
    loop_set_write(&set, bytes.data());
    return bytes;
}

void as_board(const uint8_t *data, size_t size)
{
    auto shared = std::make_unique<pmi_adapt_graph>(), graph = std::make_unique<pmi_adapt_graph>();
    /* small numbers of nodes and loops, so that the bytes reach the loops, too */
    size_t nodes = size > 0 ? data[0] % 24 : 0, at = sizeof shared->seq + sizeof shared->summary;
    if (size > 0)
        std::memcpy(&shared->summary, data, std::min(size, sizeof shared->summary));
    shared->summary.nodes = static_cast<uint32_t>(nodes);
    shared->summary.loops = size > 1 ? data[1] % 6 : 0;
    size_t used = std::min(size, nodes * sizeof shared->node[0]);
    std::memcpy(reinterpret_cast<char *>(shared.get()) + at, data, used);
    std::memcpy(shared->loop, data + used, std::min(size - used, sizeof shared->loop));
    if (!pmi_adapt_read_graph(shared.get(), graph.get()))
        return;
    loop_reduction *reduction = loop_reduction_create();
    bool sound = loop_reduction_add(reduction, graph.get(), 3);
    require(sound == loop_graph_is_sound(graph.get()));
    if (sound)
        require(loop_reduction_add(reduction, graph.get(), 4));
    const loop_set *result = loop_reduction_result(reduction);
    std::string bytes = write(*result);
    loop_set read;
    loop_set_init(&read);
    require(loop_set_read(&read, bytes.data(), bytes.size()));
    require(write(read) == bytes);
    loop_set_free(&read);
    loop_reduction_destroy(reduction);
}

void as_report(const uint8_t *data, size_t size)
{
    loop_set set, twice;
    loop_set_init(&set);
    if (!loop_set_read(&set, data, size))
        return;
    require(write(set) == std::string(reinterpret_cast<const char *>(data), size) || set.loops > 0);
    loop_set_init(&twice);
    loop_set_merge(&twice, &set);
    loop_set_merge(&twice, &set);
    require(twice.loops == set.loops);
    loop_set_renumber(
        &twice, 64, [](void *, uint32_t rank) -> int64_t { return rank % 3 ? rank : -1; }, nullptr);
    loop_set_join_alone(&twice, 64);
    loop_set_free(&twice);
    loop_set_free(&set);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    as_board(data, size);
    as_report(data, size);
    return 0;
}
