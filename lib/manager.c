/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See manager.h: making, driving, shutting down and freeing a manager. The manager's own
 * thread, where there is one, does nothing but what an embedder's loop does with dispatch
 * and next_deadline.
 */
#include "manager.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "after.h"
#include "call.h"
#include "config.h"
#include "dispatch.h"
#include "errors.h"
#include "keys.h"
#include "memory.h"
#include "moment.h"
#include "names.h"
#include "node.h"
#include "run.h"
#include "nodes.h"

/* ---- fork ---- */

static atomic_uint *make_fork_page(void)
{
    void *page = mmap(NULL, sizeof(atomic_uint), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED) {
        return NULL;
    }
    if (madvise(page, sizeof(atomic_uint), MADV_WIPEONFORK) != 0) {
        (void)munmap(page, sizeof(atomic_uint));
        return NULL;
    }
    atomic_store((atomic_uint *)page, 1);
    return page;
}

bool hami_internal_manager_is_forked(const struct hami_nodelock *lock)
{
    return atomic_load_explicit(lock->fork_page, memory_order_relaxed) == 0;
}

/* ---- making ---- */

/* Host name, or what of it may stand in a holder id. */
static void host_name(char *buffer, size_t size)
{
    if (gethostname(buffer, size - 1) != 0) {
        buffer[0] = '\0';
    }
    buffer[size - 1] = '\0';
    for (char *c = buffer; *c; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c;
    }
    if (!hami_internal_names_is_subdomain(buffer)) {
        (void)snprintf(buffer, size, "host");
    }
}

static int make_holder(struct hami_nodelock *lock)
{
    uint64_t random[2] = {lock->config.random_seed, ~lock->config.random_seed};
    char host[HAMI_NODELOCK_NODE_MAX + 2];

    if (random[0] == 0 &&
        getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        return HAMI_E_NOMEM;
    }
    host_name(host, sizeof(host));
    (void)snprintf(lock->holder, sizeof(lock->holder), "%s_%016" PRIx64 "%016" PRIx64,
                   lock->config.holder ? lock->config.holder : host, random[0],
                   random[1]);
    lock->holder_length = strlen(lock->holder);
    atomic_init(&lock->random, random[0] ^ random[1]);
    return 0;
}

static void destroy(struct hami_nodelock *lock)
{
    struct hami_allocator allocator = lock->config.allocator;

    hami_internal_nodes_done(lock);
    hami_internal_call_free(atomic_load(&lock->spare_call));
    hami_internal_keys_done(lock);
    hami_internal_memory_free(&allocator, lock->kept);
    hami_internal_memory_free(&allocator, (void *)lock->config.key);
    (void)pthread_cond_destroy(&lock->ready_condition);
    (void)pthread_cond_destroy(&lock->idle_condition);
    (void)pthread_mutex_destroy(&lock->ready_mutex);
    (void)pthread_mutex_destroy(&lock->timers_mutex);
    (void)pthread_mutex_destroy(&lock->keys_mutex);
    (void)pthread_mutex_destroy(&lock->kept_mutex);
    (void)pthread_mutex_destroy(&lock->owners.mutex);
    (void)pthread_mutex_destroy(&lock->table.mutex);
    if (lock->fork_page) {
        (void)munmap((void *)lock->fork_page, sizeof(atomic_uint));
    }
    hami_internal_memory_free(&allocator, lock);
}

void hami_internal_manager_ref(struct hami_nodelock *lock)
{
    atomic_fetch_add(&lock->references, 1);
}

void hami_internal_manager_unref(struct hami_nodelock *lock)
{
    if (atomic_fetch_sub(&lock->references, 1) == 1) {
        destroy(lock);
    }
}

static int init_locks(struct hami_nodelock *lock)
{
    (void)pthread_mutex_init(&lock->table.mutex, NULL);
    (void)pthread_mutex_init(&lock->kept_mutex, NULL);
    (void)pthread_mutex_init(&lock->owners.mutex, NULL);
    (void)pthread_mutex_init(&lock->keys_mutex, NULL);
    (void)pthread_mutex_init(&lock->timers_mutex, NULL);
    (void)pthread_mutex_init(&lock->ready_mutex, NULL);
    return moment_condition(&lock->ready_condition) < 0 ||
                   moment_condition(&lock->idle_condition) < 0
               ? HAMI_E_NOMEM
               : 0;
}

/* Fills a zeroed manager; on failure destroy() takes it as it is. */
static int init(struct hami_nodelock *lock)
{
    const struct hami_allocator *allocator = &lock->config.allocator;
    const char *key = lock->config.key ? lock->config.key : HAMI_NODELOCK_KEY;

    list_init(&lock->ready_waits);
    list_init(&lock->ready_dones);
    list_init(&lock->kicked);
    atomic_init(&lock->references, 1);
    lock->transport = lock->config.transport;
    lock->system_clock = hami_internal_config_has_system_clock(&lock->config);
    lock->config.key = hami_internal_memory_text(allocator, key);
    size_t sets = hami_internal_places_sets(lock->config.waiters_per_node_max);
    lock->kept = hami_internal_memory_zero(allocator, hami_internal_places_size(sets));
    if (lock->kept) {
        lock->kept->sets = sets;
    }
    lock->fork_page = make_fork_page();
    if (init_locks(lock) < 0 || !lock->config.key || !lock->kept || !lock->fork_page) {
        return HAMI_E_NOMEM;
    }
    hami_internal_owners_init(lock);
    int code = hami_internal_nodes_init(lock);
    return code < 0 ? code : make_holder(lock);
}

static void wait_for_work(struct hami_nodelock *lock)
{
    uint64_t due = hami_internal_dispatch_next_of_thread(lock);
    struct timespec until = moment_timespec(due);

    (void)pthread_mutex_lock(&lock->ready_mutex);
    if (!lock->woken && !lock->stop && due == HAMI_DEADLINE_NEVER) {
        (void)pthread_cond_wait(&lock->ready_condition, &lock->ready_mutex);
    } else if (!lock->woken && !lock->stop) {
        (void)pthread_cond_timedwait(&lock->ready_condition, &lock->ready_mutex, &until);
    }
    lock->woken = false;
    (void)pthread_mutex_unlock(&lock->ready_mutex);
}

static void *thread_main(void *data)
{
    struct hami_nodelock *lock = data;
    bool stop = false;

    while (!stop) {
        (void)hami_internal_dispatch_turn(lock);
        wait_for_work(lock);
        (void)pthread_mutex_lock(&lock->ready_mutex);
        stop = lock->stop;
        (void)pthread_mutex_unlock(&lock->ready_mutex);
    }
    return NULL;
}

static int start_thread(struct hami_nodelock *lock)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&lock->thread, NULL, thread_main, lock);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    lock->has_thread = !failed;
    return failed ? HAMI_E_NOMEM : 0;
}

static void stop_thread(struct hami_nodelock *lock)
{
    if (!lock->has_thread) {
        return;
    }
    (void)pthread_mutex_lock(&lock->ready_mutex);
    lock->stop = true;
    (void)pthread_cond_broadcast(&lock->ready_condition);
    (void)pthread_mutex_unlock(&lock->ready_mutex);
    (void)pthread_join(lock->thread, NULL);
    lock->has_thread = false;
}

int hami_nodelock_new(const struct hami_nodelock_config *config, hami_nodelock **ret,
                      struct hami_error *reterr)
{
    struct hami_nodelock_config known;

    if (!ret) {
        return hami_internal_errors_set(reterr, HAMI_E_INVAL, "ret is required");
    }
    int code = hami_internal_config_read(config, &known, reterr);
    if (code < 0) {
        return code;
    }
    struct hami_nodelock *lock =
        hami_internal_memory_zero(&known.allocator, sizeof(*lock));
    if (!lock) {
        return hami_internal_errors_set(reterr, HAMI_E_NOMEM, "out of memory");
    }
    lock->config = known;
    code = init(lock);
    if (code == 0 && !known.wakeup) {
        code = start_thread(lock);
    }
    if (code == 0 && lock->transport->watch) {
        code = lock->transport->watch(lock->transport, lock);
        code = code == 0 || code == HAMI_E_NOMEM ? code : HAMI_E_TRANSPORT;
    }
    if (code < 0) {
        stop_thread(lock);
        destroy(lock);
        return hami_internal_errors_set(reterr, code, "%s", hami_strerror(code));
    }
    *ret = lock;
    return 0;
}

/* ---- the end ---- */

static void end_waits(struct hami_nodelock *lock)
{
    struct hami_internal_node **nodes;
    size_t count;

    if (hami_internal_nodes_all(lock, &nodes, &count) < 0) {
        return; /* waits end by their deadlines */
    }
    for (size_t i = 0; i < count; i++) {
        struct hami_internal_after after;
        (void)pthread_mutex_lock(&nodes[i]->mutex);
        hami_internal_after_init(&after, nodes[i]);
        hami_internal_node_end_all_waits(nodes[i], HAMI_E_CLOSED, &after,
                                         "the manager is shutting down");
        hami_internal_run(nodes[i], &after);
        hami_internal_nodes_unpin(nodes[i]);
    }
    hami_internal_memory_free(hami_internal_allocator(lock), nodes);
}

/* Until a node has come to rest since `rests` was read, and at most so long, by the
 * system's clock: the manager's own may be another. In pieces, because with config.wakeup
 * shutdown has to run the timers by itself. */
static void wait_a_piece(struct hami_nodelock *lock, uint64_t ns, uint32_t rests)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(ns < 20 * NS_PER_MS ? ns : 20 * NS_PER_MS);
    until.tv_sec += until.tv_nsec / (long)NS_PER_S;
    until.tv_nsec %= (long)NS_PER_S;
    (void)pthread_mutex_lock(&lock->ready_mutex);
    if (lock->rests == rests) {
        (void)pthread_cond_timedwait(&lock->idle_condition, &lock->ready_mutex, &until);
    }
    (void)pthread_mutex_unlock(&lock->ready_mutex);
}

/* What may be called neither in a forked child nor from a callback. */
static int check_outside(hami_nodelock *lock)
{
    if (!lock) {
        return HAMI_E_INVAL;
    }
    if (hami_internal_manager_is_forked(lock)) {
        return HAMI_E_FORKED;
    }
    return hami_internal_dispatch_is_inside(lock) ? HAMI_E_INVAL : 0;
}

int hami_nodelock_shutdown(hami_nodelock *lock, uint64_t deadline_ns)
{
    int code = check_outside(lock);

    if (code < 0) {
        return code;
    }
    atomic_store(&lock->closing, true);
    end_waits(lock);
    for (;;) {
        if (lock->config.wakeup) {
            (void)hami_internal_dispatch_turn(lock);
        }
        uint32_t rests = hami_internal_dispatch_rests(lock);
        if (!hami_internal_nodes_any_busy(lock)) {
            return 0;
        }
        uint64_t now = hami_internal_now(lock);
        if (now >= deadline_ns) {
            return HAMI_E_TIMEDOUT;
        }
        uint64_t next = hami_internal_dispatch_next(lock);
        next = next < deadline_ns ? next : deadline_ns;
        wait_a_piece(lock, next > now ? next - now : 0, rests);
    }
}

/* Nothing is sent any more: who waits for a release or a check hears no more of it. */
static void end_dones(struct hami_nodelock *lock)
{
    struct hami_internal_node **nodes;
    size_t count;

    if (hami_internal_nodes_all(lock, &nodes, &count) < 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct hami_internal_after after;
        (void)pthread_mutex_lock(&nodes[i]->mutex);
        hami_internal_after_init(&after, nodes[i]);
        hami_internal_node_end_dones(nodes[i], &after);
        hami_internal_run(nodes[i], &after);
        hami_internal_nodes_unpin(nodes[i]);
    }
    hami_internal_memory_free(hami_internal_allocator(lock), nodes);
}

static void abort_calls(struct hami_nodelock *lock)
{
    struct hami_internal_node **nodes;
    size_t count;

    if (!lock->transport->abort || hami_internal_nodes_all(lock, &nodes, &count) < 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        hami_internal_run_abort(nodes[i]);
        hami_internal_nodes_unpin(nodes[i]);
    }
    hami_internal_memory_free(hami_internal_allocator(lock), nodes);
}

/* Waits until the transport has let go of all calls. False if it still has some long past
 * any deadline. */
static bool await_calls(struct hami_nodelock *lock)
{
    struct timespec until;
    bool returned = true;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(lock->config.call_timeout_ms / 1000 + 2);
    (void)pthread_mutex_lock(&lock->ready_mutex);
    atomic_fetch_or(&lock->calls_out, HAMI_INTERNAL_CALLS_AWAITED);
    while (atomic_load(&lock->calls_out) != HAMI_INTERNAL_CALLS_AWAITED && returned) {
        returned = pthread_cond_timedwait(&lock->idle_condition, &lock->ready_mutex,
                                          &until) == 0;
    }
    (void)pthread_mutex_unlock(&lock->ready_mutex);
    return returned;
}

hami_nodelock *hami_nodelock_free(hami_nodelock *lock)
{
    if (!lock || hami_internal_manager_is_forked(lock)) {
        /* In a forked child the mutexes may be held for ever: what the parent had is left
         * alone. */
        return NULL;
    }
    if (lock->transport->watch) {
        lock->transport->unwatch(lock->transport, lock);
    }
    atomic_store(&lock->closing, true);
    end_waits(lock);
    atomic_store(&lock->freed, true);
    stop_thread(lock);
    abort_calls(lock);
    bool returned = await_calls(lock);
    end_dones(lock);
    (void)hami_internal_dispatch_turn(lock);
    if (lock->transport->close) {
        lock->transport->close(lock->transport, lock);
    }
    /* Of a transport that breaks its promise memory is lost rather than used after it was
     * freed. */
    if (returned) {
        hami_internal_manager_unref(lock);
    }
    return NULL;
}

/* ---- small public functions ---- */

uint64_t hami_nodelock_now(const hami_nodelock *lock)
{
    return lock ? hami_internal_now(lock) : 0;
}

uint64_t hami_nodelock_in_ms(const hami_nodelock *lock, uint64_t ms)
{
    uint64_t now = hami_nodelock_now(lock);

    return ms > (UINT64_MAX - now) / NS_PER_MS ? HAMI_DEADLINE_NEVER
                                               : now + ms * NS_PER_MS;
}

const char *hami_nodelock_holder(const hami_nodelock *lock)
{
    return lock ? lock->holder : NULL;
}

int hami_nodelock_dispatch(hami_nodelock *lock)
{
    int code = check_outside(lock);

    if (code < 0) {
        return code;
    }
    (void)hami_internal_dispatch_turn(lock);
    return 0;
}

uint64_t hami_nodelock_next_deadline(hami_nodelock *lock)
{
    return lock ? hami_internal_dispatch_next(lock) : HAMI_DEADLINE_NEVER;
}
