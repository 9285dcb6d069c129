/*
 * Each message of src/pmi/messages.txt at its bounds: the encoder in C writes what the schema
 * states, the decoder in C++ reads it, and its encoder writes it again.  message_samples.h is
 * generated.
 */

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "messages/report_writers.h"
#include "stepmgr/proto/pset_call.h"
#include "stepmgr/proto/payload.h"

namespace {

std::string u32(uint32_t value)
{
    return {reinterpret_cast<const char *>(&value), sizeof value};
}

std::string u64(uint64_t value)
{
    return {reinterpret_cast<const char *>(&value), sizeof value};
}

std::string wide(uint64_t value)
{
    return u32(static_cast<uint32_t>(value)) + u32(static_cast<uint32_t>(value >> 32));
}

std::string text(const char *text)
{
    return u32(static_cast<uint32_t>(strlen(text))) + text;
}

std::string text(int length)
{
    return u32(static_cast<uint32_t>(length)) + std::string(static_cast<size_t>(length), 'x');
}

std::string repeat(uint32_t n, const std::string &element)
{
    std::string bytes;
    for (; n > 0; n--)
        bytes += element;
    return bytes;
}

std::string many(uint32_t n, const std::string &element)
{
    return u32(n) + repeat(n, element);
}

std::string host(char byte)
{
    return std::string(sizeof(pmi_adapt_host), byte);
}

const pmi_adapt_host *host_of(char byte)
{
    static pmi_adapt_host host;
    memset(&host, byte, sizeof host);
    return &host;
}

char *longest(size_t length)
{
    static std::string LONG(PMI_TASK_TEXT_MAX, 'x');
    return LONG.data() + (LONG.size() - length);
}

template <class Element> std::vector<Element> same(size_t n, Element element)
{
    return std::vector<Element>(n, element);
}

/* ---- the primitives of libmpi's encoders (session_call.c) ---- */

struct MPIR_Info {
    std::string key, value;
} longest_info = {std::string(PMI_SET_KEY_MAX, 'x'), std::string(PMI_SET_VALUE_MAX, 'x')};

struct MPIR_Session_call {
    std::string bytes;
};

void MPIR_Session_call_number(MPIR_Session_call *call, uint32_t number)
{
    call->bytes += u32(number);
}

void MPIR_Session_call_begin(MPIR_Session_call *call, pmi_set_call kind)
{
    MPIR_Session_call_number(call, kind);
}

void MPIR_Session_call_text(MPIR_Session_call *call, const char *text)
{
    call->bytes += ::text(text);
}

void MPIR_Session_call_members(MPIR_Session_call *call, const int *ranks, int n)
{
    call->bytes += u32(n > 0);
    if (n > 0)
        call->bytes +=
            u32(static_cast<uint32_t>(ranks ? *ranks : 0)) + u32(static_cast<uint32_t>(n));
}

/* A name that is not empty stands for the first three processes here. */
void MPIR_Session_call_operand(MPIR_Session_call *call, const char *name)
{
    MPIR_Session_call_text(call, name);
    MPIR_Session_call_number(call, *name != '\0');
    if (*name)
        MPIR_Session_call_members(call, nullptr, 3);
}

void MPIR_Session_call_data(MPIR_Session_call *call, MPIR_Info *info)
{
    call->bytes += info ? many(1, text(info->key.c_str()) + text(info->value.c_str())) : u32(0);
}

#include "session_calls.h"

/* ---- checks ---- */

template <class Group> auto parse(const std::string &bytes)
{
    return elastic::parse_call<Group>(
        {reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size()});
}

template <class Group>
void check(const char *name, const std::string &bytes, const MPIR_Session_call &call, bool optional)
{
    EXPECT_TRUE(call.bytes == bytes) << name << ": the encoder in C wrote " << call.bytes.size()
                                     << " bytes, not " << bytes.size();
    auto parsed = parse<Group>(bytes);
    ASSERT_TRUE(parsed) << name;
    EXPECT_TRUE(elastic::write_call(*parsed) == bytes) << name;
    EXPECT_FALSE(parse<Group>(bytes + 'x')) << name;
    size_t shortest = optional ? bytes.size() - sizeof(uint32_t) : bytes.size();
    for (size_t n = 0; n < shortest; n += 1 + n / 20)
        EXPECT_FALSE(parse<Group>(bytes.substr(0, n))) << name << " of " << n << " bytes";
}

template <class Group> void check_refused(const char *name, const std::string &bytes)
{
    EXPECT_FALSE(parse<Group>(bytes)) << name;
}

template <class Report>
void check_report(const char *name, const std::string &bytes, size_t (*write)(void *bytes),
                  bool is_fixed)
{
    char written[256] = "";
    size_t fixed = write(written);
    EXPECT_TRUE(bytes.substr(0, fixed) == std::string(written, fixed))
        << name << ": the encoder in C";
    auto parse = [](const std::string &bytes) {
        return elastic::parse_report<Report>(
            {reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size()});
    };
    auto parsed = parse(bytes);
    ASSERT_TRUE(parsed) << name;
    EXPECT_TRUE(elastic::write_report(*parsed) == bytes) << name;
    for (size_t n = 0; n < fixed; n++)
        EXPECT_FALSE(parse(bytes.substr(0, n))) << name << " of " << n << " bytes";
    EXPECT_FALSE(is_fixed && parse(bytes + 'x')) << name;
}

template <class Report> void check_report_refused(const char *name, const std::string &bytes)
{
    EXPECT_FALSE(elastic::parse_report<Report>(
        {reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size()}))
        << name;
}

#include "message_samples.h"

TEST(MessagesTest, calls_on_sets)
{
    check_samples<elastic::SetCall>();
}

TEST(MessagesTest, calls_on_changes)
{
    check_samples<elastic::ChangeCall>();
}

TEST(MessagesTest, calls_on_process_requests)
{
    check_samples<elastic::TaskCall>();
}

TEST(MessagesTest, reports)
{
    check_reports();
}

}  // namespace
