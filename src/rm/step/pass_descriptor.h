/*
 * Transfer of descriptors from one process to another over a connected Unix stream socket, together
 * with bytes.  No function blocks.
 */

#ifndef ELASTIC_RM_PASS_DESCRIPTOR_H_INCLUDED
#define ELASTIC_RM_PASS_DESCRIPTOR_H_INCLUDED

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace elastic::rm {

/* Sends the whole text, with the descriptor (-1: none); false: not sent. */
bool send_with_descriptor(int socket, std::string_view text, int descriptor);
/* Like recv(2); received descriptors are added to `descriptors`. */
ssize_t receive_with_descriptors(int socket, char *block, size_t bytes,
                                 std::vector<Descriptor> &descriptors);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_PASS_DESCRIPTOR_H_INCLUDED */
