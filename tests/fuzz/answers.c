/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP answers: what the client makes of headers, bodies and broken exchanges, down to
 * the code that a caller is told. libcurl is played here.
 *
 * Input: the first byte says what is asked and how the exchange ends; then one answer
 * after the other, separated by the byte 0x1e: header lines, an empty line, the body.
 * Several are given while the client tries again. A header line that starts with '*' is
 * what libcurl says of the exchange itself.
 */
#include "fuzz.h"

#include <stdarg.h>

#include "http_client.h"
#include "status.h"

static struct hami_kubernetes client;
static uint64_t now_ns;

uint64_t hami_kubernetes_now(void)
{
    return now_ns;
}

/* ---- libcurl, played: it remembers the callbacks ---- */

typedef size_t (*bytes_fn)(char *bytes, size_t size, size_t count, void *data);

static bytes_fn on_header, on_body;
static bool is_added;

#undef curl_easy_setopt
#undef curl_easy_getinfo
CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
    va_list arguments;

    FUZZ_CHECK(easy == &client);
    va_start(arguments, option);
    if (option == CURLOPT_HEADERFUNCTION) {
        on_header = va_arg(arguments, bytes_fn);
    } else if (option == CURLOPT_WRITEFUNCTION) {
        on_body = va_arg(arguments, bytes_fn);
    }
    va_end(arguments);
    return CURLE_OK;
}

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...)
{
    (void)info;
    return easy == &client ? CURLE_OK : CURLE_BAD_FUNCTION_ARGUMENT;
}

CURL *curl_easy_init(void)
{
    return &client;
}

void curl_easy_cleanup(CURL *easy)
{
    FUZZ_CHECK(easy == &client && !is_added);
}

CURLMcode curl_multi_add_handle(CURLM *multi, CURL *easy)
{
    (void)multi;
    FUZZ_CHECK(easy == &client && !is_added);
    is_added = true;
    return CURLM_OK;
}

CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *easy)
{
    (void)multi;
    FUZZ_CHECK(easy == &client);
    is_added = false;
    return CURLM_OK;
}

bool hami_internal_http_options_set(const hami_kubernetes *self, CURL *easy)
{
    return self == &client && easy == &client;
}

/* ---- the client's other files, played ---- */

void hami_internal_http_log(const hami_kubernetes *self, enum hami_log_level level,
                            const char *format, ...)
{
    (void)self;
    (void)level;
    FUZZ_CHECK(format != NULL);
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

struct hami_internal_http_credentials *
hami_internal_http_credentials_get(hami_kubernetes *self)
{
    return self->credentials;
}

void hami_internal_http_credentials_free(
    struct hami_internal_http_credentials *credentials)
{
    (void)credentials;
}

bool hami_internal_http_is_own_thread(const hami_kubernetes *self)
{
    return self == &client;
}

bool hami_internal_http_path_is_valid(const char *path)
{
    return path[0] == '/';
}

bool hami_internal_http_value_is_valid(const char *value)
{
    return value[0] != '\0';
}

int hami_internal_http_job_enter(hami_kubernetes *self,
                                 struct hami_internal_http_job *job)
{
    FUZZ_CHECK(self == &client && job->kind == HAMI_INTERNAL_HTTP_STREAM);
    return 0;
}

void hami_internal_http_job_cancel(hami_kubernetes *self,
                                   struct hami_internal_http_job *job)
{
    FUZZ_CHECK(self == &client && job != NULL);
}

void hami_internal_http_job_free(hami_kubernetes *self,
                                 struct hami_internal_http_job *job)
{
    FUZZ_CHECK(self == &client);
    free(job);
}

/* ---- who asked ---- */

static unsigned answers_told, lines_told, opened_told;
static bool is_write;
static bool is_doubtful; /* sent, and broken off, and nothing was said of it */
static bool was_said;

static void check_answer(const struct hami_kubernetes_answer *answer)
{
    char text[256];
    int write = hami_internal_status_of_write(answer);
    int read = hami_internal_status_of_read(answer);

    FUZZ_CHECK(answer->body != NULL && answer->text != NULL);
    FUZZ_CHECK(answer->body[answer->body_length] == '\0');
    FUZZ_CHECK(answer->code <= 0 && write <= 0 && read <= 0);
    FUZZ_CHECK(answer->code != 0 || answer->status >= 100);
    FUZZ_CHECK((write == 0) ==
               (answer->code == 0 && answer->status >= 200 && answer->status < 300));
    FUZZ_CHECK(read != HAMI_E_IN_DOUBT && (read == 0) == (write == 0));
    (void)hami_internal_status_text(answer, text, sizeof(text));
    FUZZ_CHECK(strnlen(text, sizeof(text)) < sizeof(text));
}

static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    FUZZ_CHECK(data == &client && answers_told == 0);
    answers_told++;
    check_answer(answer);
    FUZZ_CHECK(answer->body_length <= client.answer_bytes_max);
    /* Sent, and no word about it: a write is never told as surely not applied. */
    FUZZ_CHECK(!is_write || !is_doubtful ||
               hami_internal_status_of_write(answer) == HAMI_E_IN_DOUBT);
}

static void opened(void *data)
{
    FUZZ_CHECK(data == &client && opened_told == 0);
    opened_told++;
}

static void line_came(void *data, const char *line, size_t length)
{
    FUZZ_CHECK(data == &client && opened_told == 1 && length > 0);
    FUZZ_CHECK(line[length] == '\0' && memchr(line, '\n', length) == NULL);
    lines_told++;
}

/* ---- exchanges ---- */

/* What libcurl would tell: whole header lines, then the body in pieces. */
static bool give(struct hami_internal_http_transfer *transfer, const char *bytes,
                 size_t length, size_t piece)
{
    bool in_head = true;

    while (length > 0) {
        const char *end = in_head ? memchr(bytes, '\n', length) : NULL;
        size_t part = end != NULL ? (size_t)(end - bytes) + 1
                      : !in_head && piece > 0 && piece < length ? piece
                                                                : length;
        char *copy = malloc(part);
        FUZZ_CHECK(copy != NULL);
        memcpy(copy, bytes, part);
        size_t took = part;
        bool is_empty = end != NULL && part <= 2 && copy[0] != '*';
        if (in_head && copy[0] == '*') {
            was_said = true;
            (void)hami_internal_http_delivery_debug(&client, CURLINFO_TEXT, copy + 1,
                                                    part - 1, transfer);
        } else {
            took = (in_head ? on_header : on_body)(copy, 1, part, transfer);
        }
        free(copy);
        if (took != part) {
            return false;
        }
        in_head = in_head && !is_empty;
        bytes += part;
        length -= part;
    }
    return true;
}

static CURLcode exchange(struct hami_internal_http_transfer *transfer,
                         struct fuzz_input *input, unsigned kind)
{
    size_t length = 0;
    char *answer = fuzz_take(input, "\x1e", &length);
    CURLcode code = answer == NULL ? CURLE_COULDNT_CONNECT : CURLE_OK;

    if (answer != NULL) {
        FUZZ_CHECK(hami_internal_http_delivery_before_send(transfer, NULL, NULL, 443,
                                                           1000) == CURL_PREREQFUNC_OK);
        if (!give(transfer, answer, length, (kind & 4) != 0 ? 1 : 0)) {
            code = CURLE_WRITE_ERROR;
        } else if ((kind & 8) != 0 && input->at == NULL) {
            code = CURLE_RECV_ERROR;
        }
        is_doubtful =
            !was_said && (is_doubtful || code != CURLE_OK || transfer->status < 100);
    }
    free(answer);
    return code;
}

static void ask(struct fuzz_input *input, unsigned kind)
{
    struct hami_internal_http_request *request = calloc(1, sizeof(*request));

    FUZZ_CHECK(request != NULL);
    request->job =
        (struct hami_internal_http_job){.kind = HAMI_INTERNAL_HTTP_REQUEST,
                                        .heap_index = SIZE_MAX,
                                        .due_ns = now_ns + UINT64_C(60000000000)};
    is_write = (kind & 2) != 0;
    request->method = is_write ? HAMI_KUBERNETES_PATCH : HAMI_KUBERNETES_GET;
    request->url = "https://played/api";
    request->accept_header = "Accept: application/json";
    request->body = is_write ? "[]" : NULL;
    request->body_length = is_write ? 2 : 0;
    request->callback = answered;
    request->data = &client;
    request->deadline_ns = request->job.due_ns;
    client.stats.waiting++;
    FUZZ_CHECK(hami_internal_http_heap_reserve(&client.heap));
    hami_internal_http_heap_push(&client.heap, &request->job);
    hami_internal_http_request_enter(&client, request, now_ns);
    for (int i = 0; i < 8 && answers_told == 0; i++) {
        if (request->state == HAMI_INTERNAL_HTTP_DELAYED) {
            FUZZ_CHECK(request->job.due_ns > now_ns);
            FUZZ_CHECK(request->job.due_ns <= request->deadline_ns);
            now_ns = request->job.due_ns;
            hami_internal_http_request_due(&client, request, now_ns);
            continue;
        }
        hami_internal_http_request_pump(&client);
        FUZZ_CHECK(request->state == HAMI_INTERNAL_HTTP_IN_FLIGHT && is_added);
        CURLcode code = exchange(request->transfer, input, kind);
        hami_internal_http_request_done(&client, request, code);
    }
    if (answers_told == 0) {
        hami_internal_http_request_end(&client, request, HAMI_E_CLOSED);
    }
    FUZZ_CHECK(answers_told == 1 && client.in_flight_count == 0);
    FUZZ_CHECK(client.stats.waiting == 0 && client.heap.count == 0);
    FUZZ_CHECK(TAILQ_EMPTY(&client.waiting));
}

static void stream_ended(void *data, const struct hami_kubernetes_answer *answer)
{
    FUZZ_CHECK(data == &client && answers_told == 0);
    answers_told++;
    check_answer(answer);
    FUZZ_CHECK(answer->body_length <= HAMI_INTERNAL_HTTP_STREAM_BODY_MAX);
}

static void follow(struct fuzz_input *input, unsigned kind)
{
    struct hami_internal_http_stream_options options = {.path = "/api/v1/nodes",
                                                        .on_open = opened,
                                                        .on_line = line_came,
                                                        .on_end = stream_ended,
                                                        .data = &client};
    struct hami_internal_http_stream *stream = NULL;

    is_write = false;
    FUZZ_CHECK(hami_internal_http_stream_start(&client, &options, &stream) == 0);
    client.stream_count = 1;
    FUZZ_CHECK(hami_internal_http_heap_reserve(&client.heap));
    hami_internal_http_heap_push(&client.heap, &stream->job);
    hami_internal_http_stream_enter(&client, stream, now_ns);
    CURLcode code = exchange(stream->transfer, input, kind);
    hami_internal_http_stream_done(&client, stream, code);
    FUZZ_CHECK(answers_told == 1 && client.heap.count == 0 && !is_added);
}

static void tear_down(void)
{
    while (!LIST_EMPTY(&client.free_transfers)) {
        struct hami_internal_http_transfer *transfer = LIST_FIRST(&client.free_transfers);
        LIST_REMOVE(transfer, entry);
        hami_internal_http_transfer_destroy(transfer);
    }
    client.free_count = 0;
    free(client.heap.jobs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {(const char *)data, size};
    unsigned kind = fuzz_byte(&input);

    memset(&client, 0, sizeof(client));
    client.login.server = (char *)(uintptr_t) "https://played";
    client.base_url = client.login.server;
    client.in_flight_max = 4;
    client.answer_bytes_max = 4096;
    client.buffer_bytes = 1024; /* so that some answers are larger */
    client.random = 1;
    TAILQ_INIT(&client.inbox);
    TAILQ_INIT(&client.waiting);
    TAILQ_INIT(&client.reads);
    now_ns = UINT64_C(1000000000);
    answers_told = lines_told = opened_told = 0;
    is_doubtful = was_said = false;
    if ((kind & 1) != 0) {
        follow(&input, kind);
    } else {
        ask(&input, kind);
    }
    tear_down();
    return 0;
}
