/*
 * Runs the stored events through a fresh core and compares the records with the stored ones: the
 * same events must give the same decisions, sizes and states.  The texts of reasons are not
 * compared.  For tests, and for `elasticd --replay`, which checks a store.
 */

#ifndef ELASTIC_RM_REPLAY_H_INCLUDED
#define ELASTIC_RM_REPLAY_H_INCLUDED

#include "store/store.h"

namespace elastic::rm {

struct Replay {
    uint64_t events = 0, records = 0;
    std::string difference;     /* empty: none */
};

Result<Replay> replay(Store &store);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_REPLAY_H_INCLUDED */
