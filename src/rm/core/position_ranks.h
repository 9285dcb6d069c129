/*
 * The order of positions of nodes (free_cores.h), each once, without sorting: positions are marked,
 * then counted; the rank of each is the number of marked ones before it.
 */

#ifndef ELASTIC_RM_CORE_POSITION_RANKS_H_INCLUDED
#define ELASTIC_RM_CORE_POSITION_RANKS_H_INCLUDED

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace elastic::rm {

class PositionRanks {
  public:
    /* For positions below this number. */
    explicit PositionRanks(size_t positions) : words_(positions / 64 + 1) {}

    /* Returns whether it was not marked before. */
    bool mark(uint32_t position)
    {
        uint64_t &bits = words_[position / 64].bits, before = bits;
        bits |= bit(position);
        return bits != before;
    }
    /* Ends the marking; returns the number of marked positions. */
    size_t count()
    {
        size_t sum = 0;
        for (Word &word : words_) {
            word.before = static_cast<uint32_t>(sum);
            sum += static_cast<size_t>(std::popcount(word.bits));
        }
        return sum;
    }
    /* 0, 1, 2, ... among the marked positions. */
    size_t rank(uint32_t position) const
    {
        const Word &word = words_[position / 64];
        return word.before + static_cast<size_t>(std::popcount(word.bits & (bit(position) - 1)));
    }

  private:
    struct Word {
        uint64_t bits = 0;
        uint32_t before = 0;
    };
    static uint64_t bit(uint32_t position) { return uint64_t{1} << position % 64; }

    std::vector<Word> words_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POSITION_RANKS_H_INCLUDED */
