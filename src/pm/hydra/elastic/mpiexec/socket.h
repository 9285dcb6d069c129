/*
 * The socket of the step protocol (doc/developer/step-protocol.md), and whether a resource manager
 * decides on this step.
 */

#ifndef MPIEXEC_SOCKET_H_INCLUDED
#define MPIEXEC_SOCKET_H_INCLUDED

/* Whether this step belongs to a job of a resource manager. */
int HYD_step_managed(void);
/* The step's id: mpiexec's pid, unless another step has that id (wire/step_socket.h). */
const char *HYD_step_id(void);
void HYD_step_socket_open(void);
void HYD_step_socket_close(void);
void HYD_step_reply(int client, const char *line);

#endif /* MPIEXEC_SOCKET_H_INCLUDED */
