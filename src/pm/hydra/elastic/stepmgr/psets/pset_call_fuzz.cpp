/*
 * Fuzzing of calls on process sets: each message of a process gets one reply or waits, and a
 * well-formed call is encoded to the same bytes.  The first byte selects the process.  The table of
 * sets is small, so that its bounds are reached.
 */

#include <cstdlib>
#include <utility>

#include "stepmgr/psets/psets.h"

namespace {

constexpr uint32_t PROCESSES = 6;

/* Two calls in one input, each with its length in front, so that one may query a set that the other
 * has made. */
std::pair<elastic::Bytes, elastic::Bytes> cut(elastic::Bytes bytes)
{
    size_t n = bytes.empty() ? 0 : std::min<size_t>(bytes[0] * 2, bytes.size() - 1);
    return {bytes.subspan(bytes.empty() ? 0 : 1, n), bytes.subspan(bytes.empty() ? 0 : 1 + n)};
}

void require(bool holds)
{
    if (!holds)
        abort();
}

template <class Parse> void check_written_again(elastic::Bytes call, Parse parse)
{
    auto parsed = parse(call);
    if (!parsed)
        return;
    std::string again = elastic::write_set_call(*parsed);
    auto twice = parse({reinterpret_cast<const unsigned char *>(again.data()), again.size()});
    require(twice && elastic::write_set_call(*twice) == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    elastic::Sets sets({.sets = 4, .data = 64, .runs = 16, .operands_runs = 8, .rounds = 2});
    sets.grow(PROCESSES);
    elastic::Bytes rest(data, size);
    size_t requested = 0, answered = 0;
    for (uint32_t id = 1; id < 20 && !rest.empty(); id++) {
        auto [call, next] = cut(rest);
        rest = next;
        check_written_again(call, elastic::parse_set_call);
        check_written_again(call, elastic::parse_change_call);
        requested++;
        answered += sets.call({id % PROCESSES, id}, call).size();
        require(answered <= requested);
    }
    for (uint32_t uid = 0; uid < PROCESSES; uid++)
        answered += sets.ended(uid).size();
    require(answered <= requested);
    return 0;
}
