/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The facts suite's fixture, its helpers and its start: see facts.h. */
#include "facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"

struct facts facts;

struct reply facts_get(const char *path, const char *accept)
{
    return peer_send(&facts.peer, "GET", path, NULL, NULL, accept);
}

static struct reply send_format(const char *method, const char *path, const char *type,
                                const char *format, va_list arguments)
{
    char *body = NULL;
    ck_assert_int_ge(vasprintf(&body, format, arguments), 0);
    struct reply reply =
        peer_send(&facts.peer, method, path, type, body[0] != '\0' ? body : NULL, NULL);
    free(body);
    return reply;
}

struct reply facts_send(const char *method, const char *path, const char *type,
                        const char *body, ...)
{
    va_list arguments;
    va_start(arguments, body);
    struct reply reply = send_format(method, path, type, body, arguments);
    va_end(arguments);
    return reply;
}

void facts_expect(int line, long code, const char *method, const char *path,
                  const char *type, const char *body, ...)
{
    va_list arguments;
    va_start(arguments, body);
    struct reply reply = send_format(method, path, type, body, arguments);
    va_end(arguments);
    ck_assert_msg(reply.code == code, "line %d: %s %s gave %ld (%s) for %ld: %.400s",
                  line, method, path, reply.code, curl_easy_strerror(reply.result), code,
                  reply.body != NULL ? reply.body : "");
    reply_clear(&reply);
}

char *facts_text(const char *path, const char *pointer)
{
    struct reply reply = facts_get(path, NULL);
    char *text = strdup(reply_text(&reply, pointer));
    reply_clear(&reply);
    return text;
}

void facts_make_node(const char *annotations)
{
    EXPECT(201, "POST", "/api/v1/nodes", JSON_TYPE,
           "{\"metadata\":{\"name\":\"%s\",\"annotations\":%s}}", facts.node,
           annotations != NULL ? annotations : "null");
}

void facts_make_pod(const char *annotations)
{
    EXPECT(201, "POST", PODS, JSON_TYPE,
           "{\"metadata\":{\"name\":\"%s\",\"annotations\":%s},\"spec\":{"
           "\"schedulerName\":\"nobody\",\"terminationGracePeriodSeconds\":30,"
           "\"containers\":[{\"name\":\"main\",\"image\":\"pause\"}]}}",
           facts.pod, annotations != NULL ? annotations : "null");
}

/* Fresh names: process, and the time in nanoseconds, are new for each test. */
static void choose_names(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(facts.node, sizeof(facts.node), "facts-%d-%lld%09ld", (int)getpid(),
             (long long)now.tv_sec, now.tv_nsec);
    snprintf(facts.pod, sizeof(facts.pod), "pod-%s", facts.node);
    snprintf(facts.node_path, sizeof(facts.node_path), "/api/v1/nodes/%s", facts.node);
    snprintf(facts.pod_path, sizeof(facts.pod_path), PODS "/%s", facts.pod);
}

void facts_setup(void)
{
    static const char *const users[] = {"facts", NULL};
    const struct kubesim_options options = {.users = users};
    const char *kubeconfig = getenv("HAMI_TEST_KUBECONFIG");
    memset(&facts, 0, sizeof(facts));
    if (kubeconfig != NULL) {
        ck_assert_msg(peer_open_kubeconfig(&facts.peer, kubeconfig),
                      "cannot read the kubeconfig %s", kubeconfig);
    } else {
        ck_assert_int_eq(kubesim_start(&options, &facts.sim), 0);
        peer_open_sim(&facts.peer, facts.sim, "facts");
    }
    choose_names();
}

void facts_teardown(void)
{
    struct reply reply = facts_send("DELETE", facts.node_path, NULL, "%s", "");
    reply_clear(&reply);
    reply = facts_send("DELETE", facts.pod_path, JSON_TYPE, "{\"gracePeriodSeconds\":0}");
    reply_clear(&reply);
    peer_close(&facts.peer);
    facts.sim = kubesim_free(facts.sim);
}

TCase *facts_case(const char *name)
{
    TCase *test_case = tcase_create(name);
    tcase_add_checked_fixture(test_case, facts_setup, facts_teardown);
    tcase_set_timeout(test_case, 60);
    return test_case;
}

int main(void)
{
    Suite *suite = suite_create("facts");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    suite_add_tcase(suite, facts_patch_case());
    suite_add_tcase(suite, facts_guard_case());
    suite_add_tcase(suite, facts_metadata_case());
    suite_add_tcase(suite, facts_binding_case());
    suite_add_tcase(suite, facts_watch_case());
    suite_add_tcase(suite, facts_error_case());
    int code = run_suite(suite);
    curl_global_cleanup();
    return code;
}
