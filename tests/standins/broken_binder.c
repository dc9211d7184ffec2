/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standin-broken-binder: an extender with one of four faults, three of which were met in
 * the field. The demo runs it in hamid's place, so that the checker's figures can be seen
 * to be more than zeros. It does all the rest in good faith: a permit a node in FIFO
 * order, HAMi's lock annotation, bind-phase, the Binding with the pod's UID.
 *
 *   unlock-at-bind   permit and annotation are given up when the Binding is there,
 *                    although Allocate, which needs both, is still to come
 *   blind-patch      the annotation is written without looking, and the permit given up
 *                    after the Binding: the next write covers a lock that is still needed
 *   leak-on-timeout  a caller that gives up while it waits keeps its place in the queue;
 *                    the permit is handed to it some time and never comes back
 *   ignore-calls     pods are let in beside each other, up to eight on a node, whatever
 *                    their calls are: each is written into a permit of its own
 *
 * A thread for each connection; what they share is the permits (turns.c), the number of the
 * next one beside others, and constants.
 */
#include <getopt.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "binder_api.h"
#include "duration.h"
#include "extender_listener.h"
#include "turns.h"

#define PERMITS 8 /* beside each other on a node */

struct fault {
    const char *name;
    bool writes_blindly;
    bool unlocks_at_bind;
    bool waits_for_release; /* keeps the permit until the node side removed the lock */
    bool leaks;
    bool ignores_calls;
};

static const struct fault faults[] = {
    {.name = "unlock-at-bind", .unlocks_at_bind = true},
    {.name = "blind-patch", .writes_blindly = true},
    {.name = "leak-on-timeout", .waits_for_release = true, .leaks = true},
    {.name = "ignore-calls", .ignores_calls = true},
};

struct binder {
    const struct fault *fault;
    struct kubeconfig config;
    struct turns *turns;
    int64_t wait_ms;
    const char *calls;   /* what each pod is said to ask for, beside others */
    atomic_uint granted; /* beside others */
};

static const char help[] =
    "usage: standin-broken-binder --fault NAME --kubeconfig FILE [--listen 127.0.0.1:0]\n"
    "                             [--address-file FILE] [--wait 25s] [--calls CALLS]\n"
    "\n"
    "A scheduler extender (POST /bind) with one known fault: unlock-at-bind, "
    "blind-patch,\n"
    "leak-on-timeout or ignore-calls. For demonstrations and for testing the checker; "
    "binds\n"
    "for real.\n"
    "\n"
    "  --calls CALLS what each pod asks for, as ignore-calls writes it into its lease;\n"
    "                default nvidia.com/gpu=1\n"
    "  --wait TIME   how long a call waits for its node before it is refused\n";

static void pause_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Until the lock is no longer VALUE, or was never written; bounded, for a lost node side.
 */
static void wait_for_release(struct binder_api *api, const char *node, const char *value)
{
    int64_t until = duration_now_ms() + 60000;
    while (duration_now_ms() < until) {
        char *seen = binder_read_lock(api, node);
        bool is_ours = seen == NULL || strcmp(seen, value) == 0;
        free(seen);
        if (!is_ours) {
            return;
        }
        pause_ms(5);
    }
}

static int take_lock(struct binder *binder, struct binder_api *api,
                     const struct binder_pod *pod, const char *value)
{
    int64_t until = duration_now_ms() + binder->wait_ms;
    int code;
    if (binder->fault->writes_blindly) {
        return binder_write_lock_blindly(api, pod->node, value);
    }
    if (binder->fault->ignores_calls) {
        unsigned permit = atomic_fetch_add(&binder->granted, 1) % PERMITS + 1;
        return binder_write_permit_blindly(api, pod, value, permit, binder->calls);
    }
    while ((code = binder_take_lock(api, pod->node, value)) == 1 &&
           duration_now_ms() < until) {
        pause_ms(5);
    }
    return code == 0 ? 0 : -1;
}

/* With the permit held. Returns 0, or -1 with nothing left behind. */
static int bind_locked(struct binder *binder, struct binder_api *api,
                       const struct binder_pod *pod, const char *value)
{
    if (take_lock(binder, api, pod, value) < 0) {
        return -1;
    }
    if (binder_bind(api, pod) < 0) {
        char problem[sizeof(api->problem)];
        memcpy(problem, api->problem, sizeof(problem));
        binder_remove_lock(api, pod->node, value);
        memcpy(api->problem, problem, sizeof(problem));
        return -1;
    }
    if (binder->fault->unlocks_at_bind) {
        binder_remove_lock(api, pod->node, value);
    }
    return 0;
}

static void answer(struct extender_call *call, const char *error)
{
    json_t *body = json_pack("{s:s}", "Error", error);
    char *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    extender_answer(call, text != NULL ? text : "{\"Error\":\"out of memory\"}");
    free(text);
}

static void bind_pod(struct binder *binder, struct extender_call *call,
                     const struct binder_pod *pod)
{
    struct binder_api api;
    char *value = binder_lock_value(pod);
    if (value == NULL || binder_api_init(&api, &binder->config) < 0) {
        free(value);
        answer(call, "out of memory");
        return;
    }
    if (!turns_take(binder->turns, pod->node, binder->wait_ms)) {
        answer(call, "node lock contention: gave up waiting for this node");
    } else if (bind_locked(binder, &api, pod, value) < 0) {
        answer(call, api.problem);
        turns_give(binder->turns, pod->node);
    } else if (binder->fault->waits_for_release) {
        answer(call, "");
        wait_for_release(&api, pod->node, value);
        turns_give(binder->turns, pod->node);
    } else {
        turns_give(binder->turns, pod->node);
        answer(call, "");
    }
    binder_api_done(&api);
    free(value);
}

static const char *word(json_t *body, const char *name)
{
    json_t *value = json_object_get(body, name);
    return json_is_string(value) ? json_string_value(value) : NULL;
}

static void on_call(void *data, struct extender_call *call, const char *text)
{
    json_t *body = json_loads(text, 0, NULL);
    struct binder_pod pod = {
        .namespace_name = word(body, "PodNamespace"),
        .name = word(body, "PodName"),
        .uid = word(body, "PodUID"),
        .node = word(body, "Node"),
    };
    if (pod.namespace_name == NULL || pod.name == NULL || pod.uid == NULL ||
        pod.node == NULL) {
        answer(call, "not a bind request");
    } else {
        bind_pod(data, call, &pod);
    }
    json_decref(body);
}

static const struct fault *find_fault(const char *name)
{
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (strcmp(faults[i].name, name) == 0) {
            return &faults[i];
        }
    }
    return NULL;
}

static int complain(const char *text)
{
    fprintf(stderr, "standin-broken-binder: %s (--help tells more)\n", text);
    return 2;
}

struct place {
    const char *kubeconfig;
    const char *listen;
    const char *address_file;
};

/* Returns -1 to go on, or the exit status. */
static int read_words(struct binder *binder, struct place *place, int count, char **words)
{
    static const struct option table[] = {
        {"fault", required_argument, NULL, 'f'},
        {"kubeconfig", required_argument, NULL, 'k'},
        {"listen", required_argument, NULL, 'l'},
        {"address-file", required_argument, NULL, 'a'},
        {"wait", required_argument, NULL, 'w'},
        {"calls", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(count, words, "h", table, NULL)) != -1) {
        switch (option) {
        case 'f':
            binder->fault = find_fault(optarg);
            break;
        case 'k':
            place->kubeconfig = optarg;
            break;
        case 'l':
            place->listen = optarg;
            break;
        case 'a':
            place->address_file = optarg;
            break;
        case 'w':
            binder->wait_ms = duration_parse_ms(optarg);
            break;
        case 'c':
            binder->calls = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        default:
            return complain("that is not understood");
        }
    }
    if (binder->fault == NULL || place->kubeconfig == NULL || binder->wait_ms < 0) {
        return complain("--fault, --kubeconfig or --wait is missing or unknown");
    }
    return -1;
}

int main(int count, char **words)
{
    struct binder binder = {.wait_ms = 25000, .calls = "nvidia.com/gpu=1"};
    struct place place = {.listen = "127.0.0.1:0"};
    int status = read_words(&binder, &place, count, words);
    if (status >= 0) {
        return status;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (kubeconfig_read(&binder.config, place.kubeconfig) < 0) {
        fprintf(stderr, "standin-broken-binder: %s: %s\n", place.kubeconfig,
                binder.config.problem);
        return 1;
    }
    binder.turns = turns_new(binder.fault->leaks);
    return extender_listen(place.listen, place.address_file, on_call, &binder);
}
