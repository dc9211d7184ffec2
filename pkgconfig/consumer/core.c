/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a node's lock and gives it back, with the installed core library. */
#include <stdio.h>
#include <string.h>

#include <hami/handshake.h>
#include <hami/memory.h>

int main(void)
{
    char value[HAMI_LOCK_VALUE_MAX + 1];
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_nodelock_request want = HAMI_NODELOCK_REQUEST_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_memory *memory = NULL;
    hami_nodelock *lock = NULL;
    hami_lease *lease = NULL;

    if (strcmp(hami_version(), HAMI_VERSION_STRING) != 0) {
        fprintf(stderr, "headers %s, library %s\n", HAMI_VERSION_STRING, hami_version());
        return 1;
    }
    if (hami_memory_new(0, &memory) != 0) {
        return 1;
    }
    config.transport = hami_memory_transport(memory);
    if (hami_nodelock_new(&config, &lock, &error) != 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    want.node = "node-1";
    want.owner.namespace_name = "default";
    want.owner.name = "pod-1";
    want.owner.uid = "uid-1";
    want.deadline_ns = hami_nodelock_in_ms(lock, 10000);
    int code = hami_nodelock_acquire(lock, &want, &lease, &error);
    if (code == 0) {
        code = hami_memory_get(memory, "node-1", HAMI_NODELOCK_KEY, value, sizeof(value));
        printf("core %s: %s\n", hami_version(), code == 0 ? value : "no value");
        hami_lease_release(lease, hami_nodelock_in_ms(lock, 10000), &error);
    }
    if (code == 0 && hami_memory_get(memory, "node-1", HAMI_NODELOCK_KEY, value,
                                     sizeof(value)) != HAMI_E_LOST) {
        code = HAMI_E_PROTO;
    }
    hami_nodelock_free(lock);
    hami_memory_free(memory);
    return code == 0 ? 0 : 1;
}
