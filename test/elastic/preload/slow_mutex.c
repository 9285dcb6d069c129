/*
 * Preloaded into an MPI process, makes pthread_mutex_init slow from the time when the file
 * SLOW_MUTEX is there, and ends the process when a mutex is initialised while another thread
 * initialises it.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MUTEXES 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *under_way[MUTEXES];

static void note(pthread_mutex_t *mutex, pthread_mutex_t *from, pthread_mutex_t *to)
{
    int k = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; to && i < MUTEXES; i++) {
        if (under_way[i] == mutex) {
            fprintf(stderr, "two threads initialise one mutex\n");
            _exit(98);
        }
    }
    while (k < MUTEXES - 1 && under_way[k] != from)
        k++;
    under_way[k] = to;
    pthread_mutex_unlock(&lock);
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    static int (*next) (pthread_mutex_t *, const pthread_mutexattr_t *);
    const char *name = getenv("SLOW_MUTEX");

    if (!next)
        *(void **) &next = dlsym(RTLD_NEXT, "pthread_mutex_init");
    if (!name || access(name, F_OK) != 0)
        return next(mutex, attributes);
    note(mutex, NULL, mutex);
    usleep(200000);
    int failed = next(mutex, attributes);
    note(mutex, mutex, NULL);
    return failed;
}
