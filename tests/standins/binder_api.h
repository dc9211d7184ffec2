/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API calls of the broken binders: each one blocks and is bounded by a timeout. An
 * object belongs to one thread; the configuration is shared and never changes.
 */
#ifndef STANDIN_BINDER_API_H
#define STANDIN_BINDER_API_H

#include "kubeconfig.h"

#include <stdbool.h>

struct binder_api {
    const struct kubeconfig *config;
    CURL *handle;
    char problem[256]; /* of the last call that failed */
};

struct binder_pod {
    const char *namespace_name;
    const char *name;
    const char *uid;
    const char *node;
};

int binder_api_init(struct binder_api *api, const struct kubeconfig *config);
void binder_api_done(struct binder_api *api);

/* HAMi's lock value for this pod at this second; new text. */
char *binder_lock_value(const struct binder_pod *pod);
/* The lock's value on the node, "" when absent; new text, NULL: could not be read. */
char *binder_read_lock(struct binder_api *api, const char *node);
/* Write the lock where there is none. Returns 0, 1 somebody has it, -1 failed. */
int binder_take_lock(struct binder_api *api, const char *node, const char *value);
/* Write the lock without looking. */
int binder_write_lock_blindly(struct binder_api *api, const char *node,
                              const char *value);
/* Write the lock into that permit and over the cover, with a lease that has these calls, without
 * looking at anything. */
int binder_write_permit_blindly(struct binder_api *api, const struct binder_pod *pod,
                                const char *value, unsigned permit, const char *calls);
/* Remove the lock if it has this value. */
int binder_remove_lock(struct binder_api *api, const char *node, const char *value);
/* HAMi's bind-phase and bind-time, then the Binding with the pod's UID. */
int binder_bind(struct binder_api *api, const struct binder_pod *pod);

#endif
