/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See login.h. */
#include "login.h"

#include <string.h>

#define EXEC_TIMEOUT_DEFAULT_MS 30000

void hamid_login_init(struct hamid_login *login)
{
    memset(login, 0, sizeof(*login));
    login->exec_timeout_ms = EXEC_TIMEOUT_DEFAULT_MS;
}

void hamid_login_add(struct hamid_config *table, struct hamid_login *login)
{
    const struct hamid_flag rows[] = {
        {"kubeconfig", NULL, HAMID_FLAG_TEXT, &login->kubeconfig, "FILE",
         "How to reach the API server. Default: KUBECONFIG, ~/.kube/config, or the pod's "
         "service account.",
         0, 0, NULL, NULL, "KUBECONFIG"},
        {"context", NULL, HAMID_FLAG_TEXT, &login->context, "NAME",
         "The kubeconfig's context.", 0, 0, NULL},
        {"insecure-skip-tls-verify", NULL, HAMID_FLAG_BOOLEAN, &login->insecure, NULL,
         "Do not verify the API server's certificate. For trials only.", 0, 0, NULL},
        {"allow-exec-credentials", NULL, HAMID_FLAG_BOOLEAN, &login->allow_exec, NULL,
         "Run the credential plugin (exec) that the kubeconfig names: whoever writes "
         "that file then chooses a program that runs as this one does.",
         0, 0, NULL},
        {"exec-timeout", NULL, HAMID_FLAG_DURATION, &login->exec_timeout_ms, "TIME",
         "How long that plugin may take; then it is killed. Default 30s.", 100, 600000,
         NULL},
    };

    hamid_config_add(table, rows, sizeof(rows) / sizeof(rows[0]));
}

void hamid_login_put(const struct hamid_login *login,
                     struct hami_kubernetes_config *config)
{
    config->kubeconfig = login->kubeconfig;
    config->context = login->context;
    config->flags |= (login->insecure ? HAMI_KUBERNETES_INSECURE : 0) |
                     (login->allow_exec ? HAMI_KUBERNETES_ALLOW_EXEC : 0);
    config->exec_timeout_ms = login->exec_timeout_ms;
}
