/* See dynproc_seal.h. */

#include "dynproc_seal.h"
#include <string.h>

static uint64_t read_word(const unsigned char *bytes, size_t n)
{
    uint64_t word = 0;

    for (size_t i = 0; i < n; i++)
        word |= (uint64_t) bytes[i] << (8 * i);
    return word;
}

static void write_word(unsigned char *bytes, uint64_t word)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char) (word >> (8 * i));
}

static uint64_t turn(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
    while (rounds--) {
        v[0] += v[1];
        v[1] = turn(v[1], 13) ^ v[0];
        v[0] = turn(v[0], 32);
        v[2] += v[3];
        v[3] = turn(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = turn(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = turn(v[1], 17) ^ v[2];
        v[2] = turn(v[2], 32);
    }
}

static void take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v, 2);
    v[0] ^= word;
}

void MPIR_Dynproc_seal(const unsigned char secret[MPIR_DYNPROC_SEAL], const void *message, size_t n,
                       unsigned char seal[MPIR_DYNPROC_SEAL])
{
    const unsigned char *bytes = message;
    uint64_t k0 = read_word(secret, 8), k1 = read_word(secret + 8, 8);
    uint64_t v[4] = { k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du ^ 0xee,
        k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u
    };
    size_t left = n;

    for (; left >= 8; left -= 8, bytes += 8)
        take(v, read_word(bytes, 8));
    take(v, read_word(bytes, left) | (uint64_t) n << 56);
    v[2] ^= 0xee;
    mix(v, 4);
    write_word(seal, v[0] ^ v[1] ^ v[2] ^ v[3]);
    v[1] ^= 0xdd;
    mix(v, 4);
    write_word(seal + 8, v[0] ^ v[1] ^ v[2] ^ v[3]);
}

int MPIR_Dynproc_same(const unsigned char *one, const unsigned char *other, size_t n)
{
    unsigned char difference = 0;

    for (size_t i = 0; i < n; i++)
        difference |= one[i] ^ other[i];
    return !difference;
}
