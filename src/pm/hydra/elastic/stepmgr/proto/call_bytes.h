/*
 * The bytes of calls that processes make (pmi_adapt_set.h): numbers and texts, taken from the front with every length
 * checked, and appended.  Pure.
 *
 * Each call has one list of its fields, code(CODEC &, CALL &), with which FieldReader reads it, and FieldWriter writes
 * it for tests.
 */

#ifndef ELASTIC_CALL_BYTES_H_INCLUDED
#define ELASTIC_CALL_BYTES_H_INCLUDED

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <variant>

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

class FieldReader : public CallBytes {
  public:
    using CallBytes::CallBytes;
    using CallBytes::text;

    template <class Number> void integer(Number &value, uint32_t max = UINT32_MAX)
    {
        value = static_cast<Number>(number(max));
    }
    void flag(bool &value) { value = number(1) == 1; }
    void wide(uint64_t &value)
    {
        uint64_t low = number();
        value = static_cast<uint64_t>(number()) << 32 | low;
    }
    void text(std::string &value, size_t max) { value = text(max); }
    template <class List, class Code> void list(List &list, uint32_t max, const Code &code)
    {
        for (uint32_t n = number(max); n > 0 && ok(); n--)
            code(list.emplace_back());
    }
    /* All that follows, if `read` reads it. */
    template <class Read> void rest(std::string &value, const Read &read)
    {
        Bytes bytes = left();
        read(*this);
        value.assign(bytes.begin(), bytes.end());
    }
    bool has_more() const { return !left().empty(); }
};

class FieldWriter {
  public:
    explicit FieldWriter(std::string &bytes) : bytes_(bytes) {}

    void integer(size_t value, uint32_t = 0) { append_number(bytes_, value); }
    void flag(bool value) { integer(value); }
    void wide(uint64_t value)
    {
        integer(value);
        integer(value >> 32);
    }
    void text(const std::string &value, size_t = 0) { append_text(bytes_, value); }
    template <class List, class Code> void list(List &list, uint32_t, const Code &code)
    {
        integer(list.size());
        for (auto &element : list)
            code(element);
    }
    template <class Read> void rest(const std::string &value, const Read &) { bytes_ += value; }
    bool has_more() const { return true; }
    bool require(bool holds) const { return holds; }

  protected:
    std::string &bytes_;
};

/* The alternative of `Any` that has this kind, if it is well-formed and nothing follows. */
template <class Any, class Reader, size_t Index = 0>
std::optional<Any> parse_kind(uint32_t kind, Reader &reader)
{
    if constexpr (Index == std::variant_size_v<Any>) {
        return std::nullopt;
    } else if (std::variant_alternative_t<Index, Any> call; kind == call.KIND) {
        code(reader, call);
        return reader.complete() ? std::optional<Any>(std::move(call)) : std::nullopt;
    } else {
        return parse_kind<Any, Reader, Index + 1>(kind, reader);
    }
}

template <class Writer, class Any> std::string write_kind(const Any &any)
{
    std::string bytes;
    Writer writer(bytes);
    std::visit([&](auto call) { writer.integer(call.KIND), code(writer, call); }, any);
    return bytes;
}

}  // namespace elastic

#endif /* ELASTIC_CALL_BYTES_H_INCLUDED */
