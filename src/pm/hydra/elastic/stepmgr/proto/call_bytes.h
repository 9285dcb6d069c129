/*
 * The bytes of calls of processes (pmi_adapt_set.h) and of reports of proxies: numbers and texts,
 * taken from the front with every length checked, and appended.  Pure.
 *
 * Each of them lists its fields to a codec (messages/calls.h and reports.h, which are generated):
 * FieldReader reads them, and FieldWriter writes them for tests.
 */

#ifndef ELASTIC_CALL_BYTES_H_INCLUDED
#define ELASTIC_CALL_BYTES_H_INCLUDED

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/change.h"
#include "stepmgr/common/bytes.h"
#include "stepmgr/proto/call_fields.h"
#include "pmi_adapt_set.h"

namespace elastic {

/* After the first error ok() stays false, and all further reads return empty values. */
class CallBytes {
  public:
    explicit CallBytes(Bytes bytes, size_t max = PMI_SET_CALL_MAX)
        : bytes_(bytes), ok_(bytes.size() <= max)
    {}

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

  protected:
    Bytes take(size_t n)
    {
        if (!require(n <= bytes_.size()))
            return {};
        Bytes front = bytes_.first(n);
        bytes_ = bytes_.subspan(n);
        return front;
    }

  private:
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

void append_members(std::string &bytes, const SetMembers &members);  /* pset_call.cpp */

inline void append_data(std::string &bytes, const SetData &data)
{
    append_number(bytes, data.size());
    for (const auto &[key, value] : data) {
        append_text(bytes, key);
        append_text(bytes, value);
    }
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
    template <class Value> void raw(Value &value)
    {
        Bytes bytes = take(sizeof value);
        if (ok())
            std::memcpy(&value, bytes.data(), sizeof value);
    }
    void text(std::string &value, size_t max) { value = text(max); }
    /* All bytes that follow. */
    void bytes(std::string &value, size_t max)
    {
        require(left().size() <= max);
        Bytes all = take(left().size());
        value.assign(all.begin(), all.end());
    }
    /* ... as a text for people: control characters are replaced. */
    void line(std::string &value, size_t max)
    {
        bytes(value, max);
        value = printable(value, Charset::ASCII);
    }
    template <class Code> void array(auto &elements, const Code &code)
    {
        while (!left().empty() && ok())
            code(elements.emplace_back());
    }
    template <class List, class Code> void list(List &list, uint32_t max, const Code &code)
    {
        for (uint32_t n = number(max); n > 0 && ok(); n--)
            code(list.emplace_back());
    }
    void members(SetMembers &members)
    {
        size_t n = number();
        std::vector<SetMembers::Run> runs;
        if (!require(n <= left().size() / (2 * sizeof(uint32_t))))
            return;
        runs.resize(n);
        for (SetMembers::Run &run : runs) {
            run.first = number();
            run.count = number();
        }
        auto read = SetMembers::of_runs(runs);
        if (require(read.has_value()))
            members = std::move(*read);
    }
    void process(uint32_t &uid)
    {
        SetMembers one;
        members(one);
        uid = require(one.size() == 1) ? one.greatest() : 0;
    }
    void operand(SetOperand &operand)
    {
        text(operand.name, PMI_SET_NAME_MAX);
        if (number(1))
            members(operand.members.emplace());
    }
    void data(SetData &data)
    {
        for (uint32_t n = number(PMI_SET_KEYS_MAX); n > 0 && ok(); n--) {
            std::string key = text(PMI_SET_KEY_MAX);
            data[key] = text(PMI_SET_VALUE_MAX);
        }
    }
    /* Executable and arguments. */
    void command(std::vector<std::string> &argv, uint32_t max)
    {
        text(argv.emplace_back(), PMI_TASK_TEXT_MAX);
        require(!argv.front().empty());
        list(argv, max, [&](std::string &argument) { text(argument, PMI_TASK_TEXT_MAX); });
    }
    /* All bytes that follow, if they are a command: passed on unchanged. */
    void program(std::string &bytes)
    {
        Bytes all = left();
        std::vector<std::string> argv;
        command(argv, PMI_TASK_ARGUMENTS_MAX);
        bytes.assign(all.begin(), all.end());
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
    template <class Value> void raw(const Value &value)
    {
        bytes_.append(reinterpret_cast<const char *>(&value), sizeof value);
    }
    void text(const std::string &value, size_t = 0) { append_text(bytes_, value); }
    void bytes(const std::string &value, size_t) { bytes_ += value; }
    void line(const std::string &value, size_t) { bytes_ += value; }
    template <class Code> void array(auto &elements, const Code &code)
    {
        for (auto &element : elements)
            code(element);
    }
    template <class List, class Code> void list(List &list, uint32_t, const Code &code)
    {
        integer(list.size());
        for (auto &element : list)
            code(element);
    }
    void members(const SetMembers &members) { append_members(bytes_, members); }
    void process(uint32_t uid) { members(*SetMembers::of_list(std::span(&uid, 1))); }
    void operand(const SetOperand &operand)
    {
        text(operand.name);
        flag(operand.members.has_value());
        if (operand.members)
            members(*operand.members);
    }
    void data(const SetData &data) { append_data(bytes_, data); }
    void command(const std::vector<std::string> &argv, uint32_t)
    {
        text(argv.at(0));
        integer(argv.size() - 1);
        for (size_t i = 1; i < argv.size(); i++)
            text(argv[i]);
    }
    void program(const std::string &bytes) { bytes_ += bytes; }
    bool has_more() const { return true; }
    bool require(bool holds) const { return holds; }

  private:
    std::string &bytes_;
};

/* Reads the alternative of `Any` that has this kind.  Nothing: it is malformed, or bytes follow. */
template <class Any, size_t Index = 0>
std::optional<Any> parse_kind(uint32_t kind, FieldReader &reader)
{
    if constexpr (Index == std::variant_size_v<Any>) {
        return std::nullopt;
    } else if (std::variant_alternative_t<Index, Any> call; kind == call.KIND) {
        call.code(reader);
        return reader.complete() ? std::optional<Any>(std::move(call)) : std::nullopt;
    } else {
        return parse_kind<Any, Index + 1>(kind, reader);
    }
}

template <class Any> std::optional<Any> parse_call(Bytes bytes)
{
    FieldReader reader(bytes);
    return parse_kind<Any>(reader.number(), reader);
}

template <class Any> std::string write_call(const Any &any)
{
    std::string bytes;
    FieldWriter writer(bytes);
    std::visit([&](auto call) { writer.integer(call.KIND), call.code(writer); }, any);
    return bytes;
}

template <class Report> std::optional<Report> parse_report(Bytes payload)
{
    Report report;
    FieldReader reader(payload, payload.size());
    report.code(reader);
    return reader.complete() ? std::optional<Report>(std::move(report)) : std::nullopt;
}

template <class Report> std::string write_report(Report report)
{
    std::string bytes;
    FieldWriter writer(bytes);
    report.code(writer);
    return bytes;
}

}  // namespace elastic

#endif /* ELASTIC_CALL_BYTES_H_INCLUDED */
