/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's life: start, its thread and loop, tasks that other threads hand in, stop.
 *
 * `lock` guards the task list, `running`, `stopping` and `activity`; it is never held
 * while a task runs. Everything else belongs to the loop's thread.
 */
#include "server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fault.h"
#include "tls.h"

#define DEFAULT_HISTORY 20000
#define DEFAULT_BOOKMARK_MS 60000

static bool on_own_thread(const struct kubesim *sim)
{
    return pthread_equal(pthread_self(), sim->thread) != 0;
}

void sim_server_call(struct kubesim *sim, void (*function)(void *data), void *data)
{
    struct sim_task task = {.function = function, .data = data};
    uint64_t one = 1;
    pthread_mutex_lock(&sim->lock);
    if (!sim->running || on_own_thread(sim)) {
        pthread_mutex_unlock(&sim->lock);
        function(data);
        return;
    }
    *sim->tasks_end = &task;
    sim->tasks_end = &task.next;
    while (write(sim->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    while (!task.done) {
        pthread_cond_wait(&sim->done, &sim->lock);
    }
    pthread_mutex_unlock(&sim->lock);
}

void sim_server_notify(struct kubesim *sim)
{
    pthread_mutex_lock(&sim->lock);
    sim->activity++;
    pthread_cond_broadcast(&sim->changed);
    pthread_mutex_unlock(&sim->lock);
}

/* Run what was handed in; the lock is free meanwhile. */
static void run_tasks(struct kubesim *sim)
{
    pthread_mutex_lock(&sim->lock);
    while (sim->tasks != NULL) {
        struct sim_task *task = sim->tasks;
        sim->tasks = task->next;
        if (sim->tasks == NULL) {
            sim->tasks_end = &sim->tasks;
        }
        pthread_mutex_unlock(&sim->lock);
        task->function(task->data);
        pthread_mutex_lock(&sim->lock);
        task->done = true;
        pthread_cond_broadcast(&sim->done);
    }
    pthread_mutex_unlock(&sim->lock);
}

static void on_wake(evutil_socket_t fd, short what, void *data)
{
    struct kubesim *sim = data;
    uint64_t count;
    (void)what;
    while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
    run_tasks(sim);
    pthread_mutex_lock(&sim->lock);
    bool stopping = sim->stopping;
    pthread_mutex_unlock(&sim->lock);
    if (stopping) {
        event_base_loopbreak(sim->base);
    }
}

/* What only a running server has: sockets, watches, requests on their way. */
static void close_all(struct kubesim *sim)
{
    if (sim->listener != NULL) {
        evconnlistener_free(sim->listener);
        sim->listener = NULL;
    }
    sim_connections_close(sim);
    while (sim->exchanges != NULL) {
        sim_exchange_free(sim->exchanges);
    }
    /* libevent frees a bufferevent from its loop only */
    (void)event_base_loop(sim->base, EVLOOP_NONBLOCK);
    sim_audit_flush(sim);
}

static void *run(void *data)
{
    struct kubesim *sim = data;
    (void)event_base_dispatch(sim->base);
    close_all(sim);
    pthread_mutex_lock(&sim->lock);
    sim->running = false;
    pthread_mutex_unlock(&sim->lock);
    run_tasks(sim); /* whoever came too late is still answered */
    return NULL;
}

static char **copy_users(const char *const *users)
{
    size_t count = 0;
    while (users != NULL && users[count] != NULL) {
        count++;
    }
    char **copy = calloc(count + 2, sizeof(*copy));
    bool admin = false;
    if (copy == NULL) {
        abort();
    }
    for (size_t i = 0; i < count; i++) {
        copy[i] = strdup(users[i]);
        admin = admin || strcmp(users[i], "admin") == 0;
    }
    if (!admin) {
        copy[count] = strdup("admin");
    }
    return copy;
}

static void seed_namespaces(struct kubesim *sim)
{
    static const char *const names[] = {"default", "kube-system", "kube-public",
                                        "kube-node-lease"};
    const struct sim_resource *resource = sim_resource_find("/api/v1", "namespaces");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_t *object = json_pack("{s:{s:s}}", "metadata", "name", names[i]);
        sim_resource_prepare_create(resource, object, true);
        (void)sim_store_put(sim->store, resource, object);
    }
}

static void set_options(struct kubesim *sim, const struct kubesim_options *options)
{
    if (options != NULL) {
        sim->options = *options;
    }
    if (sim->options.history == 0) {
        sim->options.history = DEFAULT_HISTORY;
    }
    if (sim->options.bookmark_ms == 0) {
        sim->options.bookmark_ms = DEFAULT_BOOKMARK_MS;
    }
    sim->users = copy_users(sim->options.users);
    sim->options.users = NULL; /* not ours to keep */
}

static int set_up(struct kubesim *sim)
{
    sim->tls = sim_tls_new("admin", !sim->options.without_http2);
    sim->base = event_base_new();
    sim->store = sim_store_new(sim->options.history);
    sim->faults = calloc(1, sizeof(*sim->faults));
    sim->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sim->tls == NULL || sim->base == NULL || sim->store == NULL ||
        sim->faults == NULL || sim->wake_fd < 0) {
        return -ENOMEM;
    }
    sim->wake_event =
        event_new(sim->base, sim->wake_fd, EV_READ | EV_PERSIST, on_wake, sim);
    if (sim->wake_event == NULL || event_add(sim->wake_event, NULL) < 0 ||
        sim_watch_init(sim) < 0) {
        return -ENOMEM;
    }
    int result = sim_audit_init(sim);
    if (result == 0) {
        result = sim_listen(sim);
    }
    sim->options.audit_path = NULL; /* not ours to keep */
    if (result == 0) {
        seed_namespaces(sim);
    }
    return result;
}

static int start_thread(struct kubesim *sim)
{
    sigset_t all, before;
    sigfillset(&all);
    sim->running = true;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&sim->thread, NULL, run, sim);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0) {
        sim->running = false;
    }
    return -result;
}

int kubesim_start(const struct kubesim_options *options, struct kubesim **ret)
{
    struct kubesim *sim = calloc(1, sizeof(*sim));
    pthread_condattr_t monotonic;
    if (sim == NULL) {
        return -ENOMEM;
    }
    sim->wake_fd = -1;
    sim->tasks_end = &sim->tasks;
    pthread_mutex_init(&sim->lock, NULL);
    pthread_cond_init(&sim->done, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sim->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    set_options(sim, options);
    int result = set_up(sim);
    if (result == 0) {
        result = start_thread(sim);
    }
    if (result < 0) {
        (void)kubesim_free(sim);
        return result;
    }
    *ret = sim;
    return 0;
}

void kubesim_stop(struct kubesim *sim)
{
    uint64_t one = 1;
    pthread_mutex_lock(&sim->lock);
    bool first = sim->running && !sim->stopping;
    sim->stopping = true;
    pthread_mutex_unlock(&sim->lock);
    if (first) {
        while (write(sim->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
        }
        pthread_join(sim->thread, NULL);
    }
}

struct kubesim *kubesim_free(struct kubesim *sim)
{
    if (sim == NULL) {
        return NULL;
    }
    kubesim_stop(sim);
    if (sim->base != NULL && sim->audit != NULL) {
        close_all(sim);
    }
    sim_audit_done(sim);
    sim_watch_done(sim);
    if (sim->faults != NULL) {
        sim_fault_disarm(sim->faults, 0);
    }
    free(sim->faults);
    sim_store_free(sim->store);
    json_decref(sim->canned);
    if (sim->wake_event != NULL) {
        event_free(sim->wake_event);
    }
    if (sim->base != NULL) {
        event_base_free(sim->base);
    }
    if (sim->wake_fd >= 0) {
        close(sim->wake_fd);
    }
    sim_tls_free(sim->tls);
    for (char **user = sim->users; *user != NULL; user++) {
        free(*user);
    }
    free(sim->users);
    pthread_mutex_destroy(&sim->lock);
    pthread_cond_destroy(&sim->done);
    pthread_cond_destroy(&sim->changed);
    free(sim);
    return NULL;
}
