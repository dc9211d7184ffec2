/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* One Allocate of a device plugin: device_plugin NODE RESOURCE ID... Logs in as kubectl
 * does. */
#include <stdio.h>

#include <hami/kubernetes.h>

static int refuse(const struct hami_error *error)
{
    printf("%s %s\n", hami_errname(error->code), error->text);
    return 1;
}

static int allocate(hami_handshake *handshake, int argc, char **argv)
{
    struct hami_error error = HAMI_ERROR_INIT;
    hami_handshake_job *job; /* names the pod, its container, its devices */
    uint64_t until = hami_kubernetes_in_ms(2000);

    if (hami_handshake_begin(handshake, argv[2], (const char *const *)argv + 3,
                             (size_t)argc - 3, until, &job, &error) < 0) {
        return refuse(&error); /* no pod was written to */
    }
    printf("pod %s\n", hami_handshake_owner(job)->name);
    for (size_t i = 0; i < hami_handshake_device_count(job); i++) {
        printf("device %s\n",
               hami_handshake_device(job, i)->uuid); /* look for it, and hand it out */
    }
    /* Consumes the job; after the last container it frees the node's lock. */
    return hami_handshake_finish(job, until, &error) < 0 ? refuse(&error) : 0;
}

int main(int argc, char **argv)
{
    struct hami_kubernetes_config login = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_handshake_config config = HAMI_HANDSHAKE_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_kubernetes *client = NULL;
    hami_handshake *handshake = NULL;

    hami_kubernetes_config_from_environment(&login);
    config.node = argv[argc > 1];
    int code = argc < 4 || hami_kubernetes_new(&login, &client, &error) ||
               hami_handshake_new(client, &config, &handshake, &error) ||
               allocate(handshake, argc, argv);
    fputs(error.text, stderr);
    hami_handshake_free(handshake);
    hami_kubernetes_free(client);
    return code;
}
