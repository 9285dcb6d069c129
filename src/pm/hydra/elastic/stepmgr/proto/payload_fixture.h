/* Tests that read payloads. */

#ifndef ELASTIC_PAYLOAD_FIXTURE_H_INCLUDED
#define ELASTIC_PAYLOAD_FIXTURE_H_INCLUDED

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace elastic {

/* The u32 that begins at byte `at`. */
inline uint32_t number_at(const std::string &payload, size_t at)
{
    uint32_t number = 0;
    EXPECT_LE(at + sizeof number, payload.size());
    std::memcpy(&number, payload.data() + at, sizeof number);
    return number;
}

}  // namespace elastic

#endif /* ELASTIC_PAYLOAD_FIXTURE_H_INCLUDED */
