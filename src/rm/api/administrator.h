/* Requests that only administrators may send. */

#ifndef ELASTIC_RM_API_ADMINISTRATOR_H_INCLUDED
#define ELASTIC_RM_API_ADMINISTRATOR_H_INCLUDED

#include "http/access.h"
#include "http/body_reader.h"

namespace elastic::rm {

/* Throws for all other callers; `what` names the operation: "drain nodes". */
inline void check_administrator(const Caller &caller, const char *what)
{
    if (!caller.administrator)
        throw ApiError{403, "forbidden", std::string("only administrators ") + what};
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_API_ADMINISTRATOR_H_INCLUDED */
