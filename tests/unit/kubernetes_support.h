/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the Kubernetes client share: kubesim with a client on it, a place
 * where callbacks put what they were told, and a plain HTTP/1.1 server that follows a
 * script byte by byte.
 *
 * Callbacks and the server's thread record only; all assertions are made by the test's
 * thread.
 */
#ifndef KUBERNETES_SUPPORT_H
#define KUBERNETES_SUPPORT_H

#include <check.h>
#include <hami/kubernetes.h>
#include <kubesim.h>
#include <pthread.h>

#define WAIT_MS 30000 /* for what must come; far above what it takes */

/* ---- a client on kubesim -------------------------------------------------------- */

struct fixture {
    char directory[64];
    struct kubesim *sim;
    struct hami_kubernetes_config config;
    hami_kubernetes *client;
    char log[4096]; /* all lines of the client, each ended with a newline */
    char path[128]; /* of the kubeconfig */
    pthread_mutex_t mutex;
};

/* Starts kubesim with a node "n1" and fills the config; options may be NULL. */
void fixture_open(struct fixture *fixture, const struct kubesim_options *options);
/* Makes the client from fixture->config. */
void fixture_connect(struct fixture *fixture);
void fixture_close(struct fixture *fixture);
/* True if the log has this text. */
bool fixture_has_log(struct fixture *fixture, const char *text);

/* Writes a file into a directory, by renaming a new one onto it; returns its path, new.
 */
char *write_file(const char *directory, const char *name, const char *text);
/* Makes a directory for one test, and removes it with all that is in it. */
void make_directory(char *path, size_t size);
void remove_directory(const char *path);

/* ---- requests ------------------------------------------------------------------- */

struct hami_kubernetes_request get_node(void);
/* A merge patch that sets annotation "a" of node n1. */
struct hami_kubernetes_request patch_node(void);
/* A blocking request; the answer, also one with a code, is recorded below. */
struct told {
    int code;
    int status;
    char text[512];
    char body[4096];
    size_t body_length;
    uint64_t server_time_us;
    uint64_t local_wait_ns;
    uint64_t retry_after_ms;
    bool maybe_resent;
    uint64_t at_ns;
};

/* Everything that callbacks were told, in order. */
struct record {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    size_t count;
    struct told *told;
    size_t capacity;
};
void record_init(struct record *record);
void record_done(struct record *record);
/* A callback: data is the record. */
void record_answer(void *data, const struct hami_kubernetes_answer *answer);
void record_timer(void *data, int code);
/* Waits until so many have come. Fails the test if they don't. Returns the last of them.
 */
struct told *record_wait(struct record *record, size_t count);
size_t record_count(struct record *record);

/* Sends a request and waits for its answer, whatever its code. */
struct told ask(hami_kubernetes *client, struct hami_kubernetes_request request);

/* write_file() in the fixture's directory; the path stays valid until eight more. */
const char *kept_file(const struct fixture *fixture, const char *name, const char *text);

/* The HTTP status of get_node(). Asserts that there is one. */
int status_of_get(hami_kubernetes *client);

/* ---- a server that follows a script --------------------------------------------- */

enum scripted_end {
    SCRIPTED_KEEP = 0, /* the next request may come on the same connection */
    SCRIPTED_CLOSE,
    SCRIPTED_HANG /* neither answer more nor close until the server stops */
};

struct scripted_step {
    const char *answer; /* sent after a whole request was read; NULL = nothing */
    size_t repeat;      /* then `answer_part` so many times */
    const char *answer_part;
    enum scripted_end end;
    size_t
        read_max; /* 0, or: do not wait for the whole request, only for so many bytes */
};

struct scripted {
    int listener;
    unsigned port;
    pthread_t thread;
    const struct scripted_step *steps;
    size_t step_count;
    int stop[2];
    pthread_mutex_t mutex;
    size_t request_count;
    char requests[16][2048];
    size_t connection_count;
    char url[64];
};
void scripted_start(struct scripted *server, const struct scripted_step *steps,
                    size_t count);
void scripted_stop(struct scripted *server);
size_t scripted_requests(struct scripted *server);

/* A client on a scripted server. */
hami_kubernetes *scripted_client(const struct scripted *server,
                                 void (*adjust)(struct hami_kubernetes_config *config));

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

#endif
