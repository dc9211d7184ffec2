/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world for tests of the node side: kubesim with node n1, and pods that a scheduler
 * bound to it. Fails the running test where something can't be set up.
 */
#ifndef TESTS_NODE_WORLD_H
#define TESTS_NODE_WORLD_H

#include <hami/kubernetes.h>

#include "kubesim.h"

#define WORLD_GPU "nvidia.com/gpu"
#define WORLD_GPU_KEY "hami.io/vgpu-devices-to-allocate"
#define WORLD_TIME "2026-01-02T03:04:05Z"

struct world {
    struct kubesim *sim;
    char folder[64];
    char kubeconfig[96];
    hami_kubernetes *client;
};

/* Starts kubesim and a client. */
void world_start(struct world *world);
void world_stop(struct world *world);

/* A handshake for n1. */
hami_handshake *world_handshake(struct world *world, uint32_t flags);

/* A pod that waits for Allocate: bound to n1, phase allocating, fence 7. `asks` is what
 * its containers ask in turn, ended by 0. */
void world_pod(struct world *world, const char *name, const unsigned *asks,
               const char *devices);
/* One container that asks one device. */
void world_simple_pod(struct world *world, const char *name);
char *world_uid(struct world *world, const char *name);

/* Locks n1 for a pod as this library does, with fence 7. */
void world_lock(struct world *world, const char *pod);
/* Any pair; NULL: absent. */
void world_pair(struct world *world, const char *lock, const char *lease);
char *world_lease_text(const char *lock, const char *uid, const char *fence);

/* An annotation is as expected (NULL: absent). */
void world_expect_node(struct world *world, const char *key, const char *value);
void world_expect_pod(struct world *world, const char *pod, const char *key,
                      const char *value);
/* It becomes so within seconds. */
void world_wait_node(struct world *world, const char *key, const char *value);
void world_wait_pod(struct world *world, const char *pod, const char *key,
                    const char *value);

/* Requests of the client so far (watches and the test's own not counted). */
unsigned world_reads(struct world *world);
unsigned world_writes(struct world *world);

#endif
