/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarded patches by the libraries' public interface. The first word says which:
 *
 *   transport   hami_transport_call() of the node-annotation transport, a thread for each
 *               lane: edits go in, what stands on the node comes out
 *   client      hami_kubernetes_request_start() with the finished body, each lane's next
 *               patch from the callback of the one before
 *
 * Lanes touch nothing but their own parts; the run's counter is atomic. What a thread or
 * callback finds wrong ends the program.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/kubernetes.h>

#include "patches.h"

#define PATCH_TYPE "application/json-patch+json"
#define METADATA_ONLY "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define LOCK_KEY "floor.example/mutex.lock"
#define LEASE_KEY "floor.example/mutex.lease"
#define TIMEOUT_MS 60000 /* of a machine with much else to do, or valgrind */

struct sender {
    struct run run;
    hami_kubernetes *client;
    struct hami_transport *transport;
    sem_t idle; /* posted by each lane that has nothing left to do */
};

/* What a callback or thread is given. */
struct worker {
    struct sender *sender;
    struct lane *lane;
    pthread_t thread;
};

/* ---- the transport ---- */

/* A pair's texts are kept escaped for JSON. */
static const char *plain(const char *text, char *to)
{
    size_t length = 0;
    for (; *text != '\0'; text++) {
        if (*text != '\\') {
            to[length++] = *text;
        }
    }
    to[length] = '\0';
    return to;
}

static void patch_by_transport(struct sender *sender, struct lane *lane)
{
    char texts[4][TEXT_MAX];
    const struct pair *pair = &lane->pair;
    const struct hami_transport_edit edits[] = {
        {HAMI_EDIT_PUT, LOCK_KEY, plain(pair->lock, texts[0]),
         plain(pair->next_lock, texts[1])},
        {HAMI_EDIT_PUT, LEASE_KEY, plain(pair->lease, texts[2]),
         plain(pair->next_lease, texts[3])}};
    int code = hami_transport_call(sender->transport, lane->node, edits, 2, NULL,
                                   TIMEOUT_MS, NULL, NULL);
    if (code != 0) {
        die("hami_transport_call", hami_errname(code));
    }
}

static void *run_lane(void *data)
{
    struct worker *worker = data;
    while (lane_begin(&worker->sender->run, worker->lane)) {
        patch_by_transport(worker->sender, worker->lane);
        lane_end(worker->lane);
    }
    return NULL;
}

static void round_of_transport(struct sender *sender, struct worker *workers)
{
    for (size_t i = 0; i < sender->run.lane_count; i++) {
        if (pthread_create(&workers[i].thread, NULL, run_lane, &workers[i]) != 0) {
            die("no thread", workers[i].lane->node);
        }
    }
    for (size_t i = 0; i < sender->run.lane_count; i++) {
        pthread_join(workers[i].thread, NULL);
    }
}

/* ---- the client ---- */

static void answered(void *data, const struct hami_kubernetes_answer *answer);

static void start_patch(struct worker *worker)
{
    if (!lane_begin(&worker->sender->run, worker->lane)) {
        sem_post(&worker->sender->idle);
        return;
    }
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    request.method = HAMI_KUBERNETES_PATCH;
    request.path = worker->lane->path;
    request.accept = METADATA_ONLY;
    request.content_type = PATCH_TYPE;
    request.body = worker->lane->body;
    request.body_length = strlen(worker->lane->body);
    request.deadline_ns = hami_kubernetes_in_ms(TIMEOUT_MS);
    int code =
        hami_kubernetes_request_start(worker->sender->client, &request, answered, worker);
    if (code != 0) {
        die("hami_kubernetes_request_start", hami_errname(code));
    }
}

static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct worker *worker = data;
    if (answer->code != 0 || answer->status != 200) {
        die(answer->text, answer->body);
    }
    lane_end(worker->lane);
    start_patch(worker);
}

static void wait_for_lanes(struct sender *sender)
{
    for (size_t i = 0; i < sender->run.lane_count; i++) {
        while (sem_wait(&sender->idle) != 0 && errno == EINTR) {
        }
    }
}

static void round_of_client(struct sender *sender, struct worker *workers)
{
    for (size_t i = 0; i < sender->run.lane_count; i++) {
        start_patch(&workers[i]);
    }
    wait_for_lanes(sender);
}

/* ---- both ---- */

static void open_sender(struct sender *sender)
{
    struct hami_kubernetes_config config = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_kubernetes_transport_config unwatched =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    config.kubeconfig = sender->run.kubeconfig;
    config.request_timeout_ms = TIMEOUT_MS;
    unwatched.flags = HAMI_KUBERNETES_NO_WATCH;
    if (sem_init(&sender->idle, 0, 0) != 0 ||
        hami_kubernetes_new(&config, &sender->client, &error) != 0 ||
        hami_kubernetes_transport_new(sender->client, &unwatched, &sender->transport,
                                      &error) != 0) {
        die("no client", error.text);
    }
}

static void set_texts(struct sender *sender)
{
    for (size_t i = 0; i < sender->run.lane_count; i++) {
        struct lane *lane = &sender->run.lanes[i];
        struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
        struct hami_kubernetes_answer *answer = NULL;
        struct hami_error error = HAMI_ERROR_INIT;
        lane_text_begin(lane);
        request.method = HAMI_KUBERNETES_PATCH;
        request.path = lane->path;
        request.content_type = PATCH_TYPE;
        request.body = lane->body;
        request.body_length = strlen(lane->body);
        if (hami_kubernetes_request(sender->client, &request, &answer, &error) != 0) {
            die(lane->path, error.text);
        }
        if (answer->status != 200) {
            die(lane->path, answer->body);
        }
        hami_kubernetes_answer_free(answer);
    }
}

static void close_sender(struct sender *sender)
{
    hami_kubernetes_transport_free(sender->transport);
    hami_kubernetes_free(sender->client);
    sem_destroy(&sender->idle);
}

int main(int argc, char **argv)
{
    static struct sender sender;
    static struct worker workers[LANES_MAX];
    bool is_client = argc > 1 && strcmp(argv[1], "client") == 0;
    if (!is_client && (argc < 2 || strcmp(argv[1], "transport") != 0)) {
        die("usage", "transport|client --kubeconfig FILE --calls N NODE..");
    }
    run_open(&sender.run, argc - 1, argv + 1);
    for (size_t i = 0; i < sender.run.lane_count; i++) {
        workers[i] = (struct worker){.sender = &sender, .lane = &sender.run.lanes[i]};
    }
    open_sender(&sender);
    set_texts(&sender);
    for (int round = 0; round < 2; round++) {
        if (round == 1) {
            run_begin(&sender.run);
        }
        if (is_client) {
            round_of_client(&sender, workers);
        } else {
            round_of_transport(&sender, workers);
        }
    }
    run_end(&sender.run);
    close_sender(&sender);
    return 0;
}
