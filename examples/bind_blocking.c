/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduler's bind, blocking: bind_blocking NODE NAMESPACE POD UID. Logs in as kubectl
 * does. */
#include <stdio.h>

#include <hami/kubernetes.h>

static int bind_pod(hami_kubernetes *client, hami_nodelock *lock, char **argv)
{
    struct hami_error error = HAMI_ERROR_INIT;
    hami_lease *lease;
    struct hami_nodelock_request want = {.size = sizeof(want),
                                         .node = argv[1],
                                         .owner = {argv[2], argv[3], argv[4]},
                                         .deadline_ns = hami_nodelock_in_ms(lock, 25000)};

    int code = hami_nodelock_acquire(lock, &want, &lease, &error);
    if (code == 0) {
        code = hami_kubernetes_bind(client, lease, want.deadline_ns, &error);
        if (code == 0 || code == HAMI_E_IN_DOUBT) {
            hami_lease_handoff(lease); /* bound, or may be: the node side releases */
        } else {
            hami_lease_release(lease, hami_nodelock_in_ms(lock, 5000), NULL);
        }
    }
    printf("%s %s\n", hami_errname(code), code == 0 ? want.node : error.text);
    return code == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct hami_kubernetes_config login = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_kubernetes *client = NULL;
    hami_nodelock *lock = NULL;

    hami_kubernetes_config_from_environment(&login);
    int code = argc != 5 || hami_kubernetes_new(&login, &client, &error) ||
               hami_kubernetes_transport_new(client, NULL, &config.transport, &error) ||
               hami_nodelock_new(&config, &lock, &error) || bind_pod(client, lock, argv);
    fputs(error.text, stderr);
    hami_nodelock_free(lock);
    hami_kubernetes_transport_free(config.transport);
    hami_kubernetes_free(client);
    return code;
}
