/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hamictl release`: one lock removed by hand. Whether it may be, and in which order what
 * is written, is the library's (hami_transport_clear); here the operator is shown what
 * stands, asked, and told how it ended.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hami/kubernetes.h>

#include "command.h"
#include "explain.h"
#include "sources.h"
#include "table.h"

struct release {
    const struct options *options;
    const char *node;
    char key[HAMI_NODELOCK_KEY_MAX + 8];  /* of the record */
    char base[HAMI_NODELOCK_KEY_MAX + 8]; /* without the number of a pod beside others */
    uint32_t permit;                      /* that number; 0 = none */
    bool is_cover;                        /* as it was read last */
    hami_kubernetes *client;
    char error[SOURCE_ERROR_MAX];
};

/* The lock of this key as it stands: new, a nodes' array of one node with one slot, or
 * empty. NULL on failure. */
static json_t *read_lock(struct release *release)
{
    size_t index = 0;
    const json_t *slot = NULL;
    json_t *nodes = source_from_cluster_key(release->client, release->node, release->base,
                                            release->error);
    json_t *slots = json_object_get(json_array_get(nodes, 0), "slots");
    json_array_foreach(slots, index, slot)
    {
        if (strcmp(source_text(slot, "key"), release->key) == 0) {
            release->is_cover = source_is_cover(slot);
            json_t *one = json_pack("[{s:s, s:[O], s:[]}]", "node", release->node,
                                    "slots", slot, "waiters");
            json_decref(nodes);
            return one;
        }
    }
    if (nodes != NULL) {
        (void)json_array_clear(nodes);
    }
    return nodes;
}

static void show_now(struct release *release, FILE *out)
{
    json_t *nodes = read_lock(release);
    if (nodes != NULL && release->is_cover) {
        /* Whom it covers is what there is to be released. */
        json_decref(nodes);
        nodes = source_from_cluster_key(release->client, release->node, release->base,
                                        release->error);
    }
    if (nodes == NULL) {
        (void)fprintf(out, "What stands there now could not be read: %s\n",
                      release->error);
    } else if (json_array_size(nodes) == 0) {
        (void)fprintf(out, "Node %s is not locked under %s.\n", release->node,
                      release->key);
    } else {
        (void)fputs("What stands there now:\n", out);
        (void)table_print(nodes, out);
    }
    json_decref(nodes);
}

/* Where the holder stands, and what would free the lock without a hand. */
static void show_holder(struct release *release, const json_t *slot)
{
    char text[EXPLAIN_TEXT_MAX];
    bool exists = false;
    const char *namespace_name = source_text(slot, "namespace");
    const char *name = source_text(slot, "pod");
    json_t *holder = NULL;
    if (name[0] != '\0') {
        holder =
            source_pod(release->client, namespace_name, name, &exists, release->error);
        explain_pod(holder, text, sizeof(text));
        if (holder != NULL || release->error[0] == '\0') {
            (void)printf("Pod %s/%s %s.\n", namespace_name, name, text);
        }
    }
    explain_lock(slot, holder, release->node, text, sizeof(text));
    (void)printf("Left alone: %s.\n", text);
    json_decref(holder);
}

/* True if the operator says so. */
static bool ask(const struct release *release)
{
    char answer[16] = "";
    (void)printf("Release this lock of node %s%s? [y/N] ", release->node,
                 release->options->is_forced
                     ? ", though another pod may then get its pod's devices"
                     : "");
    (void)fflush(stdout);
    return fgets(answer, sizeof(answer), stdin) != NULL &&
           (answer[0] == 'y' || answer[0] == 'Y');
}

static bool is_confirmed(struct release *release)
{
    if (release->options->is_confirmed) {
        return true;
    }
    json_t *nodes = read_lock(release);
    const json_t *slot =
        json_array_get(json_object_get(json_array_get(nodes, 0), "slots"), 0);
    bool is_yes = true; /* without a lock there is nothing to ask: the library says so */
    if (slot != NULL &&
        strcmp(source_text(slot, "token"), release->options->expect) == 0) {
        (void)table_print(nodes, stdout);
        show_holder(release, slot);
        is_yes = ask(release);
    }
    json_decref(nodes);
    return is_yes;
}

static int tell_refusal(struct release *release, int code, const struct hami_error *error)
{
    (void)fprintf(stderr, "hamictl: not released: %s\n", error->text);
    if (code == HAMI_E_HELD) {
        json_decref(read_lock(release)); /* is it a cover? */
    }
    if (code == HAMI_E_HELD && release->is_cover) {
        (void)fputs("'hamictl locks' shows the key and token of each.\n", stderr);
    } else if (code == HAMI_E_HELD) {
        (void)fputs("Look at the device plugin and the kubelet of that node first. "
                    "--force removes the lock all the same.\n",
                    stderr);
    } else if (code == HAMI_E_LOST || code == HAMI_E_IN_DOUBT) {
        show_now(release, stderr);
    }
    return EXIT_FAILED;
}

static int clear(struct release *release)
{
    struct hami_kubernetes_transport_config config =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    struct hami_transport *transport = NULL;
    struct hami_clear request = HAMI_CLEAR_INIT;
    config.flags = HAMI_KUBERNETES_NO_WATCH;
    if (hami_kubernetes_transport_new(release->client, &config, &transport, &error) !=
        0) {
        return command_fail(error.text);
    }
    request.node = release->node;
    request.key = release->base;
    request.permit = release->permit;
    request.token = release->options->expect;
    request.holder = "hamictl";
    request.flags = release->options->is_forced ? HAMI_CLEAR_BOUND_OWNERS : 0;
    int code = hami_transport_clear(transport, &request, &error);
    (void)hami_kubernetes_transport_free(transport);
    if (code != 0) {
        return tell_refusal(release, code, &error);
    }
    (void)printf("Released: %s of node %s.\n", release->key, release->node);
    return 0;
}

static int run(struct release *release)
{
    if (release->options->expect == NULL) {
        (void)fputs("hamictl release: --expect TOKEN is required: it says which lock you "
                    "looked at\n",
                    stderr);
        show_now(release, stderr);
        return EXIT_USAGE;
    }
    if (!release->options->is_confirmed && isatty(STDIN_FILENO) != 1) {
        (void)fputs("hamictl release: there is no terminal to ask at: add --yes\n",
                    stderr);
        return EXIT_USAGE;
    }
    if (!is_confirmed(release)) {
        (void)puts("Nothing was written.");
        return EXIT_FAILED;
    }
    return clear(release);
}

/* A permit's key is its lock's with a number behind it. */
static void set_key(struct release *release, const char *key)
{
    release->permit = source_permit_of(key);
    size_t length = strlen(key) - (release->permit > 0 ? 2 : 0);
    (void)snprintf(release->key, sizeof(release->key), "%s", key);
    (void)snprintf(release->base, sizeof(release->base), "%.*s", (int)length, key);
}

/* Where no key is named: the record that has the token. A cover has that of the pod whose
 * copy it is, and the pod's own is what is meant. */
static void find_key(struct release *release)
{
    size_t index = 0;
    const json_t *slot = NULL;
    json_t *nodes = source_from_cluster(release->client, release->node, release->error);
    json_array_foreach(json_object_get(json_array_get(nodes, 0), "slots"), index, slot)
    {
        const char *key = source_text(slot, "key");
        if (source_permit_of(key) > 0 &&
            strcmp(source_text(slot, "token"), release->options->expect) == 0) {
            set_key(release, key);
        }
    }
    json_decref(nodes);
}

int command_release(const struct options *options)
{
    struct release release = {.options = options};
    if (options->arguments.count != 1) {
        (void)fprintf(stderr, "hamictl release: name one node\n");
        return EXIT_USAGE;
    }
    release.node = options->arguments.values[0];
    set_key(&release, options->key != NULL ? options->key : HAMI_NODELOCK_KEY);
    release.client = command_login(options, release.error);
    if (release.client == NULL) {
        return command_fail(release.error);
    }
    if (options->key == NULL && options->expect != NULL) {
        find_key(&release);
    }
    int status = run(&release);
    (void)hami_kubernetes_free(release.client);
    return status;
}
