/* libFuzzer: any bytes as a request line; each gets an answer that is one JSON object on one
 * line. */

#include <cstdlib>
#include <string_view>

#include "stepmgr/proto/protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    using namespace elastic;
    auto parsed = parse_request({reinterpret_cast<const char *>(data), size});
    const auto *error = std::get_if<ProtocolError>(&parsed);
    std::string answer = error ? write_error(*error)
                               : write_answer(std::get<ClientRequest>(parsed).id, Json::object());
    if (answer.find('\n') != std::string::npos || !Json::parse(answer, nullptr, false).is_object())
        abort();
    return 0;
}
