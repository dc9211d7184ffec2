/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a client, its clock, counts and log.
 *
 * Lock: client->mutex, to read the counts. A forked child must leave the parent's
 * connections alone: there only memory is given back, and libcurl's part of it is left
 * lying.
 */
#include "http_client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define IN_FLIGHT_DEFAULT 64u
#define IN_FLIGHT_LIMIT 1000u
#define EXEC_TIMEOUT_MS_LIMIT 600000u
#define REQUEST_TIMEOUT_MS_DEFAULT 5000u
#define ANSWER_BYTES_DEFAULT (64u * 1024 * 1024)
#define IDLE_CONNECTIONS_EXTRA 16
#define LOG_LINE_MAX 1024

/* ---- clock ---------------------------------------------------------------------- */

uint64_t hami_kubernetes_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 * HAMI_INTERNAL_NANOSECONDS_PER_MS +
           (uint64_t)now.tv_nsec;
}

uint64_t hami_kubernetes_in_ms(uint64_t ms)
{
    uint64_t now = hami_kubernetes_now();

    if (ms > (UINT64_MAX - now) / HAMI_INTERNAL_NANOSECONDS_PER_MS) {
        return HAMI_DEADLINE_NEVER;
    }
    return now + ms * HAMI_INTERNAL_NANOSECONDS_PER_MS;
}

/* ---- odds and ends -------------------------------------------------------------- */

bool hami_internal_http_is_forked(const hami_kubernetes *client)
{
    return *(volatile const unsigned char *)client->fork_page == 0;
}

bool hami_internal_http_is_own_thread(const hami_kubernetes *client)
{
    return pthread_equal(pthread_self(), client->thread) != 0;
}

void hami_internal_http_count_watch_restart(hami_kubernetes *client)
{
    pthread_mutex_lock(&client->mutex);
    client->stats.watch_restarts++;
    pthread_mutex_unlock(&client->mutex);
}

void hami_internal_http_log(const hami_kubernetes *client, enum hami_log_level level,
                            const char *format, ...)
{
    char line[LOG_LINE_MAX];
    va_list arguments;

    if (client->log == NULL) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    for (char *at = line; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            *at = ' ';
        }
    }
    client->log(client->log_data, level, line);
}

/* ---- making --------------------------------------------------------------------- */

static unsigned char *make_fork_page(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *page =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED) {
        return NULL;
    }
    if (madvise(page, size, MADV_WIPEONFORK) != 0) {
        (void)munmap(page, size);
        return NULL;
    }
    page[0] = 1;
    return page;
}

/* With tls-server-name the URL has that name, while the connection and the Host header
 * keep the server's own: libcurl knows no other way to send and check another name. */
static int set_addresses(hami_kubernetes *client)
{
    const struct hami_internal_login *login = &client->login;
    const char *host =
        login->tls_server_name != NULL ? login->tls_server_name : login->host;

    if (asprintf(&client->base_url, "%s://%s:%s%s", login->is_plain ? "http" : "https",
                 host, login->port, login->prefix) < 0) {
        client->base_url = NULL;
        return HAMI_E_NOMEM;
    }
    if (login->tls_server_name == NULL) {
        return 0;
    }
    if (asprintf(&client->connect_to.data, "::%s:%s", login->host, login->port) < 0) {
        client->connect_to.data = NULL;
        return HAMI_E_NOMEM;
    }
    if (asprintf(&client->host_header, "Host: %s:%s", login->host, login->port) < 0) {
        client->host_header = NULL;
        return HAMI_E_NOMEM;
    }
    return 0;
}

static int set_numbers(hami_kubernetes *client,
                       const struct hami_kubernetes_config *config,
                       struct hami_error *reterr)
{
    const char *agent = config->user_agent != NULL
                            ? config->user_agent
                            : "libhaminodelock/" HAMI_VERSION_STRING;

    if (config->flags & ~(HAMI_KUBERNETES_INSECURE | HAMI_KUBERNETES_ALLOW_EXEC)) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "flags has an unknown bit");
    }
    if (config->exec_timeout_ms > EXEC_TIMEOUT_MS_LIMIT) {
        return hami_internal_support_fail(
            reterr, HAMI_E_INVAL, "exec_timeout_ms is above %u", EXEC_TIMEOUT_MS_LIMIT);
    }
    if (config->in_flight_max > IN_FLIGHT_LIMIT) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "in_flight_max is above %u", IN_FLIGHT_LIMIT);
    }
    if (config->user_agent != NULL &&
        !hami_internal_http_value_is_valid(config->user_agent)) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "user_agent can't stand in a header");
    }
    client->in_flight_max =
        config->in_flight_max != 0 ? config->in_flight_max : IN_FLIGHT_DEFAULT;
    client->request_timeout_ms = config->request_timeout_ms != 0
                                     ? config->request_timeout_ms
                                     : REQUEST_TIMEOUT_MS_DEFAULT;
    client->answer_bytes_max =
        config->answer_bytes_max != 0 ? config->answer_bytes_max : ANSWER_BYTES_DEFAULT;
    client->buffer_bytes = HAMI_INTERNAL_HTTP_BUFFER_BYTES;
    client->log = config->log;
    client->log_data = config->log_data;
    client->denied = config->denied;
    client->denied_data = config->denied_data;
    client->user_agent = strdup(agent);
    return client->user_agent != NULL
               ? 0
               : hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
}

static int set_login(hami_kubernetes *client, const struct hami_kubernetes_config *config,
                     struct hami_error *reterr)
{
    int code = hami_internal_login_find(config, &client->login, reterr);

    if (code == 0 && hami_internal_http_renew_keep(client, config) != 0) {
        code = hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    if (code == 0) {
        code = hami_internal_http_credentials_open(client, reterr);
    }
    if (code == 0) {
        code = hami_internal_http_exec_open(client, config->exec_timeout_ms, reterr);
    }
    if (code != 0) {
        return code;
    }
    return set_addresses(client) == 0
               ? 0
               : hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
}

static int set_machinery(hami_kubernetes *client, struct hami_error *reterr)
{
    client->fork_page = make_fork_page();
    client->multi = curl_multi_init();
    if (client->fork_page == NULL || client->multi == NULL) {
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    (void)curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    /* Without HTTP/2 each request in flight has a connection, and is to find it again. */
    (void)curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS,
                            (long)client->in_flight_max + IDLE_CONNECTIONS_EXTRA);
    if (getrandom(&client->random, sizeof(client->random), 0) != sizeof(client->random) ||
        client->random == 0) {
        client->random = hami_kubernetes_now() | 1;
    }
    return 0;
}

static void free_memory(hami_kubernetes *client)
{
    hami_internal_http_credentials_free(client->credentials);
    hami_internal_http_renew_done(client);
    hami_internal_login_done(&client->login);
    free(client->base_url);
    free(client->host_header);
    free(client->connect_to.data);
    free(client->user_agent);
    if (client->fork_page != NULL) {
        (void)munmap(client->fork_page, (size_t)sysconf(_SC_PAGESIZE));
    }
    (void)pthread_mutex_destroy(&client->mutex);
    free(client);
}

/* Undoes everything but the thread. */
static void destroy(hami_kubernetes *client)
{
    hami_internal_http_exec_close(client);
    (void)curl_multi_cleanup(client->multi);
    free_memory(client);
    curl_global_cleanup();
}

static void log_start(const hami_kubernetes *client)
{
    hami_internal_http_log(client, HAMI_LOG_INFO, "Will use the API server %s by %s",
                           client->login.server, client->login.source);
    if (client->login.is_insecure) {
        hami_internal_http_log(
            client, HAMI_LOG_WARNING,
            "Verifies no certificate of %s: whoever answers there gets the "
            "credentials. Give its CA instead",
            client->login.server);
    }
}

int hami_kubernetes_new(const struct hami_kubernetes_config *config,
                        hami_kubernetes **ret, struct hami_error *reterr)
{
    struct hami_kubernetes_config copy;
    hami_kubernetes *client;
    int code = hami_internal_support_copy_sized(&copy, sizeof(copy), config);

    if (code != 0 || ret == NULL) {
        return hami_internal_support_fail(
            reterr, code != 0 ? code : HAMI_E_INVAL,
            "The config or the place for the client is wrong");
    }
    client = calloc(1, sizeof(*client));
    if (client == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(client);
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    (void)pthread_mutex_init(&client->mutex, NULL);
    TAILQ_INIT(&client->inbox);
    TAILQ_INIT(&client->waiting);
    TAILQ_INIT(&client->reads);
    client->is_woken = true;
    client->exec.cancel_fd = -1;
    code = set_numbers(client, &copy, reterr);
    if (code == 0) {
        code = set_login(client, &copy, reterr);
    }
    if (code == 0) {
        code = set_machinery(client, reterr);
    }
    if (code == 0) {
        log_start(client);
        code = hami_internal_http_loop_start(client, reterr);
    }
    if (code != 0) {
        destroy(client);
        return code;
    }
    *ret = client;
    return 0;
}

hami_kubernetes *hami_kubernetes_free(hami_kubernetes *client)
{
    if (client == NULL) {
        return NULL;
    }
    if (hami_internal_http_is_forked(client)) {
        free_memory(client);
        return NULL;
    }
    hami_internal_http_loop_stop(client);
    destroy(client);
    return NULL;
}

const char *hami_kubernetes_server(const hami_kubernetes *client)
{
    return client != NULL ? client->login.server : NULL;
}

int hami_kubernetes_stats(hami_kubernetes *client, struct hami_kubernetes_stats *ret)
{
    struct hami_kubernetes_stats stats;

    if (client == NULL || ret == NULL) {
        return HAMI_E_INVAL;
    }
    if (hami_internal_http_is_forked(client)) {
        return HAMI_E_FORKED;
    }
    pthread_mutex_lock(&client->mutex);
    stats = client->stats;
    pthread_mutex_unlock(&client->mutex);
    return hami_internal_support_give_sized(ret, &stats, sizeof(stats));
}

int hami_kubernetes_calls(hami_kubernetes *client, struct hami_kubernetes_calls *ret)
{
    struct hami_kubernetes_calls calls;

    if (client == NULL || ret == NULL) {
        return HAMI_E_INVAL;
    }
    if (hami_internal_http_is_forked(client)) {
        return HAMI_E_FORKED;
    }
    pthread_mutex_lock(&client->mutex);
    calls = client->calls;
    pthread_mutex_unlock(&client->mutex);
    return hami_internal_support_give_sized(ret, &calls, sizeof(calls));
}
