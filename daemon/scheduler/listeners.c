/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where hamid scheduler listens: on addresses of its own, or on sockets that the service
 * manager has opened, which stand in their place; and under which names.
 */
#include "service.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <event2/buffer.h>

#include "http/address.h"
#include "log.h"
#include "sockets.h"

#define CONNECTIONS_MAX 60000
#define METRICS_CONNECTIONS 256
#define FILES_BESIDES 512

int service_fail(const char *what, const char *why)
{
    hamid_log_error(what, "err", why, NULL);
    return 1;
}

static void add_host(struct service *service, const char *host)
{
    service->hosts[service->host_count++] = host;
}

/* Of the descriptors that there are; the rest is the API client's, files and the other
 * listener's. */
static size_t count_connections_max(void)
{
    struct rlimit limit;
    size_t files = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (size_t)limit.rlim_cur : 1024;
    size_t most = files > 2 * FILES_BESIDES ? files - FILES_BESIDES : files / 2;
    return most < CONNECTIONS_MAX ? most : CONNECTIONS_MAX;
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
    config.connections_max = index == 0 ? count_connections_max() : METRICS_CONNECTIONS;
    config.tls = certificates_tls(service->certificates, index == 0);
    if (index == 0) {
        config.client_names = service->options.client_names.values;
        config.client_name_count = service->options.client_names.count;
    }
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
static int check_passed(const struct service *service, bool is_extender, int fd,
                        const char *error, char listen[160])
{
    if (fd == -2) {
        return service_fail("Could not take over a socket", error);
    }
    if (fd < 0) {
        return 0;
    }
    hamid_http_address_name(fd, listen, 160);
    if (!scheduler_options_allow(&service->options, is_extender, listen)) {
        return service_fail(is_extender
                                ? "The passed socket is bound beyond the loopback; see "
                                  "--client-ca-file and --allow-remote"
                                : "The passed socket of metrics is bound beyond the "
                                  "loopback; see --tls-cert-file",
                            listen);
    }
    return 0;
}

/* What is dangerous on purpose is said at each start. */
static void warn_of_remote(const struct service *service, const char *listen)
{
    const struct scheduler_options *options = &service->options;
    if (options->client_ca_file == NULL && !hamid_http_is_loopback(listen)) {
        hamid_log_warning("Whoever reaches --listen can bind pods: callers are not asked "
                          "for a certificate; see --client-ca-file",
                          "listen", listen, "tls",
                          options->tls_cert_file != NULL ? "yes" : "no", NULL);
    }
}

static int start_certificates(struct service *service)
{
    char error[HAMID_FLAG_ERROR_MAX];
    if (service->options.tls_cert_file == NULL) {
        return 0;
    }
    service->certificates = certificates_new(service->base, &service->options, error);
    if (service->certificates == NULL) {
        return service_fail("Could not set up TLS; see --tls-cert-file, --tls-key-file "
                            "and --client-ca-file",
                            error);
    }
    return hamid_reload_add(service->reload, "certificate of the listeners",
                            certificates_reload, service->certificates)
               ? 0
               : service_fail("Could not start", "too many hooks");
}

int service_listen(struct service *service)
{
    char error[256];
    char listen[160];
    char metrics_listen[160];
    const struct scheduler_options *options = &service->options;
    (void)snprintf(listen, sizeof(listen), "%s", options->listen);
    int fd = hamid_socket_passed("extender", 0, error, sizeof(error));
    int status = check_passed(service, true, fd, error, listen);
    if (status != 0) {
        return status;
    }
    int metrics_fd = hamid_socket_passed("metrics", 1, error, sizeof(error));
    status = check_passed(service, false, metrics_fd, error, metrics_listen);
    status = status != 0 ? status : start_certificates(service);
    if (status != 0) {
        return status;
    }
    add_hosts(service, listen);
    warn_of_remote(service, listen);
    status = listen_on(service, &service->server, fd, options->listen, 0);
    if (status == 0 && (metrics_fd >= 0 || options->metrics_listen != NULL)) {
        status = listen_on(service, &service->metrics_server, metrics_fd,
                           options->metrics_listen, 1);
    }
    return status;
}

static void write_head(struct evbuffer *out, const char *name, const char *help)
{
    (void)evbuffer_add_printf(out, "# HELP %s %s\n# TYPE %s counter\n", name, help, name);
}

void service_listener_metrics(const struct service *service, struct evbuffer *out)
{
    static const char *const names[] = {"extender", "metrics"};
    struct hamid_http_server *const servers[] = {service->server,
                                                 service->metrics_server};
    struct hamid_http_stats stats[2] = {{0}};
    const struct {
        const char *name;
        const char *labels;
        const char *help; /* NULL = as the one before */
        size_t place;
    } rows[] = {
        {"hamid_http_connections_accepted_total", "", "Connections accepted.",
         offsetof(struct hamid_http_stats, accepted)},
        {"hamid_http_connections_evicted_total", "",
         "Silent connections closed because there were too many.",
         offsetof(struct hamid_http_stats, evicted)},
        {"hamid_http_accept_pauses_total", "",
         "Times that callers had to wait because all connections were in use.",
         offsetof(struct hamid_http_stats, pauses)},
        {"hamid_tls_handshakes_total", ",outcome=\"done\"", "TLS handshakes ended.",
         offsetof(struct hamid_http_stats, handshakes)},
        {"hamid_tls_handshakes_total", ",outcome=\"failed\"", NULL,
         offsetof(struct hamid_http_stats, handshakes_failed)},
    };
    for (size_t i = 0; i < 2; i++) {
        if (servers[i] != NULL) {
            hamid_http_server_stats(servers[i], &stats[i]);
        }
    }
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        if (rows[row].help != NULL) {
            write_head(out, rows[row].name, rows[row].help);
        }
        for (size_t i = 0; i < 2; i++) {
            uint64_t value = 0;
            memcpy(&value, (const char *)&stats[i] + rows[row].place, sizeof(value));
            (void)evbuffer_add_printf(out, "%s{listener=\"%s\"%s} %llu\n", rows[row].name,
                                      names[i], rows[row].labels,
                                      (unsigned long long)value);
        }
    }
    certificates_metrics(service->certificates, out);
}

static int fail_addresses(const char *path)
{
    char why[4352];
    (void)snprintf(why, sizeof(why), "%s: %s", path, strerror(errno));
    return service_fail("Could not write --address-file", why);
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
        return fail_addresses(temporary);
    }
    for (size_t i = 0; i < 2; i++) {
        if (service->addresses[i][0] != '\0') {
            (void)fprintf(out, "%s\n", service->addresses[i]);
        }
    }
    if (fclose(out) != 0 || rename(temporary, path) != 0) {
        return fail_addresses(path);
    }
    return 0;
}
