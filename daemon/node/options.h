/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What command line, configuration file and environment of `hamid node` say.
 */
#ifndef HAMID_NODE_OPTIONS_H
#define HAMID_NODE_OPTIONS_H

#include <hami/kubernetes.h>

#include "config.h"
#include "login.h"

#define HAMID_NODE_VENDORS_MAX 64

/* Vendors' texts are the struct's own. */
struct node_options {
    const char *node;
    const char *socket;
    struct hamid_login login;
    const char *key;
    bool require_fence;
    const char *
        free; /* "node" or "scheduler": who frees the locks that are granted from now on */
    bool side_by_side;         /* the scheduler side may bind several at a time */
    const char *pod_resources; /* "" = the kubelet's books are not read */
    bool is_pod_resources_given;
    bool needs_pod_resources;    /* a path was given */
    const char *gateway;         /* folder of vendors' plugins; NULL = no gateway */
    const char *kubelet_plugins; /* the kubelet's own */
    uint64_t vendor_timeout_ms;
    uint64_t allocate_timeout_ms;
    uint64_t allocation_lifetime_ms;
    uint64_t verbosity;
    const char *log_format;
    bool log_json;
    struct hamid_flag_list vendor_list;
    struct hami_handshake_vendor vendors[HAMID_NODE_VENDORS_MAX];
    size_t vendor_count;
    char vendor_texts[HAMID_NODE_VENDORS_MAX][640];
    struct hamid_config config; /* the table, and where each value is from */
};

/*
 * Reads them all. The environment is NODE_NAME.
 * @problems  gets each thing that is wrong
 * Returns    OK, HELP, WRONG; in each case node_options_done() frees
 */
enum hamid_flags_result node_options_read(struct node_options *ret, int argc,
                                          char *const *argv,
                                          struct hamid_problems *problems);

/* What is to stand on the Node object: one of HAMI_HANDSHAKE_AGENT_*. */
const char *node_options_mark(const struct node_options *options);

void node_options_done(struct node_options *options);

#endif
