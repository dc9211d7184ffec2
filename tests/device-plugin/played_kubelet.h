/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kubelet's side of the device plugin interface, played by the test: the Registration
 * socket, a ListAndWatch for whoever registers, and the calls that a kubelet makes. One
 * loop, turned by the test's own thread; each wait is bounded. Fails the running test
 * where something does not go as it must.
 */
#ifndef TESTS_DEVICE_PLUGIN_PLAYED_KUBELET_H
#define TESTS_DEVICE_PLUGIN_PLAYED_KUBELET_H

#include "kubelet.h"

#define PATIENCE_MS 20000
#define DEVICES_MAX 6000

struct played_kubelet {
    char folder[64];
    struct event_base *base;
    struct hamid_kubelet_service service;
    struct hamid_grpc_server *server;
    struct hamid_grpc_client *plugin;
    struct hamid_kubelet_request *watching;
    struct hamid_kubelet_request *going; /* an Allocate in flight */
    size_t registrations;
    char resource[128], endpoint[160];
    bool wants_pre_start, offers_preferred;
    size_t lists; /* of devices, that came in all */
    size_t device_count;
    struct {
        char id[64];
        bool is_healthy;
        int64_t numa; /* -1: none */
    } devices[DEVICES_MAX];
};

/* One answer; a stopped call has the code and no answer. */
struct played_answer {
    bool ended;
    int code;
    char text[1024];
    char environment[4][1024]; /* a container each: "A=1 B=2 " */
    char devices[4][512];      /* "HOST:CONTAINER:PERMISSIONS " */
    char mounts[4][512];       /* "HOST:CONTAINER:ro " */
    size_t containers;
};

/* Starts in a folder that exists; empties it first, as a kubelet does. */
void kubelet_start(struct played_kubelet *kubelet, const char *folder);
/* Ends without a word, as when it is killed. Its socket stays. */
void kubelet_kill(struct played_kubelet *kubelet);

/* Turns the loop until *value is at least `wanted`. */
void kubelet_until(struct played_kubelet *kubelet, const size_t *value, size_t wanted);
/* Until a device is as healthy as that. */
void kubelet_until_health(struct played_kubelet *kubelet, const char *id,
                          bool is_healthy);
/* Turns it for a while. */
void kubelet_turn(struct played_kubelet *kubelet, unsigned milliseconds);

/* Allocate for one container; ids separated by blanks. */
void kubelet_allocate(struct played_kubelet *kubelet, const char *ids,
                      struct played_answer *ret);
/* The same, not waited for; and giving it up. */
void kubelet_allocate_start(struct played_kubelet *kubelet, const char *ids,
                            struct played_answer *ret);
void kubelet_allocate_cancel(struct played_kubelet *kubelet);
void kubelet_pre_start(struct played_kubelet *kubelet, const char *ids,
                       struct played_answer *ret);
/* GetPreferredAllocation: environment[0] is the ids that were chosen, blanks between. */
void kubelet_prefer(struct played_kubelet *kubelet, const char *available,
                    const char *must, int size, struct played_answer *ret);

#endif
