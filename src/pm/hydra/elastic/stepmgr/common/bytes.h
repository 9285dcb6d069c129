/* Bytes from another process, not checked yet. */

#ifndef ELASTIC_BYTES_H_INCLUDED
#define ELASTIC_BYTES_H_INCLUDED

#include <span>

namespace elastic {

using Bytes = std::span<const unsigned char>;

}  // namespace elastic

#endif /* ELASTIC_BYTES_H_INCLUDED */
