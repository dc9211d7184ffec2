/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGHUP: the configuration is read again, as a whole. If anything is wrong with it the
 * old one stays, and the log says what is wrong. Else the options that can be reloaded
 * are taken into use, the log names those that need a restart, and each hook looks at
 * what it keeps besides options (certificates, a login). Nothing that is under way is
 * ended by it.
 *
 * All of it runs on the loop's thread.
 */
#ifndef HAMID_RELOAD_H
#define HAMID_RELOAD_H

#include "config.h"

struct event_base;
struct hamid_reload;

struct hamid_reload_config {
    struct event_base *base;
    struct hamid_config *config; /* in use */
    /*
     * Reads everything again, into a struct of its own, and checks it.
     * Returns   its configuration; NULL without memory
     */
    struct hamid_config *(*begin)(void *data, struct hamid_problems *problems);
    /* Its values were taken into use, or (false) are to be forgotten. Frees what _begin
     * made. */
    void (*end)(void *data, bool is_taken);
    /* Does SIGHUP mean anything now? Not while the process ends. */
    bool (*is_open)(void *data);
    /* Has the service manager been told READY=1? */
    bool (*is_ready)(void *data);
    void *data;
};

/* NULL without memory. */
struct hamid_reload *hamid_reload_new(const struct hamid_reload_config *config);
/* Takes NULL, returns NULL. */
struct hamid_reload *hamid_reload_free(struct hamid_reload *reload);

enum hamid_reload_outcome {
    HAMID_RELOAD_SAME = 0,
    HAMID_RELOAD_NEW,  /* taken into use; said in the log with the hook's name */
    HAMID_RELOAD_WRONG /* the old one stays; error says why */
};

/*
 * Adds a hook, called at each reload after the options were taken.
 * @what     names it in the log: "certificate of --listen". Borrowed
 * @hook     error has HAMID_FLAG_ERROR_MAX bytes
 * Returns   false where there are too many
 */
typedef enum hamid_reload_outcome (*hamid_reload_fn)(void *data, char *error);
bool hamid_reload_add(struct hamid_reload *reload, const char *what, hamid_reload_fn hook,
                      void *data);

#endif
