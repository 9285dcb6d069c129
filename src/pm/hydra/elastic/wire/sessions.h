/*
 * Which processes share a session.  Stock gives each process and each daemon one of its own (launch.c).  Where the
 * kernel shares processors out among sessions ("The autogroup feature" in sched(7)), sched_yield then gives way to
 * nobody, and processes that wait for each other on one processor each use up their time slice.  So the daemons that
 * mpiexec itself starts for a job that may change, and their processes, stay in mpiexec's session, in process groups
 * of their own and without a terminal.  A daemon that ssh starts has a session of ssh's making; its processes are
 * started as by stock, and so are those of rigid jobs.
 */

#ifndef SESSIONS_H_INCLUDED
#define SESSIONS_H_INCLUDED

/* mpiexec, before it starts anything: the job may change. */
void HYD_share_session(void);
/* A daemon, before it starts its processes: does as mpiexec did with it. */
void HYD_follow_session(void);

#endif /* SESSIONS_H_INCLUDED */
