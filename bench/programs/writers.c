/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands around hamid in a bench of thousands of pods, as one tight client each:
 *
 *   bench-writers create   makes a pod for each line "NAME NODE"; prints "NAME UID NODE"
 *   bench-writers serve    the node side of all nodes: says "ready", then watches the pods
 *                          and writes success onto each that is bound, until it has served
 *                          as many as --pods says
 *   bench-writers floor    the writes that a locked bind needs, for lines "NAME UID NODE",
 *                          without any lock: PATCH the node, POST the Binding, PATCH the
 *                          pod. On a node one pod follows the other.
 *
 * create and floor take all lines up to an empty one first, say "ready", and go on when
 * another line comes ("go"). serve and floor say "done" and end with their input. At most
 * LINES requests are under way, on one connection. One thread. Shares no code with the
 * libraries; whatever fails ends the program.
 */
#include <getopt.h>
#include <jansson.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "floor_lines.h"
#include "floor_texts.h"

#define LINES 80
#define PATIENCE_US INT64_C(600000000)
#define POD_PATH "/api/v1/namespaces/default/pods"

enum step { STEP_CREATE, STEP_NODE, STEP_BINDING, STEP_SUCCESS };

/* A pod and what is to be done next for it. */
struct pod {
    struct pod *next; /* of those that wait for a line, or for their node */
    char name[128];
    char uid[64];
    struct place *place;
    uint64_t fence;
    enum step step;
};

/* A node of the floor, with the pods that come after the one at work. */
struct place {
    char name[128];
    struct pod *first;
    struct pod **last;
    bool is_busy;
    struct pair pair;
};

/* What a line's private pointer names. */
struct node {
    struct writers *writers;
    struct node *next; /* of the idle ones */
    struct pod *pod;
    struct line line;
    char answer[BODY_MAX];
    size_t answer_length;
};

struct writers {
    struct login login;
    CURLM *multi;
    struct node nodes[LINES];
    struct node *idle;
    struct pod *first; /* ready for a line */
    struct pod **last;
    struct pod *all; /* as read, in order */
    struct pod **all_last;
    void *places;
    void *served; /* UIDs */
    size_t wanted;
    size_t done;
    bool is_create;
    struct line watch;
    char *text; /* of the watch, not handed out yet */
    size_t length;
    size_t capacity;
};

/* ---- pods and places --------------------------------------------------------------- */

static int compare_texts(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* A place begins with its name. */
static struct place *find_place(struct writers *writers, const char *name)
{
    struct place **found = tfind(name, &writers->places, compare_texts);
    if (found != NULL) {
        return *found;
    }
    struct place *place = calloc(1, sizeof(*place));
    if (place == NULL) {
        die("no place", "out of memory");
    }
    fits(snprintf(place->name, sizeof(place->name), "%s", name), sizeof(place->name));
    place->last = &place->first;
    pair_begin(&place->pair);
    if (tsearch(place, &writers->places, compare_texts) == NULL) {
        die("no place", "out of memory");
    }
    return place;
}

static struct pod *new_pod(struct writers *writers, const char *name, const char *uid,
                           const char *node)
{
    struct pod *pod = calloc(1, sizeof(*pod));
    if (pod == NULL) {
        die("no pod", "out of memory");
    }
    fits(snprintf(pod->name, sizeof(pod->name), "%s", name), sizeof(pod->name));
    fits(snprintf(pod->uid, sizeof(pod->uid), "%s", uid), sizeof(pod->uid));
    pod->place = find_place(writers, node);
    return pod;
}

static void append(struct pod ***last, struct pod *pod)
{
    pod->next = NULL;
    **last = pod;
    *last = &pod->next;
}

static struct pod *take_first(struct pod **first, struct pod ***last)
{
    struct pod *pod = *first;
    *first = pod->next;
    if (*first == NULL) {
        *last = first;
    }
    return pod;
}

/* Behind the pod at work on its node, if there is one. */
static void arrive(struct writers *writers, struct pod *pod)
{
    if (pod->step == STEP_NODE && pod->place->is_busy) {
        append(&pod->place->last, pod);
        return;
    }
    pod->place->is_busy = true;
    append(&writers->last, pod);
}

static void leave(struct writers *writers, struct pod *pod)
{
    struct place *place = pod->place;
    place->is_busy = false;
    if (place->first != NULL) {
        arrive(writers, take_first(&place->first, &place->last));
    }
    writers->done++;
}

/* ---- requests ----------------------------------------------------------------------- */

static void send_step(struct writers *writers, struct node *node)
{
    struct pod *pod = node->pod;
    struct place *place = pod->place;
    char *body = node->line.body;
    char path[TEXT_MAX];
    const char *method = "PATCH";
    int length;
    if (pod->step == STEP_NODE) {
        length = snprintf(path, sizeof(path), "/api/v1/nodes/%s", place->name);
        pair_next(&place->pair, pod->name, pod->uid);
        text_node_patch(body, &place->pair);
    } else if (pod->step == STEP_SUCCESS) {
        length = snprintf(path, sizeof(path), POD_PATH "/%s", pod->name);
        text_success(body, pod->uid, pod->fence);
    } else if (pod->step == STEP_BINDING) {
        method = "POST";
        length = snprintf(path, sizeof(path), POD_PATH "/%s/binding", pod->name);
        text_binding(body, pod->name, pod->uid, place->name, pod->fence);
    } else {
        method = "POST";
        length = snprintf(path, sizeof(path), POD_PATH);
        text_pod(body, pod->name, place->name);
    }
    fits(length, sizeof(path));
    node->answer_length = 0;
    node->answer[0] = '\0';
    lines_send(writers->multi, &writers->login, &node->line, method, path, true);
}

static void send_all(struct writers *writers)
{
    while (writers->idle != NULL && writers->first != NULL) {
        struct node *node = writers->idle;
        writers->idle = node->next;
        node->pod = take_first(&writers->first, &writers->last);
        send_step(writers, node);
    }
}

static void print_created(struct writers *writers, struct pod *pod, const char *answer)
{
    const char *uid = strstr(answer, "\"uid\":\"");
    if (uid == NULL || sscanf(uid + 7, "%63[^\"]", pod->uid) != 1) {
        die("a created pod without a UID", answer);
    }
    printf("%s %s %s\n", pod->name, pod->uid, pod->place->name);
    writers->done++;
}

static void go_on(struct writers *writers, struct pod *pod, const char *answer)
{
    switch (pod->step) {
    case STEP_CREATE:
        print_created(writers, pod, answer);
        break;
    case STEP_NODE:
        pair_is_written(&pod->place->pair);
        pod->fence = pod->place->pair.fence;
        pod->step = STEP_BINDING;
        append(&writers->last, pod);
        return;
    case STEP_BINDING:
        pod->step = STEP_SUCCESS;
        append(&writers->last, pod);
        return;
    case STEP_SUCCESS:
        leave(writers, pod);
        break;
    }
    free(pod);
}

static size_t keep_answer(char *bytes, size_t size, size_t count, void *data)
{
    struct node *node = data;
    size_t length = size * count;
    size_t room = sizeof(node->answer) - 1 - node->answer_length;
    size_t kept = length < room ? length : room;
    memcpy(node->answer + node->answer_length, bytes, kept);
    node->answer_length += kept;
    node->answer[node->answer_length] = '\0';
    return length;
}

static void take_answers(struct writers *writers)
{
    struct line *line;
    while ((line = lines_take(writers->multi)) != NULL) {
        struct node *node = line->node;
        struct pod *pod = node->pod;
        node->next = writers->idle;
        writers->idle = node;
        go_on(writers, pod, node->answer);
    }
}

/* ---- the watch ----------------------------------------------------------------------- */

static const char *text_at(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

/* One that is bound and was not served yet. */
static void see_pod(struct writers *writers, const json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *annotations = json_object_get(metadata, "annotations");
    const char *node = text_at(json_object_get(object, "spec"), "nodeName");
    const char *uid = text_at(metadata, "uid");
    if (*node == '\0' ||
        strcmp(text_at(annotations, "hami.io/bind-phase"), "allocating") != 0 ||
        tfind(uid, &writers->served, compare_texts) != NULL) {
        return;
    }
    if (tsearch(strdup(uid), &writers->served, compare_texts) == NULL) {
        die("no room for a UID", "out of memory");
    }
    struct pod *pod = new_pod(writers, text_at(metadata, "name"), uid, node);
    pod->fence = strtoull(text_at(annotations, "hami.io/mutex.fence"), NULL, 10);
    pod->step = STEP_SUCCESS;
    arrive(writers, pod);
}

static void see_line(struct writers *writers, const char *text, size_t length)
{
    json_t *event = json_loadb(text, length, 0, NULL);
    const char *type = text_at(event, "type");
    if (strcmp(type, "ERROR") == 0 || *type == '\0') {
        die("the watch", text);
    }
    if (strcmp(type, "DELETED") != 0) {
        see_pod(writers, json_object_get(event, "object"));
    }
    json_decref(event);
}

static size_t see_bytes(char *bytes, size_t size, size_t count, void *data)
{
    struct writers *writers = data;
    size_t got = size * count;
    if (writers->length + got > writers->capacity) {
        writers->capacity = 2 * (writers->length + got);
        writers->text = realloc(writers->text, writers->capacity);
        if (writers->text == NULL) {
            die("the watch", "out of memory");
        }
    }
    memcpy(writers->text + writers->length, bytes, got);
    writers->length += got;
    char *begin = writers->text;
    char *bound = begin + writers->length;
    char *end;
    while ((end = memchr(begin, '\n', (size_t)(bound - begin))) != NULL) {
        see_line(writers, begin, (size_t)(end - begin));
        begin = end + 1;
    }
    writers->length = (size_t)(bound - begin);
    memmove(writers->text, begin, writers->length);
    return got;
}

static void start_watch(struct writers *writers)
{
    struct line *line = &writers->watch;
    line_open(&writers->login, line, NULL);
    curl_easy_setopt(line->handle, CURLOPT_TIMEOUT_MS, 0L);
    curl_easy_setopt(line->handle, CURLOPT_WRITEFUNCTION, see_bytes);
    curl_easy_setopt(line->handle, CURLOPT_WRITEDATA, writers);
    lines_send(writers->multi, &writers->login, line, "GET",
               "/api/v1/pods?watch=1&resourceVersion=0", false);
}

/* The headers say that the server has it. */
static void wait_for_watch(struct writers *writers)
{
    long status = 0;
    int running;
    while (status == 0) {
        curl_multi_poll(writers->multi, NULL, 0, 1000, NULL);
        curl_multi_perform(writers->multi, &running);
        take_answers(writers);
        curl_easy_getinfo(writers->watch.handle, CURLINFO_RESPONSE_CODE, &status);
    }
}

/* ---- the program ----------------------------------------------------------------------- */

/* All lines up to an empty one. */
static void read_pods(struct writers *writers)
{
    char text[512];
    char name[128];
    char uid[64] = "";
    char node[128];
    while (fgets(text, sizeof(text), stdin) != NULL && *text != '\n') {
        int found = writers->is_create
                        ? sscanf(text, "%127s %127s", name, node) + 1
                        : sscanf(text, "%127s %63s %127s", name, uid, node);
        if (found != 3) {
            die("no pod", text);
        }
        struct pod *pod = new_pod(writers, name, uid, node);
        pod->step = writers->is_create ? STEP_CREATE : STEP_NODE;
        append(&writers->all_last, pod);
        writers->wanted++;
    }
}

static void wait_for_go(struct writers *writers)
{
    char text[64];
    printf("ready\n");
    fflush(stdout);
    if (fgets(text, sizeof(text), stdin) == NULL) {
        exit(0);
    }
    while (writers->all != NULL) {
        arrive(writers, take_first(&writers->all, &writers->all_last));
    }
}

static void run(struct writers *writers)
{
    int64_t moved_us = now_us();
    size_t done = writers->done;
    int running;
    while (writers->done < writers->wanted) {
        send_all(writers);
        curl_multi_perform(writers->multi, &running);
        take_answers(writers);
        if (writers->done != done) {
            moved_us = now_us();
            done = writers->done;
        } else if (now_us() - moved_us > PATIENCE_US) {
            die("no progress", "for ten minutes");
        }
        if (writers->first == NULL || writers->idle == NULL) {
            curl_multi_poll(writers->multi, NULL, 0, 1000, NULL);
        }
    }
}

static void open_writers(struct writers *writers, const char *kubeconfig)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    login_open(&writers->login, kubeconfig);
    writers->multi = lines_open(0);
    writers->last = &writers->first;
    writers->all_last = &writers->all;
    for (size_t i = 0; i < LINES; i++) {
        struct node *node = &writers->nodes[i];
        line_open(&writers->login, &node->line, node);
        node->line.answer = node->answer;
        curl_easy_setopt(node->line.handle, CURLOPT_WRITEFUNCTION, keep_answer);
        curl_easy_setopt(node->line.handle, CURLOPT_WRITEDATA, node);
        curl_easy_setopt(node->line.handle, CURLOPT_TIMEOUT_MS, 60000L);
        node->next = writers->idle;
        writers->idle = node;
    }
}

int main(int argc, char **argv)
{
    static const struct option table[] = {{"kubeconfig", required_argument, NULL, 'k'},
                                          {"pods", required_argument, NULL, 'p'},
                                          {NULL, 0, NULL, 0}};
    static struct writers writers;
    const char *kubeconfig = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (option == 'k') {
            kubeconfig = optarg;
        } else if (option == 'p') {
            writers.wanted = strtoul(optarg, NULL, 10);
        } else {
            return 2;
        }
    }
    const char *task = optind == argc - 1 ? argv[optind] : "";
    bool is_serve = strcmp(task, "serve") == 0;
    writers.is_create = strcmp(task, "create") == 0;
    if (kubeconfig == NULL || is_serve != (writers.wanted > 0) ||
        (!is_serve && !writers.is_create && strcmp(task, "floor") != 0)) {
        die("usage", "writers --kubeconfig FILE create | floor | serve --pods N");
    }
    open_writers(&writers, kubeconfig);
    if (is_serve) {
        start_watch(&writers);
        wait_for_watch(&writers);
        printf("ready\n");
        fflush(stdout);
    } else {
        read_pods(&writers);
        wait_for_go(&writers);
    }
    run(&writers);
    if (!writers.is_create) {
        char text[64];
        printf("done\n");
        fflush(stdout);
        (void)fgets(text, sizeof(text),
                    stdin); /* whoever measures us looks before we go */
    }
    return 0;
}
