/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare floor of a burst: the writes that a locked bind needs, as fast as one thread
 * and libcurl can send them, without any lock, queue, watch or scheduler.
 *
 * Says "ready" once it is. Lines "NAME UID NODE" come from standard input as the pods are
 * created; its end ends the burst. On each node one pod follows the other: PATCH the node
 * (a pair of texts is tested and replaced), POST the Binding, wait as long as an Allocate
 * takes, PATCH the pod. With --reads also what the node side reads, both at once. With
 * --watch it goes on after a Binding and after a success only when a watch has told of
 * them, as whoever is not the writer has to. Prints
 * one JSON object with medians of its PATCHes of a node: those of the burst, and, in
 * turns with those of a plain loop of curl_easy_perform, such that come one at a time.
 *
 * One thread. Shares no code with the libraries.
 */
#include <getopt.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "floor_lines.h"
#include "floor_texts.h"
#include "floor_watch.h"

#define NODES_MAX 1000
#define PODS_MAX 10000
#define LOOPS 30
#define STREAMS_MAX 64L /* requests at a time, as hamid's client has them */

enum step {
    STEP_IDLE,
    STEP_NODE,
    STEP_BINDING,
    STEP_SEE_BOUND, /* --watch */
    STEP_READS,
    STEP_ALLOCATE,
    STEP_SUCCESS,
    STEP_SEE_SUCCESS, /* --watch */
    STEP_LOOP
};

struct pod {
    char name[128];
    char uid[64];
    struct pod *next; /* of the same node */
};

struct node;

struct node {
    char name[128];
    struct line first;
    struct line second; /* for the read that goes beside the other */
    struct pod *head;
    struct pod **tail;
    enum step step;
    int open; /* requests under way */
    int64_t began_us;
    int64_t due_us;
    struct pair pair;
    struct watch *watch;           /* NULL = none */
    bool seen_bound, seen_success; /* of the first pod */
};

struct floor {
    struct login login;
    CURLM *multi;
    bool has_reads, has_watch;
    int64_t allocate_us;
    struct node *nodes[NODES_MAX];
    size_t node_count;
    int64_t patch_us[PODS_MAX];
    size_t patch_count;
    size_t pod_count;
    char input[BODY_MAX];
    size_t input_length;
    bool input_ended;
};

/* ---- requests ------------------------------------------------------------------- */

static void send_request(struct floor *floor, struct line *line, const char *method,
                         const char *path, bool has_body)
{
    line->node->open++;
    lines_send(floor->multi, &floor->login, line, method, path, has_body);
}

/* ---- one pod after the other ---------------------------------------------------- */

static void node_path(const struct node *node, char *path, size_t size)
{
    fits(snprintf(path, size, "/api/v1/nodes/%s", node->name), size);
}

static void start_node(struct floor *floor, struct node *node)
{
    char path[TEXT_MAX];
    pair_next(&node->pair, node->head->name, node->head->uid);
    text_node_patch(node->first.body, &node->pair);
    node_path(node, path, sizeof(path));
    node->step = STEP_NODE;
    node->began_us = now_us();
    send_request(floor, &node->first, "PATCH", path, true);
}

static void start_binding(struct floor *floor, struct node *node)
{
    char path[TEXT_MAX];
    text_binding(node->first.body, node->head->name, node->head->uid, node->name,
                 node->pair.fence);
    fits(snprintf(path, sizeof(path), "/api/v1/namespaces/default/pods/%s/binding",
                  node->head->name),
         sizeof(path));
    node->step = STEP_BINDING;
    send_request(floor, &node->first, "POST", path, true);
}

static void start_reads(struct floor *floor, struct node *node)
{
    char path[TEXT_MAX];
    node->step = STEP_READS;
    node_path(node, path, sizeof(path));
    send_request(floor, &node->first, "GET", path, false);
    /* Nobody sets these pods Running: without its name the list would grow with each. */
    fits(snprintf(
             path, sizeof(path),
             "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s%%2Cstatus.phase%%3DPending"
             "%%2Cmetadata.name%%3D%s",
             node->name, node->head->name),
         sizeof(path));
    send_request(floor, &node->second, "GET", path, false);
}

static void start_allocate(struct floor *floor, struct node *node)
{
    node->step = STEP_ALLOCATE;
    node->due_us = now_us() + floor->allocate_us;
}

static void start_success(struct floor *floor, struct node *node)
{
    char path[TEXT_MAX];
    text_success(node->first.body, node->head->uid, node->pair.fence);
    fits(snprintf(path, sizeof(path), "/api/v1/namespaces/default/pods/%s",
                  node->head->name),
         sizeof(path));
    node->step = STEP_SUCCESS;
    send_request(floor, &node->first, "PATCH", path, true);
}

static void end_pod(struct node *node)
{
    struct pod *pod = node->head;
    node->step = STEP_IDLE;
    node->seen_bound = node->seen_success = false;
    node->head = pod->next;
    if (node->head == NULL) {
        node->tail = &node->head;
    }
    free(pod);
}

/* A watch tells of a pod; what follows has to wait until libcurl has returned. */
static void saw(struct node *node, const char *pod, bool is_served)
{
    if (node->head != NULL && strcmp(node->head->name, pod) == 0) {
        node->seen_bound = true;
        node->seen_success = node->seen_success || is_served;
    }
}

/* The step's last answer is here, or what it waits for was seen. */
static void go_on(struct floor *floor, struct node *node)
{
    switch (node->step) {
    case STEP_NODE:
        pair_is_written(&node->pair);
        if (floor->patch_count < PODS_MAX) {
            floor->patch_us[floor->patch_count++] = now_us() - node->began_us;
        }
        start_binding(floor, node);
        break;
    case STEP_BINDING:
    case STEP_SEE_BOUND:
        node->step = STEP_SEE_BOUND;
        if (floor->has_watch && !node->seen_bound) {
            return;
        }
        if (floor->has_reads) {
            start_reads(floor, node);
        } else {
            start_allocate(floor, node);
        }
        break;
    case STEP_READS:
        start_allocate(floor, node);
        break;
    case STEP_SUCCESS:
    case STEP_SEE_SUCCESS:
        node->step = STEP_SEE_SUCCESS;
        if (!floor->has_watch || node->seen_success) {
            end_pod(node);
        }
        break;
    default:
        break;
    }
    if (node->step == STEP_IDLE && node->head != NULL) {
        start_node(floor, node);
    }
}

/* ---- input and the loop ------------------------------------------------------------ */

static struct node *find_node(struct floor *floor, const char *name)
{
    for (size_t i = 0; i < floor->node_count; i++) {
        if (strcmp(floor->nodes[i]->name, name) == 0) {
            return floor->nodes[i];
        }
    }
    struct node *node = calloc(1, sizeof(*node));
    if (node == NULL || floor->node_count == NODES_MAX) {
        die("too many nodes", name);
    }
    fits(snprintf(node->name, sizeof(node->name), "%s", name), sizeof(node->name));
    pair_begin(&node->pair);
    node->tail = &node->head;
    line_open(&floor->login, &node->first, node);
    line_open(&floor->login, &node->second, node);
    floor->nodes[floor->node_count++] = node;
    return node;
}

static void take_line(struct floor *floor, const char *text)
{
    char name[128];
    struct pod *pod = calloc(1, sizeof(*pod));
    if (pod == NULL || sscanf(text, "%127s %63s %127s", pod->name, pod->uid, name) != 3) {
        die("no pod, UID and node", text);
    }
    struct node *node = find_node(floor, name);
    *node->tail = pod;
    node->tail = &pod->next;
    floor->pod_count++;
    if (node->step == STEP_IDLE) {
        start_node(floor, node);
    }
}

static void read_input(struct floor *floor)
{
    char *end;
    ssize_t got = read(STDIN_FILENO, floor->input + floor->input_length,
                       sizeof(floor->input) - 1 - floor->input_length);
    if (got <= 0) {
        floor->input_ended = true;
        return;
    }
    floor->input_length += (size_t)got;
    floor->input[floor->input_length] = '\0';
    while ((end = strchr(floor->input, '\n')) != NULL) {
        *end = '\0';
        take_line(floor, floor->input);
        floor->input_length -= (size_t)(end + 1 - floor->input);
        memmove(floor->input, end + 1, floor->input_length + 1);
    }
}

static void take_answers(struct floor *floor)
{
    struct line *line;
    while ((line = lines_take(floor->multi)) != NULL) {
        if (--line->node->open == 0) {
            go_on(floor, line->node);
        }
    }
}

/* Starts what is due; answers how long to wait at most, or -1 if all is done. */
static int turn(struct floor *floor)
{
    int64_t now = now_us();
    int64_t wait_us = floor->input_ended ? -1 : 1000000;
    for (size_t i = 0; i < floor->node_count; i++) {
        struct node *node = floor->nodes[i];
        if (node->step == STEP_ALLOCATE && node->due_us <= now) {
            start_success(floor, node);
        } else if (node->step == STEP_SEE_BOUND || node->step == STEP_SEE_SUCCESS) {
            go_on(floor, node);
        }
        if (node->step == STEP_IDLE) {
            continue;
        }
        int64_t left = node->step == STEP_ALLOCATE ? node->due_us - now : 1000000;
        wait_us = wait_us < 0 || left < wait_us ? left : wait_us;
    }
    return wait_us < 0 ? -1 : (int)((wait_us + 999) / 1000);
}

static void run(struct floor *floor)
{
    for (;;) {
        struct curl_waitfd input = {.fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN};
        int running;
        curl_multi_perform(floor->multi, &running);
        take_answers(floor);
        /* Last, since what came just now decides how long there is to wait. */
        int wait_ms = turn(floor);
        if (wait_ms < 0) {
            return;
        }
        curl_multi_poll(floor->multi, &input, floor->input_ended ? 0 : 1, wait_ms, NULL);
        if (!floor->input_ended && input.revents != 0) {
            read_input(floor);
        }
    }
}

/* ---- the plain loop beside it --------------------------------------------------- */

static void prepare_loop(struct floor *floor, struct node *node, char *path, size_t size)
{
    pair_next(&node->pair, "loop", "00000000-0000-0000-0000-000000000000");
    text_node_patch(node->first.body, &node->pair);
    node_path(node, path, size);
    poll(NULL, 0, (int)(floor->allocate_us / 1000));
}

static void wait_for_answers(struct floor *floor, const struct node *node)
{
    int running;
    while (node->open > 0) {
        curl_multi_perform(floor->multi, &running);
        take_answers(floor);
        if (node->open > 0) {
            curl_multi_poll(floor->multi, NULL, 0, 1000, NULL);
        }
    }
}

/* Connections are there before the first pod is, as they are in a daemon. */
static void warm_up(struct floor *floor, const char *name)
{
    struct node *node = find_node(floor, name);
    char path[TEXT_MAX];
    node_path(node, path, sizeof(path));
    node->step = STEP_LOOP;
    send_request(floor, &node->first, "GET", path, false);
    send_request(floor, &node->second, "GET", path, false);
    wait_for_answers(floor, node);
    node->step = STEP_IDLE;
    if (floor->has_watch) {
        node->watch = watch_open(&floor->login, floor->multi, name, saw, node);
    }
}

/* As the burst does it. */
static int64_t patch_by_floor(struct floor *floor, struct node *node)
{
    char path[TEXT_MAX];
    prepare_loop(floor, node, path, sizeof(path));
    int64_t begin = now_us();
    send_request(floor, &node->first, "PATCH", path, true);
    wait_for_answers(floor, node);
    pair_is_written(&node->pair);
    return now_us() - begin;
}

static int64_t patch_plainly(struct floor *floor, struct node *node)
{
    char path[TEXT_MAX];
    long status = 0;
    prepare_loop(floor, node, path, sizeof(path));
    line_request(&floor->login, &node->first, "PATCH", path, true);
    int64_t begin = now_us();
    CURLcode code = curl_easy_perform(node->first.handle);
    int64_t took = now_us() - begin;
    curl_easy_getinfo(node->first.handle, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK || status != 200) {
        die("the plain loop", node->first.body);
    }
    pair_is_written(&node->pair);
    return took;
}

/* In turns, so that both find the same server. The first pair opens connections. */
static void loop(struct floor *floor, int64_t *ret_floor_us, int64_t *ret_plain_us)
{
    static int64_t took_us[2][LOOPS];
    struct node *node = floor->nodes[0];
    node->step = STEP_LOOP;
    (void)(patch_by_floor(floor, node) + patch_plainly(floor, node));
    for (size_t i = 0; i < LOOPS; i++) {
        took_us[0][i] = patch_by_floor(floor, node);
        took_us[1][i] = patch_plainly(floor, node);
    }
    *ret_floor_us = median(took_us[0], LOOPS);
    *ret_plain_us = median(took_us[1], LOOPS);
}

static void open_floor(struct floor *floor, const char *kubeconfig)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    login_open(&floor->login, kubeconfig);
    floor->multi = lines_open(STREAMS_MAX);
}

static void close_floor(struct floor *floor)
{
    for (size_t i = 0; i < floor->node_count; i++) {
        curl_easy_cleanup(floor->nodes[i]->first.handle);
        curl_easy_cleanup(floor->nodes[i]->second.handle);
        watch_close(floor->multi, floor->nodes[i]->watch);
        free(floor->nodes[i]);
    }
    curl_multi_cleanup(floor->multi);
    login_close(&floor->login);
    curl_global_cleanup();
}

int main(int argc, char **argv)
{
    static const struct option table[] = {{"kubeconfig", required_argument, NULL, 'k'},
                                          {"allocate-ms", required_argument, NULL, 'a'},
                                          {"reads", no_argument, NULL, 'r'},
                                          {"watch", no_argument, NULL, 'w'},
                                          {NULL, 0, NULL, 0}};
    static struct floor floor = {.allocate_us = 20000};
    const char *kubeconfig = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (option == 'k') {
            kubeconfig = optarg;
        } else if (option == 'a') {
            floor.allocate_us = strtol(optarg, NULL, 10) * 1000;
        } else if (option == 'r') {
            floor.has_reads = true;
        } else if (option == 'w') {
            floor.has_watch = true;
        } else {
            return 2;
        }
    }
    if (kubeconfig == NULL) {
        die("usage",
            "floor --kubeconfig FILE [--allocate-ms N] [--reads] [--watch] NODE.. "
            "< pods");
    }
    open_floor(&floor, kubeconfig);
    for (int i = optind; i < argc; i++) {
        warm_up(&floor, argv[i]);
    }
    printf("ready\n");
    fflush(stdout);
    run(&floor);
    if (floor.pod_count == 0) {
        die("no pods", "on standard input");
    }
    int64_t burst_us = median(floor.patch_us, floor.patch_count);
    int64_t floor_us, plain_us;
    loop(&floor, &floor_us, &plain_us);
    printf("{\"pods\":%zu,\"burst_us\":%lld,\"patch_us\":%lld,\"loop_us\":%lld}\n",
           floor.pod_count, (long long)burst_us, (long long)floor_us,
           (long long)plain_us);
    close_floor(&floor);
    return 0;
}
