/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the credential plugin runs, and what becomes of its answer: once at _new, again a
 * while before what it gave expires, and for a 401; while the server goes on refusing
 * what it gives, and after a run that failed, there is a growing pause before the next. A
 * run that fails leaves the last credentials in use.
 *
 * Threads: a run has a thread of its own, one at a time, so that a slow plugin holds up
 * nothing but what it is needed for. Lock: client->mutex for what a run brings. All else
 * is the client's thread's; _open runs before there is one.
 */
#include "http_client.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS_DEFAULT 30000u
#define PAUSE_MS_MIN 1000u
#define PAUSE_MS_MAX 60000u
#define MARGIN_S_MAX 60 /* before the end of what expires */
#define NS_PER_MS HAMI_INTERNAL_NANOSECONDS_PER_MS

/* ---- one run -------------------------------------------------------------------- */

/* Certificate and key must be a pair, or each connection would fail with a TLS error. */
static int check_certificate(const struct hami_internal_exec_credential *credential,
                             struct hami_error *error)
{
    struct hami_internal_login login = {.certificate_data = credential->certificate,
                                        .key_data = credential->key};

    return hami_internal_login_check(&login, error);
}

/* Fills client->exec's code, credential and error. */
static void run_plugin(const hami_kubernetes *client, int *ret_code,
                       struct hami_internal_exec_credential *ret,
                       struct hami_error *error)
{
    const struct hami_internal_exec *exec = client->login.exec;
    char *text = NULL;
    size_t length = 0;
    int code =
        hami_internal_exec_run(exec, hami_kubernetes_in_ms(client->exec.timeout_ms),
                               client->exec.cancel_fd, &text, &length, error);

    if (code == 0) {
        code = hami_internal_exec_credential_parse(text, length, exec->api_version, ret,
                                                   error);
    }
    hami_internal_support_free_secret(text);
    if (code == 0) {
        code = check_certificate(ret, error);
    }
    if (code == 0 && ret->expires && ret->expires_s <= (int64_t)time(NULL)) {
        code = hami_internal_support_fail(error, HAMI_E_ACCESS,
                                          "What it gave has expired already");
    }
    if (code != 0) {
        hami_internal_exec_credential_done(ret);
    }
    *ret_code = code;
}

static void *run_on_thread(void *data)
{
    hami_kubernetes *client = data;
    struct hami_internal_exec_credential credential = {0};
    struct hami_error error = HAMI_ERROR_INIT;
    int code;

    run_plugin(client, &code, &credential, &error);
    pthread_mutex_lock(&client->mutex);
    client->exec.code = code;
    client->exec.credential = credential;
    client->exec.error = error;
    client->exec.is_over = true;
    pthread_mutex_unlock(&client->mutex);
    (void)curl_multi_wakeup(client->multi);
    return NULL;
}

/* ---- when ----------------------------------------------------------------------- */

static void plan_next(hami_kubernetes *client,
                      const struct hami_internal_exec_credential *credential)
{
    int64_t left_s = credential->expires_s - (int64_t)time(NULL);
    int64_t fifth_s = (left_s + 4) / 5; /* rounded up: a short life has a margin too */
    int64_t margin_s = fifth_s < MARGIN_S_MAX ? fifth_s : MARGIN_S_MAX;

    client->exec.due_ns = HAMI_DEADLINE_NEVER;
    if (credential->expires) {
        int64_t wait_s = left_s - margin_s > 0 ? left_s - margin_s : 1;

        client->exec.due_ns = hami_kubernetes_in_ms((uint64_t)wait_s * 1000);
    }
}

static uint64_t longer(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static uint64_t double_pause(uint64_t pause_ms)
{
    pause_ms = longer(pause_ms * 2, PAUSE_MS_MIN);
    return pause_ms < PAUSE_MS_MAX ? pause_ms : PAUSE_MS_MAX;
}

static void plan_again(hami_kubernetes *client)
{
    client->exec.pause_ms = double_pause(client->exec.pause_ms);
    client->exec.due_ns = hami_kubernetes_in_ms(client->exec.pause_ms);
}

/* Takes what a run brought into use. Returns its code, or NOMEM. */
static int settle(hami_kubernetes *client, int code,
                  struct hami_internal_exec_credential *credential)
{
    client->exec.ended_ns = hami_kubernetes_now();
    if (code == 0) {
        code = hami_internal_http_credentials_use(
            client, credential->token, credential->certificate, credential->key);
    }
    if (code == 0) {
        client->exec.pause_ms = 0;
        plan_next(client, credential);
    } else {
        plan_again(client);
    }
    hami_internal_exec_credential_done(credential);
    return code;
}

/* ---- runs on a thread ----------------------------------------------------------- */

static void start_run(hami_kubernetes *client)
{
    sigset_t all;
    sigset_t before;

    client->exec.is_over = false;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    client->exec.is_running =
        pthread_create(&client->exec.thread, NULL, run_on_thread, client) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    client->exec.due_ns = HAMI_DEADLINE_NEVER;
    if (!client->exec.is_running) {
        client->exec.is_holding = false;
        plan_again(client);
    }
}

static bool is_run_over(hami_kubernetes *client)
{
    bool is_over;

    pthread_mutex_lock(&client->mutex);
    is_over = client->exec.is_over;
    pthread_mutex_unlock(&client->mutex);
    return is_over;
}

static void take_result(hami_kubernetes *client)
{
    struct hami_internal_exec_credential credential;
    int code;

    (void)pthread_join(client->exec.thread, NULL);
    client->exec.is_running = false;
    client->exec.is_holding = false;
    credential = client->exec.credential;
    memset(&client->exec.credential, 0, sizeof(client->exec.credential));
    code = settle(client, client->exec.code, &credential);
    if (code != 0) {
        hami_internal_http_log(
            client, HAMI_LOG_WARNING,
            "The credential plugin %s gave nothing, and the last credentials stay in "
            "use: %s",
            client->login.exec->command, client->exec.error.text);
    } else {
        hami_internal_http_log(client, HAMI_LOG_DEBUG,
                               "The credential plugin %s gave new credentials",
                               client->login.exec->command);
    }
}

/* ---- for the client ------------------------------------------------------------- */

int hami_internal_http_exec_open(hami_kubernetes *client, uint64_t timeout_ms,
                                 struct hami_error *reterr)
{
    struct hami_internal_exec_credential credential = {0};
    struct hami_error error = HAMI_ERROR_INIT;
    int code;

    client->exec.due_ns = HAMI_DEADLINE_NEVER;
    if (client->login.exec == NULL) {
        return 0;
    }
    client->exec.is_used = true;
    client->has_live_certificate = true;
    client->exec.timeout_ms = timeout_ms != 0 ? timeout_ms : TIMEOUT_MS_DEFAULT;
    client->exec.cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (client->exec.cancel_fd < 0) {
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM,
                                          "No file descriptor is left");
    }
    run_plugin(client, &code, &credential, &error);
    code = settle(client, code, &credential);
    if (code != 0) {
        return hami_internal_support_fail(
            reterr, code == HAMI_E_NOMEM ? HAMI_E_NOMEM : HAMI_E_ACCESS,
            "The credential plugin %s: %s", client->login.exec->command, error.text);
    }
    return 0;
}

void hami_internal_http_exec_close(hami_kubernetes *client)
{
    uint64_t one = 1;

    if (client->exec.is_running) {
        ssize_t written = write(client->exec.cancel_fd, &one, sizeof(one));

        (void)written; /* 8 bytes into an empty eventfd */
        (void)pthread_join(client->exec.thread, NULL);
        client->exec.is_running = false;
        hami_internal_exec_credential_done(&client->exec.credential);
    }
    client->exec.is_holding = false;
    client->exec.due_ns = HAMI_DEADLINE_NEVER;
    if (client->exec.cancel_fd >= 0) {
        (void)close(client->exec.cancel_fd);
        client->exec.cancel_fd = -1;
    }
}

void hami_internal_http_exec_look(hami_kubernetes *client)
{
    if (!client->exec.is_used) {
        return;
    }
    if (client->exec.is_running && is_run_over(client)) {
        take_result(client);
    }
    if (!client->exec.is_running && hami_kubernetes_now() >= client->exec.due_ns) {
        start_run(client);
    }
}

uint64_t hami_internal_http_exec_wait_ms(const hami_kubernetes *client)
{
    uint64_t now = hami_kubernetes_now();

    if (client->exec.due_ns == HAMI_DEADLINE_NEVER) {
        return UINT64_MAX;
    }
    return client->exec.due_ns <= now ? 0 : (client->exec.due_ns - now) / NS_PER_MS + 1;
}

bool hami_internal_http_exec_refused(
    hami_kubernetes *client, const struct hami_internal_http_credentials *credentials)
{
    if (!client->exec.is_used) {
        return false;
    }
    if (client->credentials != credentials) {
        return true;
    }
    if (!client->exec.is_running) {
        uint64_t pause_ms = longer(client->exec.pause_ms, client->exec.refused_ms);

        if (hami_kubernetes_now() - client->exec.ended_ns < pause_ms * NS_PER_MS) {
            return false;
        }
        client->exec.refused_ms = double_pause(client->exec.refused_ms);
        start_run(client);
    }
    client->exec.is_holding = client->exec.is_running;
    return client->exec.is_running;
}
