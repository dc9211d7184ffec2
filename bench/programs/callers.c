/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube-scheduler's side of an extender in a bench: one bind for each line "NAME UID NODE",
 * all at once, or as many at a time as --at-once says, on as many connections.
 *
 *   bench-callers [--at-once N] HOST:PORT
 *
 * Takes all lines up to an empty one, opens the connections, says "ready", and sends the
 * binds in that order when another line comes ("go"). Prints one JSON object when all are
 * answered, and ends with the input. One thread, one epoll; whatever fails ends the program, but for binds that
 * are answered with an error: those are counted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MAX 4096
#define EVENTS 256

struct caller {
    char *request;
    size_t request_length;
    int64_t sent_us;
    int64_t took_us;
    char *answer;
    size_t answer_length;
    int fd;
};

struct callers {
    struct sockaddr_in address;
    const char *host;
    struct caller *all;
    size_t count;
    size_t sent;
    size_t at_once;
    size_t failed;
    char first_error[512];
    int poll;
};

static void die(const char *what, const char *detail) __attribute__((noreturn));

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "callers: %s: %s\n", what, detail);
    exit(1);
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void parse_address(struct callers *callers, const char *text)
{
    char host[64];
    int port;
    if (sscanf(text, "%63[0-9.]:%d", host, &port) != 2 || port < 1 || port > 65535) {
        die("no HOST:PORT", text);
    }
    callers->host = text;
    callers->address.sin_family = AF_INET;
    callers->address.sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, host, &callers->address.sin_addr) != 1) {
        die("no address", host);
    }
}

static void add_caller(struct callers *callers, const char *name, const char *uid,
                       const char *node)
{
    char body[1024];
    int length =
        snprintf(body, sizeof(body),
                 "{\"PodName\":\"%s\",\"PodNamespace\":\"default\",\"PodUID\":\"%s\","
                 "\"Node\":\"%s\"}",
                 name, uid, node);
    if ((callers->count & (callers->count - 1)) == 0) {
        size_t room = callers->count == 0 ? 1 : 2 * callers->count;
        callers->all = realloc(callers->all, room * sizeof(*callers->all));
    }
    if (callers->all == NULL || length < 0 || (size_t)length >= sizeof(body)) {
        die("no caller", name);
    }
    struct caller *caller = &callers->all[callers->count++];
    memset(caller, 0, sizeof(*caller));
    length = asprintf(&caller->request,
                      "POST /bind HTTP/1.1\r\nHost: %s\r\n"
                      "Content-Type: application/json\r\n"
                      "User-Agent: kube-scheduler/bench\r\nAccept-Encoding: gzip\r\n"
                      "Content-Length: %d\r\n\r\n%s",
                      callers->host, length, body);
    if (length < 0) {
        die("no request", "out of memory");
    }
    caller->request_length = (size_t)length;
}

static void read_binds(struct callers *callers)
{
    char text[512];
    char name[128];
    char uid[64];
    char node[128];
    while (fgets(text, sizeof(text), stdin) != NULL && *text != '\n') {
        if (sscanf(text, "%127s %63s %127s", name, uid, node) != 3) {
            die("no pod, UID and node", text);
        }
        add_caller(callers, name, uid, node);
    }
    if (callers->count == 0) {
        die("no binds", "on standard input");
    }
}

/* The kernel's limit is often 1024. */
static void allow_files(size_t count)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
        die("getrlimit", strerror(errno));
    }
    if (limit.rlim_cur >= count + 32) {
        return;
    }
    limit.rlim_cur = count + 32;
    if (limit.rlim_max < limit.rlim_cur) {
        limit.rlim_max = limit.rlim_cur;
    }
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) {
        die("too few files are allowed", strerror(errno));
    }
}

static void open_connection(struct callers *callers, struct caller *caller)
{
    int one = 1;
    caller->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (caller->fd < 0 || connect(caller->fd, (struct sockaddr *)&callers->address,
                                  sizeof(callers->address)) < 0) {
        die("a connection", strerror(errno));
    }
    setsockopt(caller->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* On its own connection, or on that of one that has its answer. Small requests on sockets
 * that nothing else is under way on: each goes out whole. */
static void send_next(struct callers *callers, const struct caller *before)
{
    struct caller *caller = &callers->all[callers->sent++];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = caller};
    int operation = before != NULL ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    caller->fd = before != NULL ? before->fd : caller->fd;
    if (epoll_ctl(callers->poll, operation, caller->fd, &event) < 0) {
        die("epoll_ctl", strerror(errno));
    }
    caller->sent_us = now_us();
    ssize_t sent =
        send(caller->fd, caller->request, caller->request_length, MSG_NOSIGNAL);
    if (sent != (ssize_t)caller->request_length) {
        die("a bind was not sent", sent < 0 ? strerror(errno) : "in part");
    }
}

/* The body, once it is there as a whole; else NULL. */
static const char *whole_body(const char *answer)
{
    const char *body = strstr(answer, "\r\n\r\n");
    const char *length = strcasestr(answer, "\r\ncontent-length:");
    if (body == NULL) {
        return NULL;
    }
    if (length == NULL || length > body) {
        die("an answer without a length", answer);
    }
    body += 4;
    return strlen(body) >= strtoul(length + 17, NULL, 10) ? body : NULL;
}

static void note_error(struct callers *callers, const char *answer, const char *body)
{
    if (strncmp(answer, "HTTP/1.1 200", 12) == 0 &&
        (strstr(body, "\"Error\":\"\"") != NULL || strstr(body, "\"Error\"") == NULL)) {
        return;
    }
    if (callers->failed++ == 0) {
        (void)snprintf(callers->first_error, sizeof(callers->first_error), "%.500s",
                       body);
    }
}

/* True when it has its answer. */
static bool receive(struct callers *callers, struct caller *caller)
{
    if (caller->answer == NULL) {
        caller->answer = calloc(1, ANSWER_MAX);
    }
    if (caller->answer == NULL) {
        die("an answer", "out of memory");
    }
    ssize_t got = recv(caller->fd, caller->answer + caller->answer_length,
                       ANSWER_MAX - 1 - caller->answer_length, 0);
    if (got <= 0) {
        die("no answer", got < 0 ? strerror(errno) : "the connection was closed");
    }
    caller->answer_length += (size_t)got;
    caller->answer[caller->answer_length] = '\0';
    const char *body = whole_body(caller->answer);
    if (body == NULL) {
        return false;
    }
    caller->took_us = now_us() - caller->sent_us;
    note_error(callers, caller->answer, body);
    free(caller->answer);
    caller->answer = NULL;
    return true;
}

/* A connection is free. One that is not needed any more may be closed by the server. */
static void next_on(struct callers *callers, const struct caller *caller)
{
    if (callers->sent < callers->count) {
        send_next(callers, caller);
    } else if (epoll_ctl(callers->poll, EPOLL_CTL_DEL, caller->fd, NULL) < 0) {
        die("epoll_ctl", strerror(errno));
    }
}

static void wait_for_answers(struct callers *callers)
{
    struct epoll_event events[EVENTS];
    size_t answered = 0;
    while (answered < callers->count) {
        int found = epoll_wait(callers->poll, events, EVENTS, 600000);
        if (found <= 0 && errno != EINTR) {
            die("no answers", "for ten minutes");
        }
        for (int i = 0; i < found; i++) {
            if (!receive(callers, events[i].data.ptr)) {
                continue;
            }
            answered++;
            next_on(callers, events[i].data.ptr);
        }
    }
}

static int compare(const void *left, const void *right)
{
    int64_t a = ((const struct caller *)left)->took_us;
    int64_t b = ((const struct caller *)right)->took_us;
    return (a > b) - (a < b);
}

static void print_sum(struct callers *callers, int64_t took_us)
{
    size_t count = callers->count;
    qsort(callers->all, count, sizeof(*callers->all), compare);
    for (char *bad = callers->first_error; *bad != '\0'; bad++) {
        if (*bad == '"' || *bad == '\\' || (unsigned char)*bad < ' ') {
            *bad = '\'';
        }
    }
    printf("{\"binds\":%zu,\"failed\":%zu,\"seconds\":%.6f,\"median_ms\":%.3f,"
           "\"p99_ms\":%.3f,\"first_error\":\"%s\"}\n",
           count, callers->failed, (double)took_us / 1e6,
           (double)callers->all[count / 2].took_us / 1e3,
           (double)callers->all[(count * 99 - 1) / 100].took_us / 1e3,
           callers->first_error);
}

static void read_options(struct callers *callers, int argc, char **argv)
{
    static const struct option table[] = {{"at-once", required_argument, NULL, 'a'},
                                          {NULL, 0, NULL, 0}};
    int option;
    callers->at_once = SIZE_MAX;
    while ((option = getopt_long(argc, argv, "", table, NULL)) == 'a') {
        callers->at_once = strtoul(optarg, NULL, 10);
    }
    if (option != -1 || optind != argc - 1 || callers->at_once == 0) {
        die("usage", "callers [--at-once N] HOST:PORT < binds");
    }
    parse_address(callers, argv[optind]);
}

int main(int argc, char **argv)
{
    static struct callers callers;
    char text[64];
    read_options(&callers, argc, argv);
    read_binds(&callers);
    size_t connections =
        callers.count < callers.at_once ? callers.count : callers.at_once;
    allow_files(connections);
    callers.poll = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < connections; i++) {
        open_connection(&callers, &callers.all[i]);
    }
    printf("ready\n");
    fflush(stdout);
    if (fgets(text, sizeof(text), stdin) == NULL) {
        return 0;
    }
    int64_t begin = now_us();
    while (callers.sent < connections) {
        send_next(&callers, NULL);
    }
    wait_for_answers(&callers);
    print_sum(&callers, now_us() - begin);
    fflush(stdout);
    (void)fgets(text, sizeof(text), stdin); /* whoever measures us looks before we go */
    for (size_t i = 0; i < callers.count; i++) {
        free(callers.all[i].request);
    }
    close(callers.poll);
    free(callers.all);
    return 0;
}
