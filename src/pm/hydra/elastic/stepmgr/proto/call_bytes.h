/*
 * The bytes of calls that processes make (pmi_adapt_set.h): numbers and texts, taken from the front with every length
 * checked, and appended.  Pure.
 */

#ifndef ELASTIC_CALL_BYTES_H_INCLUDED
#define ELASTIC_CALL_BYTES_H_INCLUDED

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "stepmgr/common/bytes.h"
#include "pmi_adapt_set.h"

namespace elastic {

/* Once something is wrong, ok() is false for good and what is taken is empty. */
class CallBytes {
  public:
    explicit CallBytes(Bytes bytes) : bytes_(bytes), ok_(bytes.size() <= PMI_SET_CALL_MAX) {}

    uint32_t number(uint32_t max = UINT32_MAX)
    {
        uint32_t value = 0;
        Bytes raw = take(sizeof value);
        if (ok_)
            std::memcpy(&value, raw.data(), sizeof value);
        return require(value <= max) ? value : 0;
    }
    std::string text(size_t max)
    {
        Bytes raw = take(number());
        require(raw.size() <= max && std::ranges::find(raw, '\0') == raw.end());
        return ok_ ? std::string(raw.begin(), raw.end()) : std::string();
    }
    bool require(bool holds) { return ok_ = ok_ && holds; }
    Bytes left() const { return bytes_; }
    bool ok() const { return ok_; }
    bool complete() const { return ok_ && bytes_.empty(); }

  private:
    Bytes take(size_t n)
    {
        if (!require(n <= bytes_.size()))
            return {};
        Bytes front = bytes_.first(n);
        bytes_ = bytes_.subspan(n);
        return front;
    }

    Bytes bytes_;
    bool ok_;
};

inline void append_number(std::string &bytes, size_t value)
{
    auto number = static_cast<uint32_t>(value);
    bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
}

inline void append_text(std::string &bytes, const std::string &text)
{
    append_number(bytes, text.size());
    bytes += text;
}

}  // namespace elastic

#endif /* ELASTIC_CALL_BYTES_H_INCLUDED */
