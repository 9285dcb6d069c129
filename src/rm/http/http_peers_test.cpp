/* Addresses that count as one client. */

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>

#include "http/http.h"

namespace elastic::rm {
namespace {

std::string class_of(const char *text)
{
    sockaddr_in v4 = {};
    sockaddr_in6 v6 = {};
    v4.sin_family = AF_INET;
    v6.sin6_family = AF_INET6;
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return address_class(reinterpret_cast<const sockaddr *>(&v4));
    EXPECT_EQ(inet_pton(AF_INET6, text, &v6.sin6_addr), 1) << text;
    return address_class(reinterpret_cast<const sockaddr *>(&v6));
}

TEST(HttpPeersTest, an_address_of_ipv4_is_the_same_in_ipv6)
{
    EXPECT_EQ(class_of("192.0.2.7"), "192.0.2.7");
    EXPECT_EQ(class_of("::ffff:192.0.2.7"), "192.0.2.7");
    EXPECT_EQ(class_of("::ffff:c000:207"), "192.0.2.7");
    EXPECT_NE(class_of("::ffff:192.0.2.8"), class_of("192.0.2.7"));
}

TEST(HttpPeersTest, this_machine_has_many_addresses)
{
    for (const char *own : {"127.0.0.1", "127.9.8.7", "127.255.255.255", "::1",
                            "::ffff:127.0.0.1", "::ffff:127.77.1.2"})
        EXPECT_EQ(class_of(own), "this machine") << own;
    for (const char *other : {"126.255.255.255", "128.0.0.1", "::2", "::ffff:128.0.0.1", "::"})
        EXPECT_NE(class_of(other), "this machine") << other;
}

TEST(HttpPeersTest, a_network_of_ipv6_counts_as_one)
{
    EXPECT_EQ(class_of("2001:db8:1:2::5"), "2001:db8:1:2::/64");
    EXPECT_EQ(class_of("2001:db8:1:2:ffff:ffff:ffff:ffff"), class_of("2001:db8:1:2::5"));
    EXPECT_NE(class_of("2001:db8:1:3::5"), class_of("2001:db8:1:2::5"));
    EXPECT_EQ(class_of("::7f00:1"), "::/64") << "no address of IPv4: only ::ffff: has these";
}

}  // namespace
}  // namespace elastic::rm
