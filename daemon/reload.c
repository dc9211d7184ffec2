/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGHUP, from the signal to what the log says.
 */
#include "reload.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>

#include "log.h"
#include "notify.h"

#define HOOKS_MAX 8

struct hook {
    const char *what;
    hamid_reload_fn call;
    void *data;
};

struct hamid_reload {
    struct hamid_reload_config config;
    struct event *signal;
    struct hook hooks[HOOKS_MAX];
    size_t hook_count;
};

static void tell_option(void *data, const struct hamid_flag *flag, const char *value,
                        bool is_reloadable)
{
    (void)data;
    if (is_reloadable) {
        hamid_log_info(0, "Took a new value into use", "option", flag->name, "value",
                       value, NULL);
    } else {
        hamid_log_warning("A new value counts after a restart only", "option", flag->name,
                          "value", value, NULL);
    }
}

static void tell_problems(const struct hamid_problems *problems)
{
    char line[HAMID_FLAG_ERROR_MAX + 512];
    for (const char *at = problems->text; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        (void)snprintf(line, sizeof(line), "%.*s", (int)length, at);
        hamid_log_error("The new configuration is wrong", "err", line, NULL);
        at += length + (at[length] == '\n' ? 1 : 0);
    }
    hamid_log_error("Kept the old configuration in use", NULL);
}

/* True if the new configuration is in use. */
static bool reload_options(struct hamid_reload *reload)
{
    struct hamid_problems *problems = calloc(1, sizeof(*problems));
    struct hamid_config *fresh =
        problems != NULL ? reload->config.begin(reload->config.data, problems) : NULL;
    bool is_right = fresh != NULL && problems->count == 0;
    if (fresh == NULL) {
        hamid_log_error("Kept the old configuration in use: out of memory", NULL);
    } else if (!is_right) {
        tell_problems(problems);
    } else if (!hamid_config_take(reload->config.config, fresh, tell_option, NULL)) {
        hamid_log_error("Took only a part of the new configuration: out of memory", NULL);
    }
    if (fresh != NULL) {
        reload->config.end(reload->config.data, is_right);
    }
    free(problems);
    return is_right;
}

static void call_hooks(struct hamid_reload *reload)
{
    for (size_t i = 0; i < reload->hook_count; i++) {
        const struct hook *hook = &reload->hooks[i];
        char error[HAMID_FLAG_ERROR_MAX] = "";
        switch (hook->call(hook->data, error)) {
        case HAMID_RELOAD_SAME:
            break;
        case HAMID_RELOAD_NEW:
            hamid_log_info(0, "Reloaded", "what", hook->what, NULL);
            break;
        case HAMID_RELOAD_WRONG:
            hamid_log_error("Kept the old one in use", "what", hook->what, "err", error,
                            NULL);
            break;
        }
    }
}

static void on_signal(evutil_socket_t number, short what, void *data)
{
    struct hamid_reload *reload = data;
    struct timespec now;
    char state[64];
    (void)number;
    (void)what;
    if (!reload->config.is_open(reload->config.data)) {
        return;
    }
    bool is_ready = reload->config.is_ready(reload->config.data);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
                   (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    if (is_ready) {
        hamid_notify(state);
    }
    bool is_taken = reload_options(reload);
    call_hooks(reload);
    hamid_log_info(0, "Reload is over", "configuration", is_taken ? "new" : "old", NULL);
    if (is_ready) {
        hamid_notify("READY=1");
    }
}

struct hamid_reload *hamid_reload_new(const struct hamid_reload_config *config)
{
    struct hamid_reload *reload = calloc(1, sizeof(*reload));
    if (reload == NULL) {
        return NULL;
    }
    reload->config = *config;
    reload->signal = evsignal_new(config->base, SIGHUP, on_signal, reload);
    if (reload->signal == NULL || event_add(reload->signal, NULL) != 0) {
        return hamid_reload_free(reload);
    }
    return reload;
}

struct hamid_reload *hamid_reload_free(struct hamid_reload *reload)
{
    if (reload != NULL) {
        if (reload->signal != NULL) {
            event_free(reload->signal);
        }
        free(reload);
    }
    return NULL;
}

bool hamid_reload_add(struct hamid_reload *reload, const char *what, hamid_reload_fn hook,
                      void *data)
{
    if (reload->hook_count == HOOKS_MAX) {
        return false;
    }
    reload->hooks[reload->hook_count++] = (struct hook){what, hook, data};
    return true;
}
