/*
 * libFuzzer: the other end of a connection between a client and a server (link.c) sends arbitrary
 * bytes, in pieces.  The first byte selects which end is tested, whether seals are valid, as those
 * of a peer with the secret, and whether messages begin with the right word; then each step is a
 * number of bytes and as many of the input.  Messages that are accepted stay within their bounds.
 */

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {
#include "dynproc_link.h"
}

namespace {

bool seals_hold, words_given;

void require(bool holds)
{
    if (!holds)
        abort();
}

/* Bytes that the other end has not sent yet. */
class Sent {
  public:
    Sent(const uint8_t *bytes, size_t size) : bytes_(bytes), left_(size) {}

    /* False: there is no more. */
    bool next(int fd)
    {
        if (left_ < 2)
            return false;
        size_t n = std::min<size_t>(bytes_[0] + 1u, left_ - 1);
        ssize_t sent = send(fd, bytes_ + 1, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        bytes_ += n + 1;
        left_ -= n + 1;
        return sent >= 0;
    }

  private:
    const uint8_t *bytes_;
    size_t left_;
};

template <class Read>
MPIR_Dynproc_link_state read_all(Sent &to_send, int fd, const char *word, Read read)
{
    MPIR_Dynproc_link_state state;
    if (words_given && send(fd, word, strlen(word), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return MPIR_DYNPROC_BROKEN;
    while ((state = read()) == MPIR_DYNPROC_MORE && to_send.next(fd)) {
    }
    return state;
}

bool handshake_as_server(MPIR_Dynproc_link *link, Sent &to_send, int fd)
{
    MPIR_Dynproc_hello hello;
    char name[MPIR_DYNPROC_NAME + 1];
    if (read_all(to_send, fd, "EMDH",
                 [&] { return MPIR_Dynproc_read_hello(link, &hello, name); }) != MPIR_DYNPROC_DONE)
        return false;
    require(strlen(hello.name) <= MPIR_DYNPROC_NAME && hello.key_bytes >= -1 &&
            hello.key_bytes <= MPIR_DYNPROC_KEY);
    uint8_t key[MPIR_DYNPROC_KEY];
    if (hello.key_bytes > 0)
        memcpy(key, hello.key, static_cast<size_t>(hello.key_bytes));
    return MPIR_Dynproc_send_verdict(link, MPIR_DYNPROC_WELCOME);
}

bool handshake_as_client(MPIR_Dynproc_link *link, Sent &to_send, int fd)
{
    MPIR_Dynproc_verdict verdict;
    MPIR_Dynproc_hello hello = {"name", "key", 3};
    return MPIR_Dynproc_send_hello(link, &hello) &&
           read_all(to_send, fd, "EMDV",
                    [&] { return MPIR_Dynproc_read_verdict(link, &verdict); }) ==
               MPIR_DYNPROC_DONE &&
           verdict == MPIR_DYNPROC_WELCOME;
}

bool read_side(MPIR_Dynproc_link *link, bool is_server, Sent &to_send, int fd)
{
    MPIR_Dynproc_side side = {};
    auto read = [&] { return MPIR_Dynproc_read_side(link, is_server, &side); };
    bool is_read = read_all(to_send, fd, "EMDS", read) == MPIR_DYNPROC_DONE;
    if (is_read) {
        int64_t sum = 0;
        for (int i = 0; i < side.size; i++) {
            require(side.address_sizes[i] > 0);
            sum += side.address_sizes[i];
        }
        require(side.size > 0 && sum == side.bytes);
    }
    free(side.address_sizes);
    free(side.addresses);
    free(side.bcs);
    return is_read;
}

void read_ready(MPIR_Dynproc_link *link, bool is_server, Sent &to_send, int fd)
{
    if (MPIR_Dynproc_send_ready(link, is_server) &&
        read_all(to_send, fd, "EMDR", [&] { return MPIR_Dynproc_read_ready(link, is_server); }) ==
            MPIR_DYNPROC_DONE)
        require(link->in_bytes == 0);
}

}  // namespace

void MPIR_Dynproc_seal(const unsigned char *, const void *bytes, size_t n, unsigned char *seal)
{
    memset(seal, n ? *static_cast<const unsigned char *>(bytes) : 0, MPIR_DYNPROC_SEAL);
}

int MPIR_Dynproc_same(const unsigned char *one, const unsigned char *other, size_t n)
{
    return seals_hold || memcmp(one, other, n) == 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const unsigned char secret[MPIR_DYNPROC_SEAL] = {};
    int pair[2];
    if (size < 1 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return 0;
    bool is_server = data[0] & 1;
    seals_hold = !(data[0] & 2);
    words_given = !(data[0] & 4);
    Sent to_send(data + 1, size - 1);
    MPIR_Dynproc_link *link = MPIR_Dynproc_link_new(pair[0], secret);
    if (is_server ? handshake_as_server(link, to_send, pair[1])
                  : handshake_as_client(link, to_send, pair[1])) {
        if (read_side(link, is_server, to_send, pair[1]))
            read_ready(link, is_server, to_send, pair[1]);
    }
    close(pair[1]);
    MPIR_Dynproc_link_free(link);
    return 0;
}
