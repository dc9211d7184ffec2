/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfig files, up to three of them merged. Input: the files, separated by a line
 * "%%"; a first line "#context NAME" asks for that context.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "exec.h"
#include "login.h"

#define FILES_MAX 3

/* A file in memory, and its name. */
static int make_file(const char *bytes, size_t length, char *path, size_t size)
{
    int file = memfd_create("kubeconfig", MFD_CLOEXEC);

    FUZZ_CHECK(file >= 0);
    FUZZ_CHECK(write(file, bytes, length) == (ssize_t)length);
    (void)snprintf(path, size, "/proc/self/fd/%d", file);
    return file;
}

static void check_login(const struct hami_internal_login *login)
{
    struct hami_internal_login again = {0};
    struct hami_error error = HAMI_ERROR_INIT;

    FUZZ_CHECK(login->server != NULL && login->host != NULL && login->port != NULL);
    FUZZ_CHECK(login->prefix != NULL);
    FUZZ_CHECK(strncmp(login->server, "https://", 8) == 0 ||
               (login->is_plain && strncmp(login->server, "http://", 7) == 0));
    FUZZ_CHECK(login->server[strlen(login->server) - 1] != '/');
    FUZZ_CHECK(login->ca_file == NULL || login->ca_data == NULL);
    FUZZ_CHECK(login->key_file == NULL || login->key_data == NULL);
    FUZZ_CHECK(login->certificate_file == NULL || login->certificate_data == NULL);
    FUZZ_CHECK(login->source[0] != '\0');
    /* The server's text is a URL that means itself. */
    FUZZ_CHECK(hami_internal_login_set_server(&again, login->server, "again", &error) ==
               0);
    FUZZ_CHECK(strcmp(again.server, login->server) == 0);
    FUZZ_CHECK(strcmp(again.host, login->host) == 0);
    FUZZ_CHECK(strcmp(again.port, login->port) == 0);
    FUZZ_CHECK(strcmp(again.prefix, login->prefix) == 0);
    FUZZ_CHECK(again.is_plain == login->is_plain);
    hami_internal_login_done(&again);
}

/* Whether certificates, key and token are usable: only what is in the texts themselves,
 * for a fuzzer must not open files that it thought of. */
static void check_usable(struct hami_internal_login *login)
{
    struct hami_error error = HAMI_ERROR_INIT;

    if (login->ca_file != NULL || login->certificate_file != NULL ||
        login->key_file != NULL || login->token_file != NULL) {
        return;
    }
    int code = hami_internal_login_check(login, &error);
    FUZZ_CHECK(code == 0 || code == HAMI_E_INVAL);
    FUZZ_CHECK(code == 0 || error.text[0] != '\0');
    FUZZ_CHECK(code != 0 || login->token == NULL ||
               strlen(login->token) <= HAMI_INTERNAL_LOGIN_TOKEN_MAX);
}

/* A plugin that would be run: not here. */
static void check_plugin(const struct hami_internal_exec *exec)
{
    bool has_info = false;

    FUZZ_CHECK(exec->command != NULL && exec->command[0] != '\0');
    FUZZ_CHECK(strcmp(exec->arguments[0], exec->command) == 0);
    for (char **at = exec->variables; *at != NULL; at++) {
        FUZZ_CHECK(strchr(*at, '=') != NULL);
        has_info = has_info || strncmp(*at, "KUBERNETES_EXEC_INFO={", 22) == 0;
    }
    FUZZ_CHECK(has_info);
}

/* @allows_exec  not where a plugin is to be told of the CA: that is read from its file */
static void read_files(const char *paths, const char *context, bool allows_exec)
{
    struct hami_internal_login login = {.allows_exec = allows_exec};
    struct hami_error error = HAMI_ERROR_INIT;
    int code = hami_internal_kubeconfig_login(paths, context, &login, &error);

    FUZZ_CHECK(code == 0 || code == HAMI_E_INVAL || code == HAMI_E_NOTSUP);
    FUZZ_CHECK(code == error.code);
    FUZZ_CHECK(strnlen(error.text, sizeof(error.text)) < sizeof(error.text));
    FUZZ_CHECK(code == 0 || error.text[0] != '\0');
    if (code == 0) {
        check_login(&login);
        check_usable(&login);
    }
    if (code == 0 && login.exec != NULL) {
        check_plugin(login.exec);
    }
    hami_internal_login_done(&login);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {(const char *)data, size};
    char paths[FILES_MAX * 32] = "";
    int files[FILES_MAX];
    size_t count = 0;
    char *context = NULL;
    bool allows_exec = true;

    if (size > 9 && memcmp(data, "#context ", 9) == 0) {
        input.at += 9;
        input.left -= 9;
        context = fuzz_take(&input, "\n", NULL);
    }
    while (count < FILES_MAX) {
        size_t length = 0;
        char path[32];
        char *text = fuzz_take(&input, "\n%%\n", &length);
        if (text == NULL) {
            break;
        }
        files[count++] = make_file(text, length, path, sizeof(path));
        (void)snprintf(paths + strlen(paths), sizeof(paths) - strlen(paths), "%s%s",
                       count > 1 ? ":" : "", path);
        allows_exec = allows_exec && strstr(text, "provideClusterInfo") == NULL;
        free(text);
    }
    if (count > 0) {
        read_files(paths, context, allows_exec);
    }
    while (count > 0) {
        (void)close(files[--count]);
    }
    free(context);
    return 0;
}
