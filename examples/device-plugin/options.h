/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line.
 */
#ifndef DEVICE_PLUGIN_OPTIONS_H
#define DEVICE_PLUGIN_OPTIONS_H

#include "flags.h"

/* Texts are borrowed from argv and the environment. */
struct plugin_options {
    const char *node;
    const char *devices;  /* the file */
    const char *folder;   /* of the kubelet's plugins */
    const char *endpoint; /* NULL: made from the resource */
    const char *kubeconfig, *context;
    const char *key;
    const char *pod_resources; /* socket; "" = none */
    bool needs_pod_resources;  /* the socket was given */
    bool insecure, require_fence, without_handshake, check_only;
    uint64_t allocate_timeout_ms, report_period_ms;
    uint64_t verbosity;
    bool log_json;
};

/* Returns OK and the options, HELP (shown), or WRONG (said on stderr). */
enum hamid_flags_result plugin_options_read(int argc, char *const *argv,
                                            struct plugin_options *ret);

#endif
