/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract suite for the example transport in examples/etcd_transport.c, on an etcd
 * that this program starts: on free loopback ports, with a data folder of its own, and
 * ended with it. The transport goes through a relay that can lose things; the suite's own
 * look at the store does not.
 */
#include "contract.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "etcd_transport.h"
#include "relay.h"

static pid_t server;
static unsigned port;
static char folder[] = "/tmp/hami-contract-etcd-XXXXXX";
static int unserved =
    -1; /* bound and not listening: nobody else gets the port meanwhile */

/* ---- etcd's gateway, past the transport ---- */

struct body {
    char *bytes;
    size_t length;
};

static size_t receive(char *bytes, size_t size, size_t count, void *data)
{
    struct body *body = data;
    char *larger = realloc(body->bytes, body->length + size * count + 1);
    if (!larger) {
        return 0;
    }
    memcpy(larger + body->length, bytes, size * count);
    body->bytes = larger;
    body->length += size * count;
    larger[body->length] = '\0';
    return size * count;
}

/* NULL if no answer came. */
static json_t *post(const char *path, json_t *json)
{
    char url[128];
    char *text = json_dumps(json, JSON_COMPACT);
    struct body body = {0};
    CURL *easy = curl_easy_init();
    snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", port, path);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 10000L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, text);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &body);
    bool came = curl_easy_perform(easy) == CURLE_OK;
    json_t *answer = came && body.bytes ? json_loads(body.bytes, 0, NULL) : NULL;
    curl_easy_cleanup(easy);
    free(body.bytes);
    free(text);
    json_decref(json);
    return answer;
}

static json_t *base64(const char *text)
{
    size_t length = strlen(text);
    unsigned char *buffer = malloc(4 * (length / 3 + 1) + 1);
    EVP_EncodeBlock(buffer, (const unsigned char *)text, (int)length);
    json_t *json = json_string((char *)buffer);
    free(buffer);
    return json;
}

static json_t *key_of(const char *node, const char *key)
{
    char text[1024];
    snprintf(text, sizeof(text), "hami/%s/%s", node, key);
    return base64(text);
}

static json_t *put_op(const char *node, const char *key, const char *value)
{
    return value ? json_pack("{s:{s:o, s:o}}", "requestPut", "key", key_of(node, key),
                             "value", base64(value))
                 : json_pack("{s:{s:o}}", "requestDeleteRange", "key", key_of(node, key));
}

static void put(struct contract *contract, const char *node, const char *key,
                const char *value)
{
    (void)contract;
    json_t *answer =
        post("/v3/kv/txn", json_pack("{s:[o, o]}", "success", put_op(node, key, value),
                                     put_op(node, "", "")));
    if (!json_is_true(json_object_get(answer, "succeeded"))) {
        fprintf(stderr, "etcd did not take a value\n");
        abort();
    }
    json_decref(answer);
}

static char *get(struct contract *contract, const char *node, const char *key)
{
    (void)contract;
    json_t *answer = post("/v3/kv/range", json_pack("{s:o}", "key", key_of(node, key)));
    if (!answer) {
        fprintf(stderr, "etcd did not tell a value\n");
        abort();
    }
    json_t *pair = json_array_get(json_object_get(answer, "kvs"), 0);
    const char *value = json_string_value(json_object_get(pair, "value"));
    size_t length = value ? strlen(value) : 0;
    unsigned char *text = pair ? calloc(1, length + 4) : NULL;
    if (text && length > 0) {
        int count = EVP_DecodeBlock(text, (const unsigned char *)value, (int)length);
        while (count > 0 && length > 0 && value[length - 1] == '=') {
            text[--count] = '\0';
            length--;
        }
    }
    json_decref(answer);
    return (char *)text;
}

static void node_make(struct contract *contract, const char *node)
{
    (void)contract;
    (void)node; /* exists from its first value on */
}

static void node_delete(struct contract *contract, const char *node)
{
    (void)contract;
    char end[512];
    snprintf(end, sizeof(end), "hami/%s0", node);
    json_decref(
        post("/v3/kv/deleterange",
             json_pack("{s:o, s:o}", "key", key_of(node, ""), "range_end", base64(end))));
}

/* ---- the server ---- */

static int bind_free(unsigned *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        abort();
    }
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static void run_server(unsigned peer_port, pid_t parent)
{
    char client[64];
    char peer[64];
    char cluster[80];
    char log[128];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(127);
    }
    snprintf(client, sizeof(client), "http://127.0.0.1:%u", port);
    snprintf(peer, sizeof(peer), "http://127.0.0.1:%u", peer_port);
    snprintf(cluster, sizeof(cluster), "default=%s", peer);
    snprintf(log, sizeof(log), "%s/log", folder);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(fd, 1);
    dup2(fd, 2);
    execlp("etcd", "etcd", "--data-dir", folder, "--listen-client-urls", client,
           "--advertise-client-urls", client, "--listen-peer-urls", peer,
           "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster,
           (char *)NULL);
    _exit(errno == ENOENT ? 126 : 127);
}

static bool is_up(void)
{
    json_t *answer = post("/v3/maintenance/status", json_object());
    bool up = json_object_get(answer, "leader") != NULL;
    json_decref(answer);
    return up;
}

/* Waits until it serves or has ended. */
static int wait_for_server(void)
{
    uint64_t until = contract_clock() + UINT64_C(30000000000);
    const struct timespec pause = {.tv_nsec = 20000000};
    int status;
    while (contract_clock() < until) {
        if (waitpid(server, &status, WNOHANG) == server) {
            server = 0;
            return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
        }
        if (is_up()) {
            return 0;
        }
        nanosleep(&pause, NULL); /* it tells nobody when it is ready */
    }
    return 127;
}

static int try_start(void)
{
    unsigned peer_port;
    int client = bind_free(&port);
    int peer = bind_free(&peer_port);
    pid_t parent = getpid();
    close(client);
    close(peer);
    server = fork();
    if (server == 0) {
        run_server(peer_port, parent);
    }
    return server > 0 ? wait_for_server() : 127;
}

static void end_server(void)
{
    char command[128];
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
        server = 0;
    }
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    if (system(command) != 0) {
        fprintf(stderr, "could not remove %s\n", folder);
    }
}

static int start(const char **ret_reason)
{
    curl_global_init(CURL_GLOBAL_ALL);
    if (!mkdtemp(folder)) {
        *ret_reason = "no folder for etcd's data could be made";
        return 1;
    }
    int code = 127;
    /* Another program may take a port between our look and etcd's start. */
    for (int i = 0; i < 3 && code == 127; i++) {
        code = try_start();
    }
    if (code != 0) {
        end_server();
    }
    if (code == 126) {
        *ret_reason = "there is no etcd in PATH: the etcd example was NOT tested "
                      "(scripts/bootstrap installs etcd-server)";
        return CONTRACT_SKIP;
    }
    *ret_reason = "etcd ended or did not serve within 30 s";
    return code;
}

/* ---- fixture ---- */

static void open_store(struct contract *contract)
{
    contract->data = relay_new(port);
    ck_assert_ptr_nonnull(contract->data);
}

static void close_store(struct contract *contract)
{
    relay_free(contract->data);
    if (unserved >= 0) {
        close(unserved);
        unserved = -1;
    }
}

static struct hami_transport *transport_at(unsigned at)
{
    char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", at);
    return etcd_transport_new(url);
}

static struct hami_transport *transport_new(struct contract *contract)
{
    return transport_at(relay_port(contract->data));
}

static struct hami_transport *transport_nowhere(struct contract *contract)
{
    (void)contract;
    unsigned at;
    unserved = bind_free(&at);
    return transport_at(at);
}

static void transport_free(struct contract *contract, struct hami_transport *transport)
{
    (void)contract;
    etcd_transport_free(transport);
}

static void arm(struct contract *contract, enum contract_fault fault)
{
    relay_arm(contract->data, fault);
}

static const struct contract_backend etcd = {
    .name = "etcd example",
    .capabilities = CONTRACT_FAULTS,
    .has_abort = true,
    .start = start,
    .stop = end_server,
    .open = open_store,
    .close = close_store,
    .transport_new = transport_new,
    .transport_free = transport_free,
    .transport_nowhere = transport_nowhere,
    .node_make = node_make,
    .node_delete = node_delete,
    .put = put,
    .get = get,
    .arm = arm,
};

int main(void)
{
    return contract_run(&etcd);
}
