/*
 * The part of mpiexec that mpiexec/names.c uses, for names_fuzz.cpp, which defines the object.
 */

#ifndef HYDRA_SERVER_H_INCLUDED
#define HYDRA_SERVER_H_INCLUDED

struct HYD_node;
struct HYD_string_stash;
struct HYD_pg {
    int pgid;
};
struct HYD_proxy {
    struct HYD_pg *pg;
    int proxy_id;
};
extern struct HYD_server_info {
    const char *nameserver;
} HYD_server_info;

#endif
