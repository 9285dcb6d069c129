/* The messages of a connection between a client and a server (link.c), with an other end that reads
 * late. */

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

extern "C" {
#include "dynproc_link.h"

void MPIR_Dynproc_seal(const unsigned char *, const void *, size_t, unsigned char *seal)
{
    memset(seal, 7, MPIR_DYNPROC_SEAL);
}

int MPIR_Dynproc_same(const unsigned char *one, const unsigned char *other, size_t n)
{
    return memcmp(one, other, n) == 0;
}
}

namespace {

/* A side of so many processes, each with an address of ADDRESS bytes. */
struct Side {
    static constexpr int ADDRESS = 64;
    explicit Side(int size)
        : address_sizes(static_cast<size_t>(size), ADDRESS),
          addresses(static_cast<size_t>(size) * ADDRESS, 'a')
    {
        side.size = size;
        side.bytes = size * ADDRESS;
        side.address_sizes = address_sizes.data();
        side.addresses = addresses.data();
    }
    std::vector<int> address_sizes;
    std::vector<char> addresses;
    MPIR_Dynproc_side side = {};
};

/* DC2: a process that has read the other side may leave MPI_Init; afterwards the rest of its own
 * side would not be sent. */
TEST(DynprocLinkTest, the_other_side_is_there_when_the_own_one_is_sent)
{
    const unsigned char secret[MPIR_DYNPROC_SEAL] = {};
    const Side large(1 << 16), small(1);
    MPIR_Dynproc_side read_by_client = {}, read_by_server = {};
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    MPIR_Dynproc_link *client = MPIR_Dynproc_link_new(pair[0], secret);
    MPIR_Dynproc_link *server = MPIR_Dynproc_link_new(pair[1], secret);

    ASSERT_TRUE(MPIR_Dynproc_send_side(client, false, &large.side));
    ASSERT_TRUE(MPIR_Dynproc_send_side(server, true, &small.side));
    EXPECT_EQ(MPIR_Dynproc_read_side(client, false, &read_by_client), MPIR_DYNPROC_MORE);

    bool is_client_done = false;
    MPIR_Dynproc_link_state state = MPIR_DYNPROC_MORE;
    for (int turns = 0; state == MPIR_DYNPROC_MORE && turns < 1000; turns++) {
        state = MPIR_Dynproc_read_side(server, true, &read_by_server);
        if (!is_client_done)
            is_client_done =
                MPIR_Dynproc_read_side(client, false, &read_by_client) == MPIR_DYNPROC_DONE;
    }
    EXPECT_EQ(state, MPIR_DYNPROC_DONE);
    EXPECT_TRUE(is_client_done);
    EXPECT_EQ(read_by_client.bytes, small.side.bytes);
    EXPECT_EQ(read_by_server.bytes, large.side.bytes);
    MPIR_Dynproc_side_free(&read_by_client);
    MPIR_Dynproc_side_free(&read_by_server);
    MPIR_Dynproc_link_free(client);
    MPIR_Dynproc_link_free(server);
}

}  // namespace
