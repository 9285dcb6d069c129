/*
 * Checksums of events and snapshots in the store (Fowler, Noll and Vo, 32 bits), over the number
 * and the body of each row.
 */

#ifndef ELASTIC_RM_STORE_CHECKSUM_H_INCLUDED
#define ELASTIC_RM_STORE_CHECKSUM_H_INCLUDED

#include <cstdint>
#include <string_view>

namespace elastic::rm {

inline int64_t sum_of(uint64_t seq, std::string_view body)
{
    uint32_t sum = 2166136261u;
    auto add = [&sum](unsigned char byte) { sum = (sum ^ byte) * 16777619u; };
    for (int shift = 0; shift < 64; shift += 8)
        add(static_cast<unsigned char>(seq >> shift));
    for (char c : body)
        add(static_cast<unsigned char>(c));
    return sum;
}

/* For one part of a snapshot. */
inline int64_t sum_of(uint64_t seq, uint64_t number, std::string_view body)
{
    return sum_of(seq + (number << 40), body);
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STORE_CHECKSUM_H_INCLUDED */
