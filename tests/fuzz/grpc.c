/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC, with whatever a peer sends. The first byte says what is tried: bytes to a server
 * that behaves as a device plugin, bytes to a client in the middle of a call, a message
 * of the kubelet's, or the text of a header field. The second says in how large pieces
 * bytes come.
 *
 * Both ends are on one thread, so nothing ever waits. However it goes, each call ends
 * once, and nothing is left of the connection.
 */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "fuzz.h"
#include "grpc/server_internal.h"
#include "grpc/text.h"
#include "kubelet.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define TURNS 6

static struct event_base *base;

/* ---- talking ----------------------------------------------------------------------- */

static void turn(int fd)
{
    char thrown_away[65536];

    for (int i = 0; i < TURNS; i++) {
        (void)event_base_loop(base, EVLOOP_NONBLOCK);
        while (recv(fd, thrown_away, sizeof(thrown_away), 0) > 0) {
        }
    }
}

static void talk(int fd, const char *bytes, size_t length, size_t piece)
{
    while (length > 0) {
        size_t part = piece > 0 && piece < length ? piece : length;
        ssize_t sent = send(fd, bytes, part, MSG_NOSIGNAL);

        turn(fd);
        if (sent <= 0) {
            return;
        }
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void open_pair(int fds[2])
{
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) ==
               0);
}

/* ---- the server -------------------------------------------------------------------- */

static struct hamid_grpc_call *watching; /* one that lasts */

static void has_gone(void *data)
{
    FUZZ_CHECK(watching == data);
    watching = NULL;
}

static void list_and_watch(void *data, struct hamid_grpc_call *call)
{
    V1beta1__Device device = V1BETA1__DEVICE__INIT, *devices[1] = {&device};
    V1beta1__ListAndWatchResponse list = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;

    (void)data;
    device.id = (char *)"a-0";
    list.devices = devices;
    list.n_devices = 1;
    (void)hamid_kubelet_send(call, &list.base);
    if (watching != NULL) {
        hamid_grpc_call_end(call, HAMID_GRPC_ABORTED, "one is enough");
        return;
    }
    watching = call;
    hamid_grpc_call_watch(call, has_gone, NULL, call);
}

static void get_options(void *data, struct hamid_grpc_call *call)
{
    const V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

    (void)data;
    hamid_kubelet_reply(call, &options.base);
}

static void allocate(void *data, struct hamid_grpc_call *call,
                     const V1beta1__AllocateRequest *request)
{
    (void)data;
    for (size_t i = 0; i < request->n_container_requests; i++) {
        for (size_t j = 0; j < request->container_requests[i]->n_ids; j++) {
            if (request->container_requests[i]->ids[j][0] == 'x') {
                hamid_grpc_call_end(call, HAMID_GRPC_NOT_FOUND,
                                    request->container_requests[i]->ids[j]);
                return;
            }
        }
    }
    hamid_kubelet_reply(call, &request->base);
}

static struct hamid_kubelet_service service = {
    .get_options = get_options, .list_and_watch = list_and_watch, .allocate = allocate};

static void try_server(struct fuzz_input *input, size_t piece)
{
    struct hamid_grpc_server_config config = {.methods = hamid_kubelet_plugin_methods,
                                              .data = &service,
                                              .message_max = 4096,
                                              .bodies_max = 8192,
                                              .streams_max = 4};
    struct hamid_grpc_server *server = hamid_grpc_server_new(base, &config);
    bool has_preface = fuzz_byte(input) % 8 != 0;
    int fds[2];

    FUZZ_CHECK(server != NULL);
    open_pair(fds);
    hamid_grpc_internal_server_take(server, fds[1]);
    if (has_preface) {
        talk(fds[0], PREFACE, strlen(PREFACE), 0);
    }
    talk(fds[0], input->at, input->left, piece);
    FUZZ_CHECK(server->bodies <= config.bodies_max);
    (void)close(fds[0]);
    (void)event_base_loop(base, EVLOOP_NONBLOCK);
    (void)event_base_loop(base, EVLOOP_NONBLOCK);
    FUZZ_CHECK(server->connection_count == 0 && server->bodies == 0);
    FUZZ_CHECK(hamid_grpc_server_calls(server) == 0 && watching == NULL);
    hamid_grpc_server_free(server);
}

/* ---- the client -------------------------------------------------------------------- */

struct seen {
    size_t messages, ends;
};

static int dial(void *data)
{
    int *fd = data;
    int taken = *fd;

    *fd = -1;
    return taken >= 0 ? taken : -ECONNREFUSED;
}

static void message_came(void *data, const uint8_t *message, size_t length)
{
    struct seen *seen = data;

    FUZZ_CHECK(seen->ends == 0 && (length == 0 || message != NULL));
    seen->messages++;
}

static void ended(void *data, const struct hamid_grpc_status *status)
{
    struct seen *seen = data;

    FUZZ_CHECK(seen->ends++ == 0 && status->text != NULL);
}

static void try_client(struct fuzz_input *input, size_t piece)
{
    struct seen seen[2] = {{0, 0}, {0, 0}};
    int fds[2];

    open_pair(fds);
    struct hamid_grpc_client_config config = {
        .dial = dial, .data = &fds[1], .message_max = 4096};
    struct hamid_grpc_client *client = hamid_grpc_client_new(base, &config);
    FUZZ_CHECK(client != NULL);
    for (int i = 0; i < 2; i++) {
        struct hamid_grpc_call_config call = {.method = HAMID_KUBELET_ALLOCATE,
                                              .message = (const uint8_t *)"",
                                              .many = i == 1,
                                              .message_came = message_came,
                                              .ended = ended,
                                              .data = &seen[i]};

        FUZZ_CHECK(hamid_grpc_client_call(client, &call) != NULL);
    }
    turn(fds[0]);
    talk(fds[0], input->at, input->left, piece);
    (void)close(fds[0]);
    (void)event_base_loop(base, EVLOOP_NONBLOCK);
    (void)event_base_loop(base, EVLOOP_NONBLOCK);
    FUZZ_CHECK(seen[0].messages <= 1);
    hamid_grpc_client_free(client);
    FUZZ_CHECK(seen[0].ends == 1 && seen[1].ends == 1);
    if (fds[1] >= 0) {
        (void)close(fds[1]);
    }
}

/* ---- messages and texts ------------------------------------------------------------ */

static void try_message(struct fuzz_input *input)
{
    static const ProtobufCMessageDescriptor *const types[] = {
        &v1beta1__register_request__descriptor,
        &v1beta1__list_and_watch_response__descriptor,
        &v1beta1__preferred_allocation_request__descriptor,
        &v1beta1__preferred_allocation_response__descriptor,
        &v1beta1__allocate_request__descriptor,
        &v1beta1__allocate_response__descriptor,
        &v1beta1__pre_start_container_request__descriptor,
        &v1beta1__device_plugin_options__descriptor,
        &v1__list_pod_resources_response__descriptor,
        &v1__get_pod_resources_response__descriptor};
    const ProtobufCMessageDescriptor *type =
        types[fuzz_byte(input) % (sizeof(types) / sizeof(types[0]))];
    ProtobufCMessage *message = NULL, *again = NULL;

    if (hamid_kubelet_unpack(type, (const uint8_t *)input->at, input->left, &message) !=
        0) {
        return;
    }
    size_t length = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(length + 1);
    FUZZ_CHECK(bytes != NULL && protobuf_c_message_pack(message, bytes) == length);
    FUZZ_CHECK(hamid_kubelet_unpack(type, bytes, length, &again) == 0);
    FUZZ_CHECK(protobuf_c_message_get_packed_size(again) == length);
    protobuf_c_message_free_unpacked(again, NULL);
    protobuf_c_message_free_unpacked(message, NULL);
    free(bytes);
}

static void try_text(const struct fuzz_input *input)
{
    char *text = fuzz_copy(input->at, input->left);
    char decoded[HAMID_GRPC_TEXT_MAX + 1], encoded[3 * HAMID_GRPC_TEXT_MAX + 1];
    char again[HAMID_GRPC_TEXT_MAX + 1], timeout[HAMID_GRPC_TIMEOUT_TEXT];
    uint64_t milliseconds = 0, rounded = 0;

    hamid_grpc_text_decode(text, input->left, decoded, sizeof(decoded));
    hamid_grpc_text_encode(decoded, encoded, sizeof(encoded));
    hamid_grpc_text_decode(encoded, strlen(encoded), again, sizeof(again));
    FUZZ_CHECK(strcmp(decoded, again) == 0);
    FUZZ_CHECK(hamid_grpc_code_parse(text, input->left) >= -1);
    (void)hamid_grpc_is_grpc(text, input->left);
    if (hamid_grpc_timeout_parse(text, input->left, &milliseconds) == 0) {
        hamid_grpc_timeout_format(milliseconds, timeout);
        FUZZ_CHECK(hamid_grpc_timeout_parse(timeout, strlen(timeout), &rounded) == 0);
        FUZZ_CHECK(rounded >= milliseconds);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {(const char *)data, size};
    unsigned what = fuzz_byte(&input);
    size_t piece = fuzz_byte(&input);

    if (base == NULL) {
        (void)signal(SIGPIPE, SIG_IGN);
        base = event_base_new();
        FUZZ_CHECK(base != NULL);
    }
    switch (what % 4) {
    case 0:
        try_server(&input, piece);
        break;
    case 1:
        try_client(&input, piece);
        break;
    case 2:
        try_message(&input);
        break;
    default:
        try_text(&input);
        break;
    }
    return 0;
}
