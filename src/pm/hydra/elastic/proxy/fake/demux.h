/*
 * The event loop as connection.c sees it; relay_fuzz.cpp has one.
 */

#ifndef DEMUX_H_INCLUDED
#define DEMUX_H_INCLUDED

HYD_status HYDT_dmx_register_fd(int n, int *fd, HYD_event_t events, void *userp,
                                HYD_status(*callback) (int fd, HYD_event_t events, void *userp));
HYD_status HYDT_dmx_deregister_fd(int fd);

#endif
