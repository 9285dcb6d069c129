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
    uint32_t id = 0;            /* number of the call, counted by that process */
    uint64_t proxy_id = 0;         /* of its proxy; an opaque number */
};
struct SetReply {
    SetCaller caller;
    std::string answer;
    /* other processes of the same proxy that may get this reply too, as long as it may be cached */
    std::vector<uint32_t> others = {};
    std::vector<uint32_t> bcs = {};     /* uids of the processes whose business cards it contains */
};

}  // namespace elastic

#endif /* ELASTIC_CALL_REPLY_H_INCLUDED */
