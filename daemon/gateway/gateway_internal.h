/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the gateway share. gateway.c: the front, where plugins register, and
 * life. plugin.c: one vendor's plugin, towards itself. backend.c: the same towards the
 * kubelet. listing.c: its devices. relay.c: calls that are passed on. allocate.c,
 * pre_start.c: those that are not. Loop's thread.
 *
 * A plugin's open calls stand in its list; each ends by itself, or by its cut() when the
 * plugin goes.
 */
#ifndef HAMID_GATEWAY_GATEWAY_INTERNAL_H
#define HAMID_GATEWAY_GATEWAY_INTERNAL_H

#include "folder.h"
#include "gateway.h"
#include "kubelet/kubelet.h"

#define GATEWAY_PLUGINS_MAX 64
#define GATEWAY_CALLS_MAX 256 /* open calls of one plugin */
#define GATEWAY_RESOURCE_MAX 320

enum gateway_outcome {
    GATEWAY_SERVED = 0,
    GATEWAY_REFUSED,       /* before the vendor heard of it */
    GATEWAY_VENDOR_FAILED, /* the vendor did not hand the devices out */
    GATEWAY_NOT_WRITTEN,   /* the vendor did, but it could not be written */
    GATEWAY_GONE,          /* the kubelet or the plugin went away meanwhile */
    GATEWAY_OUTCOMES
};

struct gateway {
    struct gateway_config config;
    struct folder front, kubelet;
    struct folder_socket socket; /* kubelet.sock of the front */
    struct hamid_kubelet_service *service;
    struct hamid_grpc_server *server;
    struct hamid_grpc_client *client; /* the kubelet's Registration */
    struct event *watch;              /* inotify: a kubelet has started */
    int watch_fd;
    struct gateway_plugin *plugins;
    size_t plugin_count;
    size_t allocates; /* open ones, with the library or not */
    size_t pending;   /* letters that will come */
    bool is_stopping;
    uint64_t outcomes[GATEWAY_OUTCOMES];
    uint64_t starts_refused;
    uint64_t registrations[2]; /* [0] refused, [1] taken */
};

/* An open call of the kubelet's; first member of what is done about it. */
struct gateway_call {
    struct gateway_plugin *plugin; /* NULL once it is cut */
    struct gateway_call *next, **link;
    void (*cut)(struct gateway_call *call);
};

struct gateway_plugin {
    struct gateway *gateway;
    struct gateway_plugin *next, **link;
    char resource[GATEWAY_RESOURCE_MAX];
    char endpoint[FOLDER_NAME_MAX];
    struct hamid_grpc_client *client;     /* the vendor's plugin */
    struct hamid_kubelet_request *asking; /* for its options */
    bool has_options, wants_pre_start, wants_preferred;
    /* Towards the kubelet. */
    struct hamid_grpc_server *server;
    struct folder_socket socket;
    struct hamid_kubelet_request *registering;
    bool is_registered;
    struct event *retry;
    uint64_t pause_ms;
    /* Its devices, as it told them last. */
    struct hamid_grpc_request *listing;
    uint8_t *devices; /* NULL: not told yet */
    size_t devices_length;
    struct gateway_call *calls;
    size_t call_count;
};

/* ---- plugin.c ---- */

/* A vendor's plugin has registered; replaces an older one of the resource. False without
 * memory, or with too many. */
bool gateway_plugin_add(struct gateway *gateway, const char *resource,
                        const char *endpoint);
/* Cuts its calls and forgets it; the kubelet sees its socket go. */
void gateway_plugin_remove(struct gateway_plugin *plugin);

/* False with too many open calls. */
bool gateway_call_add(struct gateway_plugin *plugin, struct gateway_call *call,
                      void (*cut)(struct gateway_call *call));
void gateway_call_remove(struct gateway_call *call);

/* ---- backend.c ---- */

/* Listens for the kubelet and registers with it, again and again until it has worked. */
void gateway_backend_start(struct gateway_plugin *plugin);
/* The same from the beginning: the kubelet has started anew. */
void gateway_backend_restart(struct gateway_plugin *plugin);
/* Nobody listens to its devices any more: the kubelet has ended, or dropped it. */
void gateway_backend_lost(struct gateway_plugin *plugin);
void gateway_backend_stop(struct gateway_plugin *plugin);

/* ---- listing.c ---- */

/* Begins to listen to the plugin's devices; where that ends, the plugin is removed. */
bool gateway_listing_start(struct gateway_plugin *plugin);
void gateway_listing_stop(struct gateway_plugin *plugin);

/* ---- handlers of the kubelet's calls; data is the plugin ---- */

void gateway_handle_options(void *data, struct hamid_grpc_call *call,
                            const uint8_t *message, size_t length);
void gateway_handle_list(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                         size_t length);
void gateway_handle_preferred(void *data, struct hamid_grpc_call *call,
                              const uint8_t *message, size_t length);
void gateway_handle_allocate(void *data, struct hamid_grpc_call *call,
                             const uint8_t *message, size_t length);
void gateway_handle_pre_start(void *data, struct hamid_grpc_call *call,
                              const uint8_t *message, size_t length);

/* Passes a call on to the vendor's plugin as it is, and its answer back. */
void gateway_relay(struct gateway_plugin *plugin, struct hamid_grpc_call *call,
                   const char *method, const uint8_t *message, size_t length);

#endif
