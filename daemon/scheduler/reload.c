/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What SIGHUP means to the scheduler role: log level, patience and lock table count for
 * all that comes from then on. Binds that wait keep what they came with.
 */
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

static bool has_key(const char *const *keys, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* Which keys the Leases mirror is settled when the store is made. */
static void check_mirrored(const struct service *service, struct hamid_problems *problems)
{
    const struct scheduler_options *fresh = service->fresh;
    const char *mirrored[HAMI_NODELOCK_KEYS_MAX];
    const char *wanted[HAMI_NODELOCK_KEYS_MAX];
    char place[512];
    if (!service->options.keeps_leases || fresh->locks == NULL) {
        return;
    }
    size_t mirrored_count = lock_table_keys(service->first_locks, mirrored);
    size_t wanted_count = lock_table_keys(fresh->locks, wanted);
    for (size_t i = 0; i < wanted_count; i++) {
        if (!has_key(mirrored, mirrored_count, wanted[i])) {
            (void)hamid_config_place(&fresh->config, &fresh->lock_choices, place,
                                     sizeof(place));
            hamid_problems_add(problems,
                               "%s: the lock '%.128s' is new, and with lock-store "
                               "lease+mirror a restart has to bring it",
                               place, wanted[i]);
        }
    }
}

static struct hamid_config *begin(void *data, struct hamid_problems *problems)
{
    struct service *service = data;
    service->fresh = calloc(1, sizeof(*service->fresh));
    if (service->fresh == NULL) {
        return NULL;
    }
    (void)scheduler_options_read(service->fresh, service->argc, service->argv, problems);
    check_mirrored(service, problems);
    return &service->fresh->config;
}

static void end(void *data, bool is_taken)
{
    struct service *service = data;
    struct scheduler_options *options = &service->options;
    if (is_taken) {
        (void)lock_table_unref(options->locks);
        options->locks = lock_table_ref(service->fresh->locks);
        hamid_log_setup((unsigned)options->verbosity, options->log_json);
        binder_change(service->binder, options->patience_ms, options->locks);
    }
    scheduler_options_done(service->fresh);
    free(service->fresh);
    service->fresh = NULL;
}

static enum hamid_reload_outcome renew_login(void *data, char *error)
{
    struct service *service = data;
    struct hami_error why = HAMI_ERROR_INIT;
    if (hami_kubernetes_reload(service->client, &why) == 0) {
        return HAMID_RELOAD_NEW;
    }
    (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "%.500s", why.text);
    return HAMID_RELOAD_WRONG;
}

static bool is_open(void *data)
{
    const struct service *service = data;
    return !service->draining;
}

static bool is_ready(void *data)
{
    const struct service *service = data;
    return service->was_ready;
}

int service_start_reload(struct service *service)
{
    struct hamid_reload_config config = {
        .base = service->base,
        .config = &service->options.config,
        .begin = begin,
        .end = end,
        .is_open = is_open,
        .is_ready = is_ready,
        .data = service,
    };
    service->first_locks = lock_table_ref(service->options.locks);
    service->reload = hamid_reload_new(&config);
    if (service->reload == NULL ||
        !hamid_reload_add(service->reload, "login to the API server", renew_login,
                          service)) {
        return service_fail("Could not start", "out of memory");
    }
    return 0;
}

void service_stop_reload(struct service *service)
{
    service->reload = hamid_reload_free(service->reload);
    service->first_locks = lock_table_unref(service->first_locks);
}
