/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list-and-watch loop and its line splitter, fed by a server that says anything. The
 * client's requests, streams and timers are played here.
 *
 * Input: answers, separated by the byte 0x1e. The first three characters of each are the
 * HTTP status, the fourth says how it ends ('.' in order, '!' broken off, '~' silence,
 * 'x' we stop meanwhile, 'r' we ask for a new list), the rest is the body. Each run is
 * made twice, the second time with the bytes one by one: what the sink is told must be
 * the same.
 */
#include "fuzz.h"

#include "http_client.h"
#include "watch.h"

#define ANSWERS_MAX 32

/* What the sink was told, as a sum that depends on the order. */
struct told {
    uint64_t sum;
    unsigned begins, completes, changed, gone, ended;
    bool complete;
};

static struct told told;
static struct hami_internal_watch *watch;
static bool by_bytes;

/* ---- the client, played ---- */

static char server[] = "https://played";
static struct hami_kubernetes inside = {.base_url = server, .login.server = server};
static hami_kubernetes *const client = &inside;
static struct hami_internal_http_timer *timer;
static bool timer_cancelled;
static hami_kubernetes_answered_fn answered;
static void *answered_data;
static bool request_cancelled;
static struct hami_internal_http_job *stream;
static struct hami_internal_http_job *ending; /* its last line may still end it */
static bool stream_cancelled;
static uint64_t now_ns;

uint64_t hami_kubernetes_now(void)
{
    return now_ns;
}

uint64_t hami_kubernetes_in_ms(uint64_t ms)
{
    return now_ns + ms * HAMI_INTERNAL_NANOSECONDS_PER_MS;
}

int hami_internal_http_timer_start(hami_kubernetes *self, uint64_t delay_ms,
                                   hami_internal_http_timer_fn on_fire, void *data,
                                   struct hami_internal_http_timer **ret)
{
    FUZZ_CHECK(self == client && delay_ms <= 70000);
    FUZZ_CHECK(timer == NULL && answered == NULL && stream == NULL); /* W2 */
    timer = malloc(sizeof(*timer));
    FUZZ_CHECK(timer != NULL);
    *timer = (struct hami_internal_http_timer){.on_fire = on_fire, .data = data};
    timer_cancelled = false;
    *ret = timer;
    return 0;
}

void hami_internal_http_timer_cancel(hami_kubernetes *self,
                                     struct hami_internal_http_timer *given)
{
    (void)self;
    FUZZ_CHECK(given == timer);
    timer_cancelled = true;
}

int hami_internal_http_request_start(hami_kubernetes *self,
                                     const struct hami_kubernetes_request *request,
                                     hami_kubernetes_answered_fn callback, void *data,
                                     struct hami_internal_http_request **ret)
{
    (void)self;
    FUZZ_CHECK(timer == NULL && answered == NULL && stream == NULL);
    FUZZ_CHECK(strncmp(request->path, "/api/v1/nodes?limit=", 20) == 0);
    FUZZ_CHECK(strstr(request->path, "&resourceVersion=") == NULL); /* W3 */
    answered = callback;
    answered_data = data;
    request_cancelled = false;
    *ret = NULL;
    return 0;
}

void hami_internal_http_request_cancel(hami_kubernetes *self,
                                       struct hami_internal_http_request *request)
{
    (void)self;
    (void)request;
    FUZZ_CHECK(answered != NULL);
    request_cancelled = true;
}

/* Of http_stream.c only its own work is real. */
int hami_internal_http_job_enter(hami_kubernetes *self,
                                 struct hami_internal_http_job *job)
{
    (void)self;
    FUZZ_CHECK(timer == NULL && answered == NULL && stream == NULL);
    stream = job;
    stream_cancelled = false;
    return 0;
}

void hami_internal_http_job_cancel(hami_kubernetes *self,
                                   struct hami_internal_http_job *job)
{
    (void)self;
    FUZZ_CHECK(job != NULL && (job == stream || job == ending));
    stream_cancelled = true;
}

void hami_internal_http_job_free(hami_kubernetes *self,
                                 struct hami_internal_http_job *job)
{
    (void)self;
    FUZZ_CHECK(job == ending);
    ending = NULL;
    free(job);
}

bool hami_internal_http_path_is_valid(const char *path)
{
    return path[0] == '/';
}

bool hami_internal_http_value_is_valid(const char *value)
{
    return value[0] != '\0';
}

bool hami_internal_http_is_own_thread(const hami_kubernetes *self)
{
    (void)self;
    return true;
}

void hami_internal_http_heap_move(struct hami_internal_http_heap *heap,
                                  struct hami_internal_http_job *job, uint64_t due_ns)
{
    (void)heap;
    (void)job;
    (void)due_ns;
}

void hami_internal_http_heap_remove(struct hami_internal_http_heap *heap,
                                    struct hami_internal_http_job *job)
{
    (void)heap;
    (void)job;
}

int hami_internal_http_transfer_start(hami_kubernetes *self,
                                      struct hami_internal_http_job *job,
                                      const struct hami_internal_http_exchange *exchange,
                                      struct hami_internal_http_transfer **ret)
{
    (void)self;
    (void)job;
    (void)exchange;
    (void)ret;
    return HAMI_E_NOMEM;
}

void hami_internal_http_transfer_stop(struct hami_internal_http_transfer *transfer)
{
    (void)transfer;
}

void hami_internal_http_transfer_free(struct hami_internal_http_transfer *transfer)
{
    hami_internal_text_done(&transfer->body);
    free(transfer);
}

void hami_internal_http_credentials_look(hami_kubernetes *self, bool at_once)
{
    (void)self;
    (void)at_once;
}

bool hami_internal_http_exec_refused(
    hami_kubernetes *self, const struct hami_internal_http_credentials *credentials)
{
    (void)self;
    (void)credentials;
    return false;
}

void hami_internal_http_count_watch_restart(hami_kubernetes *self)
{
    (void)self;
}

void hami_internal_http_log(const hami_kubernetes *self, enum hami_log_level level,
                            const char *format, ...)
{
    (void)self;
    (void)level;
    FUZZ_CHECK(format != NULL);
}

/* ---- the sink ---- */

static void add(const char *word, const json_t *object)
{
    char *text = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;

    for (const char *c = word; *c != '\0'; c++) {
        told.sum = (told.sum ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    for (const char *c = text; c != NULL && *c != '\0'; c++) {
        told.sum = (told.sum ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    free(text);
    FUZZ_CHECK(told.ended == 0); /* W4 */
}

static void list_begins(void *data)
{
    FUZZ_CHECK(data == &told);
    told.begins++;
    told.complete = false;
    add("begins", NULL);
}

static void changed(void *data, const json_t *object)
{
    (void)data;
    FUZZ_CHECK(told.begins > 0);
    told.changed++;
    add("changed", object);
}

static void gone(void *data, const json_t *object)
{
    (void)data;
    FUZZ_CHECK(told.begins > 0);
    told.gone++;
    add("gone", object);
}

static void list_complete(void *data)
{
    (void)data;
    FUZZ_CHECK(told.begins > 0 && !told.complete);
    told.complete = true;
    told.completes++;
    add("complete", NULL);
}

static void ended(void *data)
{
    (void)data;
    add("ended", NULL);
    told.ended++;
}

/* ---- answers ---- */

struct answer {
    int status;
    char end;
    const char *body;
    size_t length;
};

static void give_page(const struct answer *answer)
{
    struct hami_kubernetes_answer page = {.size = sizeof(page), .text = "broken off"};
    hami_kubernetes_answered_fn callback = answered;

    page.code = request_cancelled || answer->end != '.' ? HAMI_E_TRANSPORT : 0;
    page.status = answer->status;
    page.body = page.code == 0 ? answer->body : "";
    page.body_length = page.code == 0 ? answer->length : 0;
    answered = NULL;
    callback(answered_data, &page);
}

static bool receive(struct hami_internal_http_stream *job, const struct answer *answer)
{
    size_t piece = by_bytes ? 1 : answer->length;

    for (size_t at = 0; at < answer->length; at += piece) {
        if (stream_cancelled) {
            return false;
        }
        /* A copy of exactly the piece's size, as libcurl owes no NUL. */
        char *bytes = malloc(piece);
        FUZZ_CHECK(bytes != NULL);
        memcpy(bytes, answer->body + at, piece);
        bool good = hami_internal_http_stream_receive(job, bytes, piece);
        free(bytes);
        if (!good) {
            return false;
        }
    }
    return true;
}

static void give_stream(const struct answer *answer)
{
    struct hami_internal_http_stream *job = (struct hami_internal_http_stream *)stream;

    job->transfer = calloc(1, sizeof(*job->transfer));
    FUZZ_CHECK(job->transfer != NULL);
    job->transfer->status = answer->status;
    if (answer->status == 200) {
        hami_internal_http_stream_opened(job);
        (void)receive(job, answer);
    } else {
        (void)hami_internal_text_add(&job->transfer->body, answer->body, answer->length);
    }
    if (answer->end == 'x') {
        hami_internal_watch_stop(watch);
    } else if (answer->end == 'r') {
        hami_internal_watch_restart(watch);
    }
    ending = stream;
    stream = NULL;
    if (stream_cancelled) {
        hami_internal_http_stream_end(client, job, HAMI_E_CANCELED);
    } else if (answer->end == '~') {
        job->options.idle_timeout_ms = 1;
        now_ns += UINT64_C(1000000000);
        hami_internal_http_stream_due(client, job, now_ns);
    } else {
        hami_internal_http_stream_done(client, job,
                                       answer->end == '!' ? CURLE_RECV_ERROR : CURLE_OK);
    }
}

/* Everything that the loop does by itself, up to its next question. */
static void turn(void)
{
    while (timer != NULL) {
        struct hami_internal_http_timer fired = *timer;
        free(timer);
        timer = NULL;
        now_ns += UINT64_C(1000000);
        fired.on_fire(fired.data, timer_cancelled ? HAMI_E_CANCELED : 0);
    }
}

static void run(const struct answer *answers, size_t count)
{
    struct hami_internal_watch_options options = {
        .client = client,
        .path = "/api/v1/nodes",
        .sink = {list_begins, changed, gone, list_complete, ended, &told}};
    bool stopped = false;

    told = (struct told){.sum = UINT64_C(14695981039346656037)};
    now_ns = UINT64_C(1000000000);
    FUZZ_CHECK(hami_internal_watch_start(&options, &watch) == 0);
    turn();
    for (size_t i = 0; i < count && !stopped; i++) {
        FUZZ_CHECK(answered != NULL || stream != NULL);
        if (stream != NULL) {
            stopped = answers[i].end == 'x';
            give_stream(&answers[i]);
        } else {
            give_page(&answers[i]);
        }
        turn();
        FUZZ_CHECK(stopped || !hami_internal_watch_is_synced(watch) ||
                   told.completes > 0);
    }
    if (!stopped) {
        hami_internal_watch_stop(watch);
        struct answer last = {200, '.', "", 0};
        if (stream != NULL) {
            give_stream(&last);
        } else if (answered != NULL) {
            give_page(&last);
        }
        turn();
    }
    FUZZ_CHECK(told.ended == 1);
    FUZZ_CHECK(timer == NULL && answered == NULL && stream == NULL);
    FUZZ_CHECK(told.completes <= told.begins);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {(const char *)data, size};
    struct answer answers[ANSWERS_MAX];
    char *texts[ANSWERS_MAX];
    size_t count = 0, length = 0;

    while (count < ANSWERS_MAX) {
        texts[count] = fuzz_take(&input, "\x1e", &length);
        if (texts[count] == NULL || length < 4) {
            free(texts[count]);
            break;
        }
        answers[count] = (struct answer){.end = texts[count][3]};
        texts[count][3] = '\0';
        answers[count].status = atoi(texts[count]);
        answers[count].status = answers[count].status < 100 ? 200 : answers[count].status;
        answers[count].body = texts[count] + 4;
        answers[count].length = length - 4;
        count++;
    }
    by_bytes = false;
    run(answers, count);
    struct told whole = told;
    by_bytes = true;
    run(answers, count);
    FUZZ_CHECK(whole.sum == told.sum);
    while (count > 0) {
        free(texts[--count]);
    }
    return 0;
}
