/* See pass_descriptor.h. */

#include "step/pass_descriptor.h"

#include <sys/socket.h>

#include <cstring>

namespace elastic::rm {

namespace {

constexpr size_t DESCRIPTORS_MAX = 4;   /* with the bytes of one call */

}  // namespace

bool send_with_descriptor(int socket, std::string_view text, int descriptor)
{
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    iovec part = {const_cast<char *>(text.data()), text.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
        static_cast<ssize_t>(text.size());
}

ssize_t receive_with_descriptors(int socket, char *block, size_t bytes,
                                 std::vector<Descriptor> &descriptors)
{
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * DESCRIPTORS_MAX)];
    iovec part = {block, bytes};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    for (cmsghdr *header = received > 0 ? CMSG_FIRSTHDR(&message) : nullptr; header;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < (header->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
            descriptors.emplace_back(descriptor);
        }
    }
    return received;
}

}  // namespace elastic::rm
