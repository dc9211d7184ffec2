/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where hamid scheduler listens: on addresses of its own, or on sockets that the service
 * manager has opened, which stand in their place; and under which names.
 */
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/address.h"
#include "log.h"
#include "sockets.h"

int service_fail(const char *what, const char *why)
{
    hamid_log_error(what, "err", why, NULL);
    return 1;
}

static void add_host(struct service *service, const char *host)
{
    service->hosts[service->host_count++] = host;
}

/* @fd       a passed socket, or -1: @text says where */
static int listen_on(struct service *service, struct hamid_http_server **server, int fd,
                     const char *text, int index)
{
    char error[512];
    struct hamid_http_config config;
    char *address = service->addresses[index];
    size_t size = sizeof(service->addresses[index]);
    service_http_config(service, index == 0, &config);
    *server = hamid_http_server_new(service->base, &config);
    if (*server == NULL) {
        return service_fail("Could not start", "out of memory");
    }
    int code =
        fd >= 0
            ? hamid_http_listen_fd(*server, fd, address, size, error, sizeof(error))
            : hamid_http_listen_tcp(*server, text, address, size, error, sizeof(error));
    if (code != 0) {
        return service_fail(index == 0 ? "Could not listen; see --listen"
                                       : "Could not listen; see --metrics-listen",
                            error);
    }
    return 0;
}

static void add_own_host(struct service *service, const char *listen, char own_host[256])
{
    char port[8];
    if (listen != NULL &&
        hamid_http_address_split(listen, own_host, 256, port, sizeof(port)) == 0) {
        add_host(service, own_host);
    }
}

static void add_hosts(struct service *service, const char *listen)
{
    static char own_hosts[2][256];
    const struct scheduler_options *options = &service->options;
    add_host(service, "localhost");
    add_host(service, "127.0.0.1");
    add_host(service, "::1");
    add_own_host(service, listen, own_hosts[0]);
    add_own_host(service, options->metrics_listen, own_hosts[1]);
    for (size_t i = 0; i < options->hosts.count; i++) {
        add_host(service, options->hosts.values[i]);
    }
}

/* What the service manager passed may be anything; --listen was looked at before. */
static int check_passed(const struct service *service, int fd, const char *error,
                        char *listen, size_t size)
{
    if (fd == -2) {
        return service_fail("Could not take over a socket", error);
    }
    if (fd < 0) {
        return 0;
    }
    hamid_http_address_name(fd, listen, size);
    if (!service->options.allow_remote && !hamid_http_is_loopback(listen)) {
        return service_fail("The passed socket is bound beyond the loopback; see "
                            "--allow-remote",
                            listen);
    }
    return 0;
}

int service_listen(struct service *service)
{
    char error[256];
    char listen[160];
    const struct scheduler_options *options = &service->options;
    (void)snprintf(listen, sizeof(listen), "%s", options->listen);
    int fd = hamid_socket_passed("extender", 0, error, sizeof(error));
    int status = check_passed(service, fd, error, listen, sizeof(listen));
    if (status != 0) {
        return status;
    }
    int metrics_fd = hamid_socket_passed("metrics", 1, error, sizeof(error));
    if (metrics_fd == -2) {
        return service_fail("Could not take over a socket", error);
    }
    add_hosts(service, listen);
    status = listen_on(service, &service->server, fd, options->listen, 0);
    if (status == 0 && (metrics_fd >= 0 || options->metrics_listen != NULL)) {
        status = listen_on(service, &service->metrics_server, metrics_fd,
                           options->metrics_listen, 1);
    }
    return status;
}

int service_write_addresses(const struct service *service)
{
    const char *path = service->options.address_file;
    char temporary[4096];
    if (path == NULL) {
        return 0;
    }
    if (snprintf(temporary, sizeof(temporary), "%s.new", path) >=
        (int)sizeof(temporary)) {
        return service_fail("Could not write --address-file", "its path is too long");
    }
    FILE *out = fopen(temporary, "w");
    if (out == NULL) {
        return service_fail("Could not write --address-file", temporary);
    }
    for (size_t i = 0; i < 2; i++) {
        if (service->addresses[i][0] != '\0') {
            (void)fprintf(out, "%s\n", service->addresses[i]);
        }
    }
    if (fclose(out) != 0 || rename(temporary, path) != 0) {
        return service_fail("Could not write --address-file", path);
    }
    return 0;
}
