/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures one kind of lock at one task, and prints one number:
 *
 *   locks pair LOCK COUNT            ns of one take and give, one thread, nobody else
 *   locks hand-off LOCK COUNT        ns from giving to the other thread's having taken
 *   locks threads LOCK COUNT N       ns of one take and give, N threads for one lock
 *   locks waiters LOCK COUNT         bytes of each of COUNT waiters; LOCK texts: names alone
 *   locks drain LOCK COUNT           ns a waiter, from its start to its end, of COUNT in one queue
 *
 * LOCK is ours (the whole lock protocol on the store in memory), or for comparison sem (sem_t),
 * condition (a mutex and a condition variable, with a count), futex (bare system calls), nsync;
 * and writes: the two guarded writes of a pair by themselves (writes.h).
 * In hand-off and threads each thread is an owner of its own. Not every lock does every task;
 * one that does not ends the program with code 2.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef HAVE_NSYNC
#include <nsync.h>
#endif

#include <hami/memory.h>
#include <hami/nodelock.h>

#include "writes.h"

#define THREADS_MAX 64
#define NODE "node-1"
#define WAIT_MS 600000

/* What a thread takes and gives. `me` is its number, from 0. */
struct lock {
    const char *name;
    int (*take)(unsigned me);
    int (*give)(unsigned me);
};

static struct {
    hami_memory *store;
    hami_nodelock *lock;
    hami_lease *leases[THREADS_MAX];
    char names[THREADS_MAX][16];
} ours;

static uint64_t now_ns(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void fail(const char *what, int code)
{
    (void)fprintf(stderr, "locks: %s: %s\n", what, hami_strerror(code));
    exit(1);
}

static struct hami_nodelock_request request_of(unsigned me)
{
    return (struct hami_nodelock_request){
        .size = sizeof(struct hami_nodelock_request),
        .node = NODE,
        .owner = {"default", ours.names[me], ours.names[me]},
        .deadline_ns = hami_nodelock_in_ms(ours.lock, WAIT_MS)};
}

static int take_ours(unsigned me)
{
    struct hami_nodelock_request want = request_of(me);

    return hami_nodelock_acquire(ours.lock, &want, &ours.leases[me], NULL);
}

static int give_ours(unsigned me)
{
    return hami_lease_release(ours.leases[me], hami_nodelock_in_ms(ours.lock, WAIT_MS),
                              NULL);
}

static sem_t semaphore;

static int take_sem(unsigned me)
{
    (void)me;
    return sem_wait(&semaphore);
}

static int give_sem(unsigned me)
{
    (void)me;
    return sem_post(&semaphore);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static unsigned permits = 1;

static int take_condition(unsigned me)
{
    (void)me;
    (void)pthread_mutex_lock(&mutex);
    while (permits == 0) {
        (void)pthread_cond_wait(&condition, &mutex);
    }
    permits--;
    return pthread_mutex_unlock(&mutex);
}

static int give_condition(unsigned me)
{
    (void)me;
    (void)pthread_mutex_lock(&mutex);
    permits++;
    (void)pthread_cond_signal(&condition);
    return pthread_mutex_unlock(&mutex);
}

#ifdef HAVE_NSYNC
static nsync_mu quick_mutex = NSYNC_MU_INIT;
static nsync_cv quick_condition = NSYNC_CV_INIT;
static unsigned quick_permits = 1;

static int take_nsync(unsigned me)
{
    (void)me;
    nsync_mu_lock(&quick_mutex);
    while (quick_permits == 0) {
        nsync_cv_wait(&quick_condition, &quick_mutex);
    }
    quick_permits--;
    nsync_mu_unlock(&quick_mutex);
    return 0;
}

static int give_nsync(unsigned me)
{
    (void)me;
    nsync_mu_lock(&quick_mutex);
    quick_permits++;
    nsync_cv_signal(&quick_condition);
    nsync_mu_unlock(&quick_mutex);
    return 0;
}
#endif

static const struct lock locks[] = {
    {"ours", take_ours, give_ours},
    {"sem", take_sem, give_sem},
    {"condition", take_condition, give_condition},
    {"writes", writes_take, writes_give},
#ifdef HAVE_NSYNC
    {"nsync", take_nsync, give_nsync},
#endif
};

static const struct lock *find(const char *name)
{
    for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
        if (strcmp(locks[i].name, name) == 0) {
            return &locks[i];
        }
    }
    (void)fprintf(stderr, "locks: no lock \"%s\" for this task\n", name);
    exit(2);
}

static void turn(const struct lock *lock, unsigned me)
{
    int code = lock->take(me);

    if (code != 0 || (code = lock->give(me)) != 0) {
        fail(lock->name, code);
    }
}

static double pair(const struct lock *lock, uint64_t count)
{
    uint64_t begin;

    for (uint64_t i = 0; i < count / 10 + 1; i++) {
        turn(lock, 0);
    }
    begin = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        turn(lock, 0);
    }
    return (double)(now_ns() - begin) / (double)count;
}

struct worker {
    pthread_t thread;
    const struct lock *lock;
    unsigned me;
    uint64_t count;
    pthread_barrier_t *barrier;
};

static void *work(void *data)
{
    struct worker *worker = data;

    (void)pthread_barrier_wait(worker->barrier);
    for (uint64_t i = 0; i < worker->count; i++) {
        turn(worker->lock, worker->me);
    }
    return NULL;
}

static double threads(const struct lock *lock, uint64_t count, unsigned number)
{
    struct worker workers[THREADS_MAX];
    pthread_barrier_t barrier;
    uint64_t begin;

    (void)pthread_barrier_init(&barrier, NULL, number + 1);
    for (unsigned i = 0; i < number; i++) {
        workers[i] = (struct worker){
            .lock = lock, .me = i, .count = count / number + 1, .barrier = &barrier};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fail("a thread", HAMI_E_NOMEM);
        }
    }
    begin = now_ns(); /* after the barrier the others could have ended already */
    (void)pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < number; i++) {
        (void)pthread_join(workers[i].thread, NULL);
    }
    return (double)(now_ns() - begin) / (double)((count / number + 1) * number);
}

/* ---- hand-off: the ball goes between two threads; each way is one hand-off ---------------- */

struct side {
    pthread_t thread;
    unsigned me;
    uint64_t count;
};

static _Atomic uint32_t turns; /* whose turn it is: its lowest bit */
static sem_t sides[2];

static long futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static void *play_futex(void *data)
{
    struct side *side = data;

    for (uint64_t i = 0; i < side->count; i++) {
        for (;;) {
            uint32_t seen = atomic_load(&turns);
            if (seen % 2 == side->me) {
                break;
            }
            (void)futex(&turns, FUTEX_WAIT_PRIVATE, seen);
        }
        atomic_fetch_add(&turns, 1);
        (void)futex(&turns, FUTEX_WAKE_PRIVATE, 1);
    }
    return NULL;
}

static void *play_sem(void *data)
{
    struct side *side = data;

    for (uint64_t i = 0; i < side->count; i++) {
        (void)sem_wait(&sides[side->me]);
        (void)sem_post(&sides[1 - side->me]);
    }
    return NULL;
}

/* Each holds until the other one waits: then every release is a hand-off to a sleeper. */
static void *play_ours(void *data)
{
    struct side *side = data;

    for (uint64_t i = 0; i < side->count; i++) {
        int code = take_ours(side->me);
        struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;

        if (code != 0) {
            fail("take", code);
        }
        for (unsigned looks = 0; looks < 1000 && i + 1 < side->count; looks++) {
            (void)hami_nodelock_stats(ours.lock, &stats);
            if (stats.waiters > 0) {
                break;
            }
            (void)sched_yield(); /* on one processor the other one could never come */
        }
        if ((code = give_ours(side->me)) != 0) {
            fail("give", code);
        }
    }
    return NULL;
}

static double hand_off(const char *name, uint64_t count)
{
    void *(*play)(void *) = strcmp(name, "ours") == 0    ? play_ours
                            : strcmp(name, "sem") == 0   ? play_sem
                            : strcmp(name, "futex") == 0 ? play_futex
                                                         : NULL;
    struct side both[2];
    uint64_t begin = now_ns();

    if (play == NULL) {
        (void)find("");
    }
    (void)sem_init(&sides[0], 0, 1);
    (void)sem_init(&sides[1], 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        both[i] = (struct side){.me = i, .count = count / 2};
        if (pthread_create(&both[i].thread, NULL, play, &both[i]) != 0) {
            fail("a thread", HAMI_E_NOMEM);
        }
    }
    (void)pthread_join(both[0].thread, NULL);
    (void)pthread_join(both[1].thread, NULL);
    return (double)(now_ns() - begin) / (double)(count / 2 * 2);
}

/* ---- many waiters in one queue ------------------------------------------------------------ */

static _Atomic uint64_t served;

static void acquired(void *data, int code, hami_lease *lease,
                     const struct hami_error *error)
{
    (void)data;
    (void)error;
    if (code != 0) {
        fail("a waiter", code);
    }
    code = hami_lease_release_start(lease, hami_nodelock_in_ms(ours.lock, WAIT_MS), NULL,
                                    NULL);
    if (code != 0) {
        fail("a release", code);
    }
    atomic_fetch_add(&served, 1);
}

static uint64_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1) {
        fail("/proc/self/statm", HAMI_E_NOMEM);
    }
    (void)fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void name_owner(uint64_t i, char name[64], char uid[64])
{
    (void)snprintf(name, 64, "pod-%" PRIu64, i);
    (void)snprintf(uid, 64, "3b241101-e2bb-4255-8caf-%012" PRIx64, i);
}

static void start_waiters(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        char name[64], uid[64];
        struct hami_nodelock_request want = request_of(0);

        name_owner(i, name, uid);
        want.owner = (struct hami_owner){"default", name, uid};
        int code = hami_nodelock_acquire_start(ours.lock, &want, acquired, NULL, NULL);
        if (code != 0) {
            fail("acquire_start", code);
        }
    }
}

static double waiters(uint64_t count)
{
    double each;

    if (take_ours(0) != 0) {
        fail("the first take", HAMI_E_LOST);
    }
    uint64_t before = resident_bytes();
    start_waiters(count);
    each = (double)(resident_bytes() - before) / (double)count;
    (void)give_ours(0);
    return each;
}

/* What is kept of a waiter at least: whose it is. */
static double texts(uint64_t count)
{
    uint64_t before = resident_bytes();
    for (uint64_t i = 0; i < count; i++) {
        char name[64], uid[64];

        name_owner(i, name, uid);
        char *kept = malloc(strlen(name) + strlen(uid) + 2);
        if (kept == NULL) {
            fail("texts", HAMI_E_NOMEM);
        }
        (void)strcpy(kept, name);
        (void)strcpy(kept + strlen(name) + 1, uid);
    }
    return (double)(resident_bytes() - before) / (double)count;
}

static double drain(uint64_t count)
{
    uint64_t begin = now_ns();
    struct timespec pause = {0, 1000000};

    if (take_ours(0) != 0) {
        fail("the first take", HAMI_E_LOST);
    }
    start_waiters(count);
    (void)give_ours(0);
    while (atomic_load(&served) < count) {
        (void)nanosleep(&pause, NULL);
    }
    return (double)(now_ns() - begin) / (double)count;
}

static void set_up(void)
{
    struct hami_error error = HAMI_ERROR_INIT;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    int code = hami_memory_new(0, &ours.store);

    if (code != 0) {
        fail("the store", code);
    }
    config.transport = hami_memory_transport(ours.store);
    config.waiters_per_node_max = 2000000;
    if ((code = hami_nodelock_new(&config, &ours.lock, &error)) != 0) {
        fail(error.text, code);
    }
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        (void)snprintf(ours.names[i], sizeof(ours.names[i]), "pod-%u", i);
    }
    (void)sem_init(&semaphore, 0, 1);
    writes_set_up();
}

static int usage(void)
{
    (void)fputs("usage: locks pair|hand-off|threads|waiters|drain LOCK COUNT [THREADS]\n",
                stderr);
    return 2;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    unsigned number = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 1;
    double result;

    if (count < 2 || number < 1 || number > THREADS_MAX) {
        return usage();
    }
    set_up();
    if (strcmp(argv[1], "pair") == 0) {
        result = pair(find(argv[2]), count);
    } else if (strcmp(argv[1], "threads") == 0) {
        result = threads(find(argv[2]), count, number);
    } else if (strcmp(argv[1], "hand-off") == 0) {
        result = hand_off(argv[2], count);
    } else if (strcmp(argv[1], "waiters") == 0 && strcmp(argv[2], "ours") == 0) {
        result = waiters(count);
    } else if (strcmp(argv[1], "waiters") == 0 && strcmp(argv[2], "texts") == 0) {
        result = texts(count);
    } else if (strcmp(argv[1], "drain") == 0 && strcmp(argv[2], "ours") == 0) {
        result = drain(count);
    } else {
        return usage();
    }
    (void)printf("%.1f\n", result);
    (void)fflush(stdout);
    _exit(0); /* what still waits needs no end */
}
