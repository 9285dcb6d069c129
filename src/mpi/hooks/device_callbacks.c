/*
 * The table by which the device calls the MPI layer (mpir_device_callbacks.h).  Constant.
 */

#include "adapt_handles.h"
#include "dynproc.h"
#include "mpir_device_callbacks.h"
#include "session.h"

const struct MPIR_Device_callbacks MPIR_Device_callbacks = {
    .adapt_epoch = MPIR_Adapt_epoch,
    .pid_namespace = MPIR_Adapt_pid_namespace,
    .describe_comm = MPIR_Adapt_describe_comm,
    .foreach_comm = MPIR_Adapt_foreach_comm,
    .foreach_group = MPIR_Adapt_foreach_group,
    .foreach_request = MPIR_Adapt_foreach_request,
    .comm_by_begin = MPIR_Adapt_comm_by_begin,
    .comm_derive = MPIR_Adapt_comm_derive,
    .comm_survives = MPIR_Adapt_comm_survives,
    .comm_unlist = MPIR_Adapt_unlist,
    .win_freed = MPIR_Adapt_win_freed,
    .session_lpid = MPIR_Session_lpid,
    .session_leave_start = MPIR_Session_leave_start,
    .session_finish_rendezvous = MPIR_Session_finish_rendezvous,
    .session_lacks_hosts = MPIR_Session_agree_on_unknown_hosts,
    .session_any_lacks_hosts = MPIR_Session_agreed_on_unknown_hosts,
    .dynproc_had_connections = MPIR_Dynproc_had_connections,
    .dynproc_note_ended = MPIR_Dynproc_note_ended,
    .dynproc_has_ended = MPIR_Dynproc_has_ended,
    .dynproc_accepted = MPIR_Dynproc_accepted,
};
