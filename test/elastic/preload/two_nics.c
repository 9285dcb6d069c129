/*
 * Preloaded into a program, makes each network interface that libfabric lists two, so that MPI uses
 * several interfaces on a machine that has one: the entry, and a copy of it, as functions 0 and 1
 * of a PCI device.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <hwloc.h>
#include <rdma/fabric.h>
#include <stdlib.h>

static int close_nothing(struct fid *fid)
{
    (void) fid;
    return 0;
}

/* A copy of an interface is the same one. */
static int control(struct fid *fid, int command, void *argument)
{
    if (command != FI_DUP)
        return -FI_ENOSYS;
    *(struct fid_nic **) argument = (struct fid_nic *) fid;
    return 0;
}

static struct fi_ops ops = {.size = sizeof(struct fi_ops),.close = close_nothing,
                            .control = control };
static struct fi_device_attr device_attr;
static struct fi_link_attr link_attr = {.state = FI_LINK_UP };
static struct fi_bus_attr bus_attr[2] = {
    {.bus_type = FI_BUS_PCI,.attr.pci.function_id = 0},
    {.bus_type = FI_BUS_PCI,.attr.pci.function_id = 1}
};

static struct fid_nic nics[2] = {
    {.fid = {.ops = &ops},.device_attr = &device_attr,.bus_attr = &bus_attr[0],
     .link_attr = &link_attr},
    {.fid = {.ops = &ops},.device_attr = &device_attr,.bus_attr = &bus_attr[1],
     .link_attr = &link_attr}
};

/* The interfaces are on no bus that the topology knows: MPI does without it. */
int hwloc_get_proc_cpubind(hwloc_topology_t topology, hwloc_pid_t pid, hwloc_cpuset_t set,
                           int flags)
{
    (void) topology, (void) pid, (void) set, (void) flags;
    return -1;
}

typedef int getinfo_function(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
                             struct fi_info **);

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    getinfo_function *real = (getinfo_function *) dlsym(RTLD_NEXT, "fi_getinfo");
    int error = real ? real(version, node, service, flags, hints, info) : -FI_ENOSYS;

    for (struct fi_info * entry = error ? NULL : *info; entry;) {
        struct fi_info *copy = fi_dupinfo(entry);
        if (!copy)
            return -FI_ENOMEM;
        copy->next = entry->next;
        entry->next = copy;
        entry->nic = &nics[0];
        copy->nic = &nics[1];
        entry = copy->next;
    }
    return error;
}
