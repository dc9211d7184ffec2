/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest whole program: new, acquire, work, release, free. README.md shows it. */
/* README begins */
#include <stdio.h>

#include <hami/memory.h>

int main(void)
{
    hami_memory *store = NULL;
    hami_nodelock *lock = NULL;
    hami_lease *lease = NULL;
    struct hami_error error = HAMI_ERROR_INIT;

    hami_memory_new(0, &store);
    struct hami_nodelock_config config = {.size = sizeof(config),
                                          .transport = hami_memory_transport(store)};
    hami_nodelock_new(&config, &lock, &error);
    struct hami_nodelock_request want = {.size = sizeof(want),
                                         .node = "node-1",
                                         .owner = {"default", "my-pod", "my-pods-uid"},
                                         .deadline_ns = hami_nodelock_in_ms(lock, 5000)};
    if (hami_nodelock_acquire(lock, &want, &lease, &error) == 0) {
        puts("node-1 is locked for my-pod"); /* work */
        hami_lease_release(lease, hami_nodelock_in_ms(lock, 5000), &error);
    }
    hami_nodelock_free(lock);
    hami_memory_free(store);
    return error.code != 0;
}
/* README ends */
