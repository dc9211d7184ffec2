/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a client, a transport and a manager with the installed libraries; asks no server.
 */
#include <stdio.h>

#include <hami/kubernetes.h>

int main(void)
{
    struct hami_kubernetes_config login = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_kubernetes_transport_config look = HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_kubernetes *client = NULL;
    hami_nodelock *lock = NULL;

    login.server = "https://127.0.0.1:1";
    login.token = "none";
    look.flags = HAMI_KUBERNETES_NO_WATCH;
    int code = hami_kubernetes_new(&login, &client, &error);
    if (code == 0) {
        code = hami_kubernetes_transport_new(client, &look, &config.transport, &error);
    }
    if (code == 0) {
        code = hami_nodelock_new(&config, &lock, &error);
    }
    if (code == 0) {
        printf("kubernetes %s: %s\n", hami_version(), hami_kubernetes_server(client));
    } else {
        fprintf(stderr, "%s: %s\n", hami_errname(code), error.text);
    }
    hami_nodelock_free(lock);
    hami_kubernetes_transport_free(config.transport);
    hami_kubernetes_free(client);
    return code == 0 ? 0 : 1;
}
