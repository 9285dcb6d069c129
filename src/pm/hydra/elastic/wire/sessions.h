/*
 * Sessions of processes.  Stock gives each process and each proxy one of its own (launch.c).  Where
 * the kernel divides processors among sessions ("The autogroup feature" in sched(7)), sched_yield
 * then yields to no other process, and processes that wait for each other on one processor each use
 * up their time slice.  So the proxies that mpiexec itself starts for a job that may change, and
 * their processes, stay in mpiexec's session, in process groups of their own and without a
 * terminal.  A proxy that ssh starts has a session of ssh; its processes are started as by stock,
 * and so are those of rigid jobs.
 */

#ifndef SESSIONS_H_INCLUDED
#define SESSIONS_H_INCLUDED

/* mpiexec, before it starts anything: the job may change. */
void HYD_share_session(void);
/* A proxy, before it starts its processes: does as mpiexec did with it. */
void HYD_follow_session(void);

#endif /* SESSIONS_H_INCLUDED */
