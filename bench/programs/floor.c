/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare floor of a burst: the writes that a locked bind needs, as fast as one thread and
 * libcurl can send them, without any lock, queue, watch or scheduler.
 *
 * Lines "NAME UID NODE" come from standard input as the pods are created; its end ends the
 * burst. On each node one pod follows the other: PATCH the node (the pair of texts is tested
 * and replaced), POST the Binding, wait as long as an Allocate takes, PATCH the pod. With
 * --reads also what the node side reads: the node, and the pods that are bound to it, both at
 * once. Prints one JSON object with the median of its node PATCHes, and that of a plain loop
 * of curl_easy_perform with the same PATCH and the same pauses.
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

#include "kubeconfig.h"

#define NODES_MAX 1000
#define PODS_MAX 10000
#define TEXT_MAX 512
#define BODY_MAX 4096
#define LOCK_PATH "/metadata/annotations/floor.example~1mutex.lock"
#define LEASE_PATH "/metadata/annotations/floor.example~1mutex.lease"

enum step { STEP_IDLE, STEP_NODE, STEP_BINDING, STEP_READS, STEP_ALLOCATE, STEP_SUCCESS };

struct pod {
    char name[128];
    char uid[64];
    struct pod *next; /* of the same node */
};

struct node;

/* A handle that is used again and again, with the body of its request. */
struct line {
    CURL *handle;
    struct node *node;
    char body[BODY_MAX];
};

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
    uint64_t fence;
    char lock[TEXT_MAX]; /* as they stand on the node */
    char lease[TEXT_MAX];
    char next_lock[TEXT_MAX];
    char next_lease[TEXT_MAX];
};

struct floor {
    struct kubeconfig config;
    struct curl_slist *patch_headers;
    struct curl_slist *json_headers;
    CURLM *multi;
    bool has_reads;
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

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "floor: %s: %s\n", what, detail);
    exit(1);
}

static void fits(int length, size_t size)
{
    if (length < 0 || (size_t)length >= size) {
        die("a text is too long", "names, or the server's address");
    }
}

/* ---- requests ------------------------------------------------------------------- */

static size_t drop(char *bytes, size_t size, size_t count, void *data)
{
    (void)bytes;
    (void)data;
    return size * count;
}

static void prepare_line(struct floor *floor, struct line *line, struct node *node)
{
    line->handle = curl_easy_init();
    if (line->handle == NULL) {
        die("no handle", "out of memory");
    }
    line->node = node;
    kubeconfig_apply(&floor->config, line->handle);
    curl_easy_setopt(line->handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(line->handle, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(line->handle, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(line->handle, CURLOPT_USERAGENT, "bench-floor");
    curl_easy_setopt(line->handle, CURLOPT_TIMEOUT_MS, 10000L);
    curl_easy_setopt(line->handle, CURLOPT_PRIVATE, line);
}

/* Without a body: a GET. Else what line->body holds goes out. */
static void prepare_request(struct floor *floor, struct line *line, const char *method,
                            const char *path, bool has_body)
{
    char url[1024];
    bool is_patch = strcmp(method, "PATCH") == 0;
    fits(snprintf(url, sizeof(url), "%s%s", floor->config.server, path), sizeof(url));
    curl_easy_setopt(line->handle, CURLOPT_URL, url);
    if (has_body) {
        curl_easy_setopt(line->handle, CURLOPT_POSTFIELDS, line->body);
        curl_easy_setopt(line->handle, CURLOPT_POSTFIELDSIZE, (long)strlen(line->body));
    } else {
        curl_easy_setopt(line->handle, CURLOPT_HTTPGET, 1L);
    }
    curl_easy_setopt(line->handle, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(line->handle, CURLOPT_HTTPHEADER,
                     is_patch ? floor->patch_headers : floor->json_headers);
}

static void send_request(struct floor *floor, struct line *line, const char *method,
                         const char *path, bool has_body)
{
    prepare_request(floor, line, method, path, has_body);
    line->node->open++;
    if (curl_multi_add_handle(floor->multi, line->handle) != CURLM_OK) {
        die(method, path);
    }
}

/* ---- one pod after the other ------------------------------------------------------ */

/*
 * As long as those of a lock, but under keys that mean nothing to hamid, which runs on the
 * same server. The lease is kept with its quotes escaped.
 */
static void make_pair(struct node *node, const struct pod *pod)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &parts);
    node->fence++;
    fits(snprintf(node->next_lock, TEXT_MAX, "%s,default,%s", stamp, pod->name), TEXT_MAX);
    fits(snprintf(node->next_lease, TEXT_MAX,
                  "{\\\"version\\\":1,\\\"lock\\\":\\\"%s\\\",\\\"uid\\\":\\\"%s\\\","
                  "\\\"fence\\\":\\\"%llu\\\",\\\"holder\\\":\\\"floor_0\\\","
                  "\\\"attempt\\\":\\\"%llu\\\",\\\"hold_ms\\\":15000,"
                  "\\\"free\\\":\\\"node\\\"}",
                  node->next_lock, pod->uid, (unsigned long long)node->fence,
                  (unsigned long long)node->fence),
         TEXT_MAX);
}

static void make_node_patch(struct node *node, char *path, size_t size)
{
    fits(snprintf(node->first.body, BODY_MAX,
                  "[{\"op\":\"test\",\"path\":\"" LOCK_PATH "\",\"value\":\"%s\"},"
                  "{\"op\":\"test\",\"path\":\"" LEASE_PATH "\",\"value\":\"%s\"},"
                  "{\"op\":\"add\",\"path\":\"" LOCK_PATH "\",\"value\":\"%s\"},"
                  "{\"op\":\"add\",\"path\":\"" LEASE_PATH "\",\"value\":\"%s\"}]",
                  node->lock, node->lease, node->next_lock, node->next_lease),
         BODY_MAX);
    fits(snprintf(path, size, "/api/v1/nodes/%s", node->name), size);
}

static void pair_is_written(struct node *node)
{
    memcpy(node->lock, node->next_lock, sizeof(node->lock));
    memcpy(node->lease, node->next_lease, sizeof(node->lease));
}

static void start_node(struct floor *floor, struct node *node)
{
    char path[TEXT_MAX];
    make_pair(node, node->head);
    make_node_patch(node, path, sizeof(path));
    node->step = STEP_NODE;
    node->began_us = now_us();
    send_request(floor, &node->first, "PATCH", path, true);
}

static void start_binding(struct floor *floor, struct node *node)
{
    char path[TEXT_MAX];
    fits(snprintf(node->first.body, BODY_MAX,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{"
                  "\"name\":\"%s\",\"namespace\":\"default\",\"uid\":\"%s\","
                  "\"annotations\":{\"hami.io/bind-phase\":\"allocating\","
                  "\"hami.io/bind-time\":\"%lld\",\"hami.io/mutex.fence\":\"%llu\"}},"
                  "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"%s\"}}",
                  node->head->name, node->head->uid, (long long)time(NULL),
                  (unsigned long long)node->fence, node->name),
         BODY_MAX);
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
    fits(snprintf(path, sizeof(path), "/api/v1/nodes/%s", node->name), sizeof(path));
    send_request(floor, &node->first, "GET", path, false);
    /* Nobody sets these pods Running: without its name the list would grow with each. */
    fits(snprintf(path, sizeof(path),
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
    fits(snprintf(node->first.body, BODY_MAX,
                  "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"%s\"},"
                  "{\"op\":\"replace\",\"path\":\"/metadata/annotations/"
                  "hami.io~1vgpu-devices-to-allocate\",\"value\":\";\"},"
                  "{\"op\":\"add\",\"path\":\"/metadata/annotations/hami.io~1bind-phase\","
                  "\"value\":\"success\"},"
                  "{\"op\":\"add\",\"path\":\"/metadata/annotations/hami.io~1mutex.done\","
                  "\"value\":\"%llu\"}]",
                  node->head->uid, (unsigned long long)node->fence),
         BODY_MAX);
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
    node->head = pod->next;
    if (node->head == NULL) {
        node->tail = &node->head;
    }
    free(pod);
}

/* The step's last answer is here. */
static void go_on(struct floor *floor, struct node *node)
{
    switch (node->step) {
    case STEP_NODE:
        pair_is_written(node);
        if (floor->patch_count < PODS_MAX) {
            floor->patch_us[floor->patch_count++] = now_us() - node->began_us;
        }
        start_binding(floor, node);
        break;
    case STEP_BINDING:
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
        end_pod(node);
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
    /* What stands on a node before its first turn. */
    memcpy(node->lock, "none", sizeof("none"));
    memcpy(node->lease, "none", sizeof("none"));
    node->tail = &node->head;
    prepare_line(floor, &node->first, node);
    prepare_line(floor, &node->second, node);
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
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(floor->multi, &left)) != NULL) {
        struct line *line;
        long status = 0;
        CURLcode code = message->data.result;
        CURL *handle = message->easy_handle;
        curl_easy_getinfo(handle, CURLINFO_PRIVATE, &line);
        curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
        curl_multi_remove_handle(floor->multi, handle);
        if (code != CURLE_OK || status < 200 || status > 299) {
            char text[64];
            snprintf(text, sizeof(text), "answer %ld, step %d", status, line->node->step);
            die(text, code != CURLE_OK ? curl_easy_strerror(code) : line->body);
        }
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
    int wait_ms;
    while ((wait_ms = turn(floor)) >= 0) {
        struct curl_waitfd input = {.fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN};
        int running;
        curl_multi_perform(floor->multi, &running);
        take_answers(floor);
        curl_multi_poll(floor->multi, &input, floor->input_ended ? 0 : 1, wait_ms, NULL);
        if (!floor->input_ended && input.revents != 0) {
            read_input(floor);
        }
        curl_multi_perform(floor->multi, &running);
        take_answers(floor);
    }
}

/* ---- the plain loop beside it --------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static int64_t median(int64_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return count == 0 ? 0 : values[count / 2];
}

static int64_t loop(struct floor *floor, size_t count)
{
    static int64_t took_us[PODS_MAX];
    struct node *node = floor->nodes[0];
    struct pod pod = {.name = "loop", .uid = "00000000-0000-0000-0000-000000000000"};
    char path[TEXT_MAX];
    for (size_t i = 0; i < count; i++) {
        long status = 0;
        make_pair(node, &pod);
        make_node_patch(node, path, sizeof(path));
        prepare_request(floor, &node->first, "PATCH", path, true);
        int64_t begin = now_us();
        CURLcode code = curl_easy_perform(node->first.handle);
        took_us[i] = now_us() - begin;
        curl_easy_getinfo(node->first.handle, CURLINFO_RESPONSE_CODE, &status);
        if (code != CURLE_OK || status != 200) {
            die("the plain loop", node->first.body);
        }
        pair_is_written(node);
        poll(NULL, 0, (int)(floor->allocate_us / 1000));
    }
    return median(took_us, count);
}

static void open_floor(struct floor *floor, const char *kubeconfig)
{
    static const char *const kinds[] = {"Content-Type: application/json-patch+json",
                                        "Content-Type: application/json"};
    struct curl_slist **lists[] = {&floor->patch_headers, &floor->json_headers};
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (kubeconfig_read(&floor->config, kubeconfig) < 0) {
        die("kubeconfig", floor->config.problem);
    }
    for (size_t i = 0; i < 2; i++) {
        *lists[i] = curl_slist_append(NULL, kinds[i]);
        if (floor->config.bearer != NULL) {
            curl_slist_append(*lists[i], floor->config.bearer);
        }
    }
    floor->multi = curl_multi_init();
    if (floor->multi == NULL) {
        die("no multi handle", "out of memory");
    }
    curl_multi_setopt(floor->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
}

static void close_floor(struct floor *floor)
{
    for (size_t i = 0; i < floor->node_count; i++) {
        curl_easy_cleanup(floor->nodes[i]->first.handle);
        curl_easy_cleanup(floor->nodes[i]->second.handle);
        free(floor->nodes[i]);
    }
    curl_multi_cleanup(floor->multi);
    curl_slist_free_all(floor->patch_headers);
    curl_slist_free_all(floor->json_headers);
    kubeconfig_free(&floor->config);
    curl_global_cleanup();
}

int main(int argc, char **argv)
{
    static const struct option table[] = {{"kubeconfig", required_argument, NULL, 'k'},
                                          {"allocate-ms", required_argument, NULL, 'a'},
                                          {"reads", no_argument, NULL, 'r'},
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
        } else {
            return 2;
        }
    }
    if (kubeconfig == NULL) {
        die("usage", "floor --kubeconfig FILE [--allocate-ms N] [--reads] < pods");
    }
    open_floor(&floor, kubeconfig);
    run(&floor);
    if (floor.node_count == 0) {
        die("no pods", "on standard input");
    }
    int64_t patch_us = median(floor.patch_us, floor.patch_count);
    int64_t loop_us = loop(&floor, 40);
    printf("{\"pods\":%zu,\"patch_us\":%lld,\"loop_us\":%lld}\n", floor.pod_count,
           (long long)patch_us, (long long)loop_us);
    close_floor(&floor);
    return 0;
}
