/*
 * One-way messages of the extended PMI to the node daemon (doc/pmi.md).  Included at the end of
 * simple_pmi.c, because the connection is that file's own.
 */

#ifndef SIMPLE_PMI_ADAPT_H_INCLUDED
#define SIMPLE_PMI_ADAPT_H_INCLUDED

/* Sends one complete line ("cmd=... \n") of any length; no answer is expected.  The caller holds the
 * PMI lock.  Returns 0, or -1 when there is no daemon or the connection is broken. */
int PMIU_Adapt_send(const char *line, int length);

int PMIU_Adapt_send(const char *line, int length)
{
    if (PMI_initialized != NORMAL_INIT_WITH_PM || PMI_fd == -1)
        return -1;

    while (length > 0) {
        ssize_t sent = write(PMI_fd, line, length);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return -1;
        line += sent;
        length -= sent;
    }
    return 0;
}

#endif /* SIMPLE_PMI_ADAPT_H_INCLUDED */
