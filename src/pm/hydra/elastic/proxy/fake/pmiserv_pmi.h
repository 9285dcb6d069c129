/*
 * The names that mpiexec has registered, for names_fuzz.cpp, which stores them.
 */

#ifndef PMISERV_PMI_H_INCLUDED
#define PMISERV_PMI_H_INCLUDED

struct HYD_pmcd_pmi_publish {
    char *name, *port;
    struct HYD_pmcd_pmi_publish *next;
};
extern struct HYD_pmcd_pmi_publish *HYD_pmcd_pmi_publish_list;

struct HYD_proxy *HYD_pmcd_pmi_find_proxy(int fd);
HYD_status HYD_pmcd_pmi_publish(char *name, char *port, int *success);
HYD_status HYD_pmcd_pmi_unpublish(char *name, int *success);
HYD_status HYD_pmcd_pmi_lookup(char *name, char **value);

#endif
