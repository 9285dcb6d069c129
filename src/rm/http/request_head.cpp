/* See http_server.h: what elasticd itself reads in the head of a request. */

#include <strings.h>

#include <cstring>

#include "core/fields.h"
#include "http/http_server.h"

namespace elastic::rm {

std::string header_of(MHD_Connection *connection, const char *name)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value ? value : "";
}

HttpResponse refusal_of(int status, const char *code, const char *message)
{
    Json error = {{"code", code}, {"message", message}};
    HttpResponse response{status, "application/json", Json{{"error", error}}.dump() + "\n", {}};
    response.headers["Connection"] = "close";
    if (status == 429 || status == 503)
        response.headers["Retry-After"] = "1";
    return response;
}

/* A proxy may see another end of such a request than libmicrohttpd does; and libmicrohttpd 0.9.75
 * polls without end for a long line of chunked data. */
std::optional<HttpResponse> why_length_is_unusable(MHD_Connection *connection)
{
    if (!header_of(connection, "Transfer-Encoding").empty())
        return refusal_of(411, "syntax",
                          "this server reads no Transfer-Encoding: send Content-Length instead");
    struct Names {
        int lengths = 0;
        bool have_blanks = false;
    } names;
    auto read = [](void *context, MHD_ValueKind, const char *name, const char *) {
        auto *seen = static_cast<Names *>(context);
        seen->lengths += strcasecmp(name, "Content-Length") == 0;
        seen->have_blanks = seen->have_blanks || name[strcspn(name, " \t")];
        return MHD_YES;
    };
    MHD_get_connection_values(connection, MHD_HEADER_KIND, read, &names);
    if (names.lengths > 1)
        return refusal_of(400, "syntax", "the request has two lengths: send Content-Length once");
    if (names.have_blanks)
        return refusal_of(400, "syntax", "the name of a header has a blank: leave it out");
    return std::nullopt;
}

}  // namespace elastic::rm
