/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* An event loop (libuv), and no thread of the library's: three pods take one node in
 * turn. */
#include <stdio.h>
#include <uv.h>

#include <hami/memory.h>

static hami_nodelock *lock;
static uv_timer_t timer;
static int left = 3;

static void wake(void *async) /* any thread may call it */
{
    uv_async_send(async);
}

static void turn(uv_timer_t *due)
{
    hami_nodelock_dispatch(lock); /* the callbacks below run in here */
    uint64_t next = hami_nodelock_next_deadline(lock), now = hami_nodelock_now(lock);
    uv_timer_start(due, turn, next > now ? (next - now) / 1000000 + 1 : 0, 0);
}

static void woken(uv_async_t *async)
{
    turn(async->data);
}

static void released(void *pod, int code, const struct hami_error *error)
{
    printf("%s released: %s %s\n", (char *)pod, hami_errname(code), error->text);
    if (--left == 0) {
        uv_stop(timer.loop);
    }
}

static void granted(void *pod, int code, hami_lease *lease, const struct hami_error *why)
{
    printf("%s granted: %s\n", (char *)pod, hami_errname(code));
    if (hami_lease_release_start(lease, HAMI_DEADLINE_NEVER, released, pod) != 0) {
        released(pod, code, why); /* there was no lease */
    }
}

int main(void)
{
    char pods[][2] = {"a", "b", "c"};
    uv_async_t async = {.data = &timer};
    struct hami_nodelock_config config = {
        .size = sizeof(config), .wakeup = wake, .wakeup_data = &async};
    struct hami_nodelock_request want = {.size = sizeof(want), .node = "node-1"};
    hami_memory *store = NULL;

    uv_timer_init(uv_default_loop(), &timer);
    uv_async_init(uv_default_loop(), &async, woken);
    hami_memory_new(0, &store);
    config.transport = hami_memory_transport(store);
    int code = hami_nodelock_new(&config, &lock, NULL);
    for (int i = 0; i < 3 && code == 0; i++) {
        want.owner = (struct hami_owner){"default", pods[i], pods[i]};
        want.deadline_ns = hami_nodelock_in_ms(lock, 5000);
        code = hami_nodelock_acquire_start(lock, &want, granted, pods[i], NULL);
    }
    if (code == 0) {
        uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    }
    hami_nodelock_free(lock);
    hami_memory_free(store);
    return left;
}
