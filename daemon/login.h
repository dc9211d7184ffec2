/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of every role that say how it reaches the API server.
 */
#ifndef HAMID_LOGIN_H
#define HAMID_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

#include <hami/kubernetes.h>

#include "config.h"

struct hamid_login {
    const char *kubeconfig; /* NULL = what the environment says */
    const char *context;
    bool insecure;
    bool allow_exec;
    uint64_t exec_timeout_ms;
};

/* Sets the defaults; to be called before the table is read. */
void hamid_login_init(struct hamid_login *login);

/* Adds the options to the table, which writes into `login`. */
void hamid_login_add(struct hamid_config *table, struct hamid_login *login);

/* Puts them into a client's configuration, which borrows their texts. */
void hamid_login_put(const struct hamid_login *login,
                     struct hami_kubernetes_config *config);

#endif
