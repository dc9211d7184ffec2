/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kubelet and a vendor's device plugin, played by a test on a stage: both ends between
 * which the gateway stands. Neither shares code with the gateway but the gRPC below.
 */
#ifndef TESTS_GATEWAY_PLAYED_H
#define TESTS_GATEWAY_PLAYED_H

#include "kubelet/kubelet.h"
#include "stage.h"

#define PLAYED_RESOURCE "nvidia.com/gpu"
#define PLAYED_ROWS_MAX 128

/* How a call ended. */
struct outcome {
    int code; /* -1: not yet */
    char text[1024];
    char devices[256]; /* of an Allocate: what the vendor's answer says; of a preference:
                          ids */
};

/* ---- kubelet ---- */

/* A row of its books. */
struct played_row {
    char pod[64];
    char container[64];
    char id[64];
};

struct played_kubelet {
    struct stage *stage;
    char folder[96];
    char books[96];                                   /* the PodResources socket */
    struct hamid_grpc_server *server, *pod_resources; /* loop's thread */
    struct hamid_grpc_client *client;
    struct hamid_kubelet_request *listing;
    struct hamid_kubelet_service service;
    char endpoint[96];
    /* Guarded. */
    unsigned registrations;
    bool pre_start_required;
    bool is_listing;
    size_t devices;
    size_t unhealthy;
    unsigned lists;
    unsigned book_reads;
    bool is_mute; /* does not answer PodResources */
    struct played_row rows[PLAYED_ROWS_MAX];
    size_t row_count;
};

/* Starts in FOLDER: FOLDER/kubelet/kubelet.sock and FOLDER/pods.sock. Whatever socket is
 * in the plugin folder goes first, as with a real one. */
void kubelet_start(struct played_kubelet *kubelet, struct stage *stage,
                   const char *folder);
void kubelet_stop(struct played_kubelet *kubelet);
/* Dies and starts anew; its books are on disk. */
void kubelet_restart(struct played_kubelet *kubelet);

/* Hangs up on the plugin, and lives on. */
void kubelet_drop_plugin(struct played_kubelet *kubelet);

/* Waits until a plugin listed so many devices. */
void kubelet_wait_devices(struct played_kubelet *kubelet, size_t count);
/* Waits until no plugin is connected. */
void kubelet_wait_no_plugin(struct played_kubelet *kubelet);

void kubelet_book(struct played_kubelet *kubelet, const char *pod, const char *container,
                  const char *id);
void kubelet_clear_books(struct played_kubelet *kubelet);
void kubelet_set_mute(struct played_kubelet *kubelet, bool is_mute);

/* Calls for one container with one device; they wait for the end. */
struct outcome kubelet_allocate(struct played_kubelet *kubelet, const char *id);
struct outcome kubelet_pre_start(struct played_kubelet *kubelet, const char *id);
struct outcome kubelet_prefer(struct played_kubelet *kubelet, const char *id);
/* An Allocate of bytes that are none. */
struct outcome kubelet_allocate_garbage(struct played_kubelet *kubelet);
/* Starts an Allocate and leaves it open; a restart of the kubelet ends it. */
void kubelet_allocate_start(struct played_kubelet *kubelet, const char *id,
                            struct outcome *ret);

/* ---- vendor ---- */

struct played_vendor {
    struct stage *stage;
    char folder[96];
    const char *endpoint;
    const char *resource;
    size_t device_count;
    bool wants_pre_start;
    struct hamid_grpc_server *server; /* loop's thread */
    struct hamid_grpc_client *client;
    struct hamid_kubelet_service service;
    struct hamid_grpc_call *watcher;
    struct hamid_grpc_call *held; /* an Allocate that is not answered yet */
    /* On the loop's thread within Allocate; what a plugin of that kind does there. */
    void (*in_allocate)(void *data);
    void *data;
    bool holds;          /* does not answer Allocate until it is let go */
    const char *refuses; /* Allocate fails with this text */
    /* Guarded. */
    unsigned allocates;
    unsigned pre_starts;
    unsigned lists;
    bool was_cancelled; /* the held Allocate was given up */
};

/* Serves on FOLDER/vendors/ENDPOINT and registers at kubelet.sock there. */
void vendor_start(struct played_vendor *vendor, struct stage *stage, const char *folder);
/* How the registration ended. */
struct outcome vendor_register(struct played_vendor *vendor);
void vendor_tell_devices(struct played_vendor *vendor, size_t count);
void vendor_wait_allocates(struct played_vendor *vendor, unsigned count);
void vendor_let_go(struct played_vendor *vendor);
void vendor_stop(struct played_vendor *vendor);

#endif
