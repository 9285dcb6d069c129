/*
 * POSIX names of signals, for messages to other hosts, where numbers may differ (SPEC DA11).  As
 * pmi_adapt.h: plain C11/C++20, compiled into libmpi and Hydra.  No state.
 */

#ifndef PMI_ADAPT_SIGNAL_H_INCLUDED
#define PMI_ADAPT_SIGNAL_H_INCLUDED

#include <signal.h>
#include <stddef.h>
#include <string.h>

#define PMI_SIGNAL(name) { SIG##name, #name }

/* The n-th, or { 0, NULL } after the last. */
struct pmi_signal {
    int signum;
    const char *name;
};
static inline struct pmi_signal pmi_signal_at(size_t n)
{
    static const struct pmi_signal known[] = {
        PMI_SIGNAL(ABRT), PMI_SIGNAL(ALRM), PMI_SIGNAL(BUS), PMI_SIGNAL(CHLD), PMI_SIGNAL(CONT),
            PMI_SIGNAL(FPE),
        PMI_SIGNAL(HUP), PMI_SIGNAL(ILL), PMI_SIGNAL(INT), PMI_SIGNAL(KILL), PMI_SIGNAL(PIPE),
            PMI_SIGNAL(PROF),
        PMI_SIGNAL(QUIT), PMI_SIGNAL(SEGV), PMI_SIGNAL(STOP), PMI_SIGNAL(SYS), PMI_SIGNAL(TERM),
            PMI_SIGNAL(TRAP),
        PMI_SIGNAL(TSTP), PMI_SIGNAL(TTIN), PMI_SIGNAL(TTOU), PMI_SIGNAL(URG), PMI_SIGNAL(USR1),
            PMI_SIGNAL(USR2), PMI_SIGNAL(VTALRM), PMI_SIGNAL(XCPU), PMI_SIGNAL(XFSZ)
    };
    const struct pmi_signal none = { 0, NULL };

    return n < sizeof(known) / sizeof(*known) ? known[n] : none;
}

/* NULL: there is none. */
static inline const char *pmi_signal_name(int signum)
{
    for (size_t n = 0; pmi_signal_at(n).name; n++)
        if (pmi_signal_at(n).signum == signum)
            return pmi_signal_at(n).name;
    return NULL;
}

/* 0: there is none. */
static inline int pmi_signal_number(const char *name)
{
    for (size_t n = 0; pmi_signal_at(n).name; n++)
        if (!strcmp(pmi_signal_at(n).name, name))
            return pmi_signal_at(n).signum;
    return 0;
}

#endif /* PMI_ADAPT_SIGNAL_H_INCLUDED */
