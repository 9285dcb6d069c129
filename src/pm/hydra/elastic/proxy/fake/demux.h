/*
 * The event loop; each fuzzer that needs one has its own.
 */

#ifndef DEMUX_H_INCLUDED
#define DEMUX_H_INCLUDED

HYD_status HYDT_dmx_register_fd(int n, int *fd, HYD_event_t events, void *userp,
                                HYD_status(*callback) (int fd, HYD_event_t events, void *userp));
HYD_status HYDT_dmx_deregister_fd(int fd);
int HYDT_dmx_query_fd_registration(int fd);

#endif
