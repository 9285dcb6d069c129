/*
 * The folder of the store: accessible to its owner alone, and locked while the store is open.  Any
 * thread.
 */

#ifndef ELASTIC_RM_STORE_STATE_FOLDER_H_INCLUDED
#define ELASTIC_RM_STORE_STATE_FOLDER_H_INCLUDED

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace elastic::rm {

/* Makes it if it does not exist.  Returns the error, or empty. */
std::string make_state_folder(const std::string &folder);
/* The lock lasts until the descriptor is closed.  The file contains the number of the process
 * that holds it. */
Result<Descriptor> lock_state_folder(const std::string &folder);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STORE_STATE_FOLDER_H_INCLUDED */
