/* Errors of the system that are no fault of the caller's arguments, and pass. */

#ifndef ELASTIC_RM_BASE_LACKS_RESOURCE_H_INCLUDED
#define ELASTIC_RM_BASE_LACKS_RESOURCE_H_INCLUDED

#include <cerrno>

namespace elastic::rm {

/* This process or the system has no descriptors, memory, processes or disk space left. */
inline bool lacks_resource(int code)
{
    switch (code) {
        case EMFILE:
        case ENFILE:
        case ENOMEM:
        case ENOBUFS:
        case EAGAIN:
        case ENOSPC:
        case EDQUOT: return true;
        default: return false;
    }
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_BASE_LACKS_RESOURCE_H_INCLUDED */
