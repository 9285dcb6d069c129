/*
 * The caller of a call that a process makes (pmi_adapt_set.h), and the reply to it.
 */

#ifndef ELASTIC_CALL_REPLY_H_INCLUDED
#define ELASTIC_CALL_REPLY_H_INCLUDED

#include <cstdint>
#include <string>
#include <vector>

namespace elastic {

/* A process that has made a call, to which it gets one reply. */
struct SetCaller {
    uint32_t uid = 0;
    uint32_t id = 0;            /* among the questions of that process */
    uint64_t proxy_id = 0;         /* its proxy, whatever the number means */
};
struct SetReply {
    SetCaller caller;
    std::string answer;
    /* processes of its proxy to whom it may give the same answer, too, as long as they may cache
     * such answers */
    std::vector<uint32_t> others = {};
    std::vector<uint32_t> bcs = {};     /* whose business cards are in it */
};

}  // namespace elastic

#endif /* ELASTIC_CALL_REPLY_H_INCLUDED */
