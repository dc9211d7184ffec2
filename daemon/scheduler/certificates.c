/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two states of TLS are made of the same files, because the listener of metrics and
 * probes asks no certificate of its clients: kubelet has none to show. Both are looked at
 * together.
 */
#include "certificates.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "http/tls.h"
#include "log.h"

#define LOOK_SECONDS 1
#define DAY_SECONDS (24 * 3600)
#define ENDING_SECONDS_MAX (30 * DAY_SECONDS)
#define WARN_ENDING_SECONDS DAY_SECONDS
#define WARN_OVER_SECONDS 3600

struct certificates {
    struct event *timer;
    struct hamid_tls *extender;
    struct hamid_tls *metrics;
    const char *file; /* borrowed */
    int64_t warned;   /* when; 0 = never */
    enum certificate_state warned_of;
    uint64_t reloads;
    uint64_t reloads_failed;
};

/* ---- the end of a certificate --------------------------------------------------- */

/* Short lives are renewed shortly before their end: a tenth is left, or a month. */
enum certificate_state certificate_judge(int64_t not_before, int64_t not_after,
                                         int64_t now)
{
    int64_t share = (not_after - not_before) / 10;
    if (now >= not_after) {
        return CERTIFICATE_OVER;
    }
    return not_after - now < (share < ENDING_SECONDS_MAX ? share : ENDING_SECONDS_MAX)
               ? CERTIFICATE_ENDING
               : CERTIFICATE_GOOD;
}

static void warn_of_end(struct certificates *certificates)
{
    char when[32];
    struct tm parts;
    int64_t now = (int64_t)time(NULL);
    time_t end = (time_t)hamid_tls_not_after(certificates->extender);
    enum certificate_state state =
        certificate_judge(hamid_tls_not_before(certificates->extender), end, now);
    int64_t pause = state == CERTIFICATE_OVER ? WARN_OVER_SECONDS : WARN_ENDING_SECONDS;
    bool is_new = state != certificates->warned_of;
    if (state == CERTIFICATE_GOOD || (!is_new && now - certificates->warned < pause)) {
        certificates->warned_of = state;
        return;
    }
    certificates->warned_of = state;
    certificates->warned = now;
    (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&end, &parts));
    hamid_log_warning(state == CERTIFICATE_OVER
                          ? "The certificate has expired, callers that verify it are "
                            "gone; put a new one in its place, it is read at once"
                          : "The certificate expires soon; put a new one in its place, "
                            "it is read at once",
                      "file", certificates->file, "notAfter", when, NULL);
}

/* ---- the files ------------------------------------------------------------------ */

enum hamid_reload_outcome certificates_reload(void *data, char *error)
{
    struct certificates *certificates = data;
    char same[HAMID_TLS_ERROR_MAX];
    enum hamid_tls_reload extender = hamid_tls_reload(certificates->extender, error);
    enum hamid_tls_reload metrics = hamid_tls_reload(
        certificates->metrics, extender == HAMID_TLS_WRONG ? same : error);
    if (extender == HAMID_TLS_WRONG || metrics == HAMID_TLS_WRONG) {
        certificates->reloads_failed++;
        return HAMID_RELOAD_WRONG;
    }
    if (extender == HAMID_TLS_UNCHANGED && metrics == HAMID_TLS_UNCHANGED) {
        return HAMID_RELOAD_SAME;
    }
    certificates->reloads++;
    warn_of_end(certificates);
    return HAMID_RELOAD_NEW;
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
    struct certificates *certificates = data;
    char error[HAMID_FLAG_ERROR_MAX];
    (void)fd;
    (void)what;
    switch (certificates_reload(certificates, error)) {
    case HAMID_RELOAD_NEW:
        hamid_log_info(0, "Took the new certificate into use", "file", certificates->file,
                       NULL);
        break;
    case HAMID_RELOAD_WRONG:
        hamid_log_warning("The certificate's files have changed and are no use; the old "
                          "ones stay until they are put right",
                          "err", error, NULL);
        break;
    case HAMID_RELOAD_SAME:
        warn_of_end(certificates);
        break;
    }
}

/* ---- public --------------------------------------------------------------------- */

_Static_assert(HAMID_TLS_ERROR_MAX <= HAMID_FLAG_ERROR_MAX, "one buffer holds both");

struct certificates *certificates_new(struct event_base *base,
                                      const struct scheduler_options *options,
                                      char *error)
{
    static const struct timeval each = {.tv_sec = LOOK_SECONDS};
    struct hamid_tls_config config = {.cert_file = options->tls_cert_file,
                                      .key_file = options->tls_key_file,
                                      .client_ca_file = options->client_ca_file};
    struct certificates *certificates = calloc(1, sizeof(*certificates));
    (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "out of memory");
    if (certificates == NULL) {
        return NULL;
    }
    certificates->file = options->tls_cert_file;
    certificates->timer = event_new(base, -1, EV_PERSIST, on_timer, certificates);
    certificates->extender = hamid_tls_new(&config, error);
    config.client_ca_file = NULL;
    certificates->metrics =
        certificates->extender != NULL ? hamid_tls_new(&config, error) : NULL;
    if (certificates->metrics == NULL || certificates->timer == NULL ||
        event_add(certificates->timer, &each) != 0) {
        return certificates_free(certificates);
    }
    warn_of_end(certificates);
    return certificates;
}

struct certificates *certificates_free(struct certificates *certificates)
{
    if (certificates != NULL) {
        if (certificates->timer != NULL) {
            event_free(certificates->timer);
        }
        (void)hamid_tls_free(certificates->extender);
        (void)hamid_tls_free(certificates->metrics);
        free(certificates);
    }
    return NULL;
}

struct hamid_tls *certificates_tls(struct certificates *certificates, bool is_extender)
{
    if (certificates == NULL) {
        return NULL;
    }
    return is_extender ? certificates->extender : certificates->metrics;
}

void certificates_metrics(const struct certificates *certificates, struct evbuffer *out)
{
    if (certificates == NULL) {
        return;
    }
    (void)evbuffer_add_printf(
        out,
        "# HELP hamid_tls_certificate_expiration_timestamp_seconds When the certificate "
        "in use ends to be valid.\n"
        "# TYPE hamid_tls_certificate_expiration_timestamp_seconds gauge\n"
        "hamid_tls_certificate_expiration_timestamp_seconds %lld\n"
        "# HELP hamid_tls_reloads_total Changes of the certificate's files, by whether "
        "they were taken into use.\n"
        "# TYPE hamid_tls_reloads_total counter\n"
        "hamid_tls_reloads_total{outcome=\"taken\"} %llu\n"
        "hamid_tls_reloads_total{outcome=\"wrong\"} %llu\n",
        (long long)hamid_tls_not_after(certificates->extender),
        (unsigned long long)certificates->reloads,
        (unsigned long long)certificates->reloads_failed);
}
