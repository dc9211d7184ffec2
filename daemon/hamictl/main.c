/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamictl: what an operator looks at when a pod does not start, and how he lets a lock go
 * that nobody else will. Here: the command line; the commands have a file each.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <hami/kubernetes.h>

#include "command.h"
#include "sources.h"

/* ---- what the commands share ---------------------------------------------------- */

int command_fail(const char *error)
{
    (void)fprintf(stderr, "hamictl: %s\n", error);
    return EXIT_FAILED;
}

const char *command_pod(const char *text, char *namespace_name)
{
    const char *slash = strchr(text, '/');
    (void)snprintf(namespace_name, 64, "default");
    if (slash != NULL) {
        size_t length = (size_t)(slash - text);
        if (length == 0 || length >= 64) {
            return NULL;
        }
        memcpy(namespace_name, text, length);
        namespace_name[length] = '\0';
        text = slash + 1;
    }
    return *text == '\0' || strchr(text, '/') != NULL ? NULL : text;
}

hami_kubernetes *command_login(const struct options *options, char *error)
{
    return source_login(options->kubeconfig, options->context,
                        options->allows_exec ? HAMI_KUBERNETES_ALLOW_EXEC : 0, error);
}

json_t *command_nodes(const struct options *options, char *error)
{
    if (options->hamid.url != NULL) {
        return source_from_hamid(&options->hamid, error);
    }
    hami_kubernetes *client = command_login(options, error);
    if (client == NULL) {
        return NULL;
    }
    json_t *nodes = source_from_cluster(client, options->node, error);
    (void)hami_kubernetes_free(client);
    return nodes;
}

void command_print_json(json_t *json)
{
    (void)json_dumpf(json, stdout, JSON_INDENT(2));
    (void)fputc('\n', stdout);
    json_decref(json);
}

/* ---- the command line ----------------------------------------------------------- */

static void show_help(FILE *out)
{
    (void)fputs("usage: hamictl COMMAND [flags]\n\n"
                "Looks at HAMi's node locks. Commands:\n\n",
                out);
    size_t count = 0;
    const struct command *commands = commands_all(&count);
    for (size_t i = 0; i < count; i++) {
        char usage[64];
        const char *flags = strstr(commands[i].usage, "[flags]");
        (void)snprintf(usage, sizeof(usage), "%s %.*s", commands[i].word,
                       (int)(flags - commands[i].usage), commands[i].usage);
        (void)fprintf(out, "  %-30s %s\n", usage, commands[i].brief);
    }
    (void)fputs("\n'hamictl COMMAND --help' has a command's flags and examples.\n", out);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options;
    struct hamid_flag flags[COMMAND_FLAGS_MAX];
    char error[HAMID_FLAG_ERROR_MAX];
    memset(&options, 0, sizeof(options));
    commands_fill_flags(command, &options, flags);
    const struct hamid_command line = {.name = command->name,
                                       .usage = command->usage,
                                       .summary = command->summary,
                                       .closing = command->closing,
                                       .flags = flags};
    enum hamid_flags_result result = hamid_flags_parse(
        &line, argc, argv, commands_takes_words(command) ? &options.arguments : NULL,
        error);
    if (result == HAMID_FLAGS_HELP) {
        char *help = hamid_flags_help(&line);
        (void)fputs(help != NULL ? help : "out of memory\n", stdout);
        free(help);
        return 0;
    }
    if (result == HAMID_FLAGS_WRONG) {
        (void)fprintf(stderr, "%s: %s\n", command->name, error);
        return EXIT_USAGE;
    }
    options.is_json = options.output != NULL && strcmp(options.output, "json") == 0;
    if (options.output != NULL && !options.is_json &&
        strcmp(options.output, "table") != 0) {
        (void)fprintf(stderr, "%s: --output: '%.64s' is neither table nor json\n",
                      command->name, options.output);
        return EXIT_USAGE;
    }
    return command->run(&options);
}

/* A program that reads from a file must learn that the end is missing. */
static int end_output(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        (void)fprintf(stderr, "hamictl: could not write all of it: %s\n",
                      strerror(errno));
        return status != 0 ? status : EXIT_FAILED;
    }
    return status;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    const struct command *commands = commands_all(&count);
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "help") == 0) {
        show_help(stdout);
        return 0;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        (void)printf("hamictl %s\n", hami_version());
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, commands[i].word) == 0) {
            (void)curl_global_init(CURL_GLOBAL_DEFAULT);
            return end_output(run(&commands[i], argc - 2, argv + 2));
        }
    }
    show_help(stderr);
    return EXIT_USAGE;
}
