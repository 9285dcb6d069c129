/*
 * Sessions of processes.  Stock gives each process and each proxy its own session (launch.c).  If
 * the kernel divides processors among sessions ("The autogroup feature" in sched(7)), sched_yield
 * then yields to no other process, and processes that wait for each other on one processor use up
 * their time slices.  So the proxies that mpiexec itself starts for a job that may change, and
 * their processes, stay in mpiexec's session, in process groups of their own and without a
 * terminal.  A proxy that ssh starts has a session of ssh.  Its processes, and those of rigid jobs,
 * are started as by stock.
 */

#ifndef SESSIONS_H_INCLUDED
#define SESSIONS_H_INCLUDED

/* mpiexec: the job may change.  Called before anything is started. */
void HYD_share_session(void);
/* Proxy: treats its processes as mpiexec treated the proxy.  Called before they are started. */
void HYD_follow_session(void);

#endif /* SESSIONS_H_INCLUDED */
