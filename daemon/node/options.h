/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of `hamid node`.
 */
#ifndef HAMID_NODE_OPTIONS_H
#define HAMID_NODE_OPTIONS_H

#include <hami/kubernetes.h>

#include "flags.h"

#define HAMID_NODE_VENDORS_MAX 64

/* Texts are borrowed from argv and the environment, vendors' from the struct itself. */
struct node_options {
    const char *node;
    const char *socket;
    const char *kubeconfig;
    const char *context;
    const char *key;
    bool insecure;
    bool require_fence;
    const char *pod_resources;   /* "" = the kubelet's books are not read */
    bool needs_pod_resources;    /* the path was given */
    const char *gateway;         /* folder of vendors' plugins; NULL = no gateway */
    const char *kubelet_plugins; /* the kubelet's own */
    uint64_t vendor_timeout_ms;
    uint64_t allocate_timeout_ms;
    uint64_t allocation_lifetime_ms;
    uint64_t verbosity;
    bool log_json;
    struct hami_handshake_vendor vendors[HAMID_NODE_VENDORS_MAX];
    size_t vendor_count;
    char vendor_texts[HAMID_NODE_VENDORS_MAX][640];
};

/* Reads the command line. Returns OK and the options, HELP (shown), or WRONG (said on
 * stderr). */
enum hamid_flags_result node_options_read(int argc, char *const *argv,
                                          struct node_options *ret);

#endif
