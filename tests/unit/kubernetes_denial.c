/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A refusal with 403, as its client is told of it: what is missing, in the words of RBAC.
 */
#include "kubernetes_support.h"

#include <stdio.h>
#include <string.h>

#define BY_RBAC(verb, resource)                                                          \
    "system:serviceaccount:hami-system:hamid-node\\\" cannot " verb                      \
    " resource \\\"" resource "\\\""
#define REFUSAL(message)                                                                 \
    "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"" message  \
    "\"}"

/* What was told, as one line; written on the client's thread before the answer is given.
 */
struct denials {
    unsigned count;
    char last[512];
};

static void tell(void *data, const struct hami_kubernetes_denial *denial)
{
    struct denials *denials = data;

    denials->count++;
    (void)snprintf(denials->last, sizeof(denials->last),
                   "%s %s %s ns=%s name=%s group=%s %s%s",
                   denial->is_permission ? "permission" : "admission", denial->verb,
                   denial->resource, denial->namespace_name, denial->name, denial->group,
                   denial->text, denial->is_over ? " over" : "");
}

static struct denials *told; /* of the request under way */

static void listen_for_denials(struct hami_kubernetes_config *config)
{
    config->denied = tell;
    config->denied_data = told;
}

/* One request to a server that answers so; what was told of it stands in denials. */
static void ask_refused(enum hami_kubernetes_method method, const char *path,
                        const char *status, const char *body, struct denials *denials)
{
    char answer[1024];
    struct scripted_step step = {.answer = answer};
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    struct scripted server;
    hami_kubernetes *client;

    (void)snprintf(answer, sizeof(answer),
                   "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: "
                   "%zu\r\n\r\n%s",
                   status, strlen(body), body);
    told = denials;
    scripted_start(&server, &step, 1);
    client = scripted_client(&server, listen_for_denials);
    request.method = method;
    request.path = path;
    request.body = method == HAMI_KUBERNETES_GET ? NULL : "{}";
    request.body_length = method == HAMI_KUBERNETES_GET ? 0 : 2;
    ck_assert_int_eq(ask(client, request).status, atoi(status));
    hami_kubernetes_free(client);
    scripted_stop(&server);
}

static const struct {
    enum hami_kubernetes_method method;
    const char *path, *message, *told;
} cases[] = {
    {HAMI_KUBERNETES_PATCH, "/api/v1/nodes/n1",
     "nodes \\\"n1\\\" is forbidden: User \\\"" BY_RBAC("patch", "nodes"),
     "permission patch nodes ns= name=n1 group= nodes \"n1\" is forbidden"},
    {HAMI_KUBERNETES_GET, "/api/v1/nodes?limit=500",
     "nodes is forbidden: User \\\"" BY_RBAC("list", "nodes"),
     "permission list nodes ns= name= group= nodes is forbidden"},
    {HAMI_KUBERNETES_GET, "/api/v1/pods?resourceVersion=7&watch=true",
     "pods is forbidden: User \\\"" BY_RBAC("watch", "pods"),
     "permission watch pods ns="},
    {HAMI_KUBERNETES_POST, "/api/v1/namespaces/a/pods/p/binding",
     "pods \\\"p\\\" is forbidden: User \\\"" BY_RBAC("create", "pods/binding"),
     "permission create pods/binding ns=a name=p group= "},
    {HAMI_KUBERNETES_GET, "/apis/coordination.k8s.io/v1/namespaces/a/leases/n1",
     "leases.coordination.k8s.io \\\"n1\\\" is forbidden: User \\\"" BY_RBAC("get",
                                                                             "leases"),
     "permission get leases ns=a name=n1 group=coordination.k8s.io "},
    {HAMI_KUBERNETES_DELETE, "/apis/coordination.k8s.io/v1/namespaces/a/leases/n1",
     "leases.coordination.k8s.io \\\"n1\\\" is forbidden: User \\\"" BY_RBAC("delete",
                                                                             "leases"),
     "permission delete leases ns=a"},
    {HAMI_KUBERNETES_PATCH, "/api/v1/namespaces/a",
     "namespaces \\\"a\\\" is forbidden: User \\\"" BY_RBAC("patch", "namespaces"),
     "permission patch namespaces ns= name=a "},
    {HAMI_KUBERNETES_PATCH, "/api/v1/nodes/n1",
     "nodes \\\"n1\\\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'x' "
     "denied request: "
     "User \\\"a\\\" cannot patch",
     "admission patch nodes ns= name=n1 group= nodes \"n1\" is forbidden: Validating"},
    {HAMI_KUBERNETES_POST, "/api/v1/namespaces/a/pods/p/binding",
     "admission webhook \\\"w\\\" denied the request: no",
     "admission create pods/binding ns=a name=p group= admission webhook"},
};

START_TEST(a_refusal_names_verb_resource_and_whose_no_it_was)
{
    struct denials denials = {0};
    char body[768];

    (void)snprintf(body, sizeof(body), REFUSAL("%s"), cases[_i].message);
    ask_refused(cases[_i].method, cases[_i].path, "403 Forbidden", body, &denials);
    ck_assert_uint_eq(denials.count, 1);
    ck_assert_msg(strncmp(denials.last, cases[_i].told, strlen(cases[_i].told)) == 0,
                  "told: %s", denials.last);
}
END_TEST

START_TEST(a_refusal_without_words_is_told_all_the_same)
{
    struct denials denials = {0};

    ask_refused(HAMI_KUBERNETES_PATCH, "/api/v1/nodes/n1", "403 Forbidden", "no",
                &denials);
    ck_assert_str_eq(denials.last, "admission patch nodes ns= name=n1 group= ");
}
END_TEST

START_TEST(the_end_of_a_lack_is_told_once_by_what_succeeds)
{
    static const char refused[] =
        REFUSAL("nodes \\\"n1\\\" is forbidden: User \\\"" BY_RBAC("patch", "nodes"));
    struct denials denials = {0};
    struct scripted_step steps[4];
    struct scripted server;
    hami_kubernetes *client;
    char answer[1024];

    (void)snprintf(answer, sizeof(answer),
                   "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\n\r\n%s",
                   strlen(refused), refused);
    memset(steps, 0, sizeof(steps));
    steps[0].answer = answer;
    steps[1].answer = steps[2].answer = steps[3].answer = OK_ANSWER;
    told = &denials;
    scripted_start(&server, steps, 4);
    client = scripted_client(&server, listen_for_denials);
    ck_assert_int_eq(ask(client, patch_node()).status, 403);
    ck_assert_uint_eq(denials.count, 1);
    ck_assert_int_eq(ask(client, get_node()).status, 200);
    ck_assert_uint_eq(denials.count, 1); /* another verb */
    ck_assert_int_eq(ask(client, patch_node()).status, 200);
    ck_assert_str_eq(denials.last, "permission patch nodes ns= name=n1 group=  over");
    ck_assert_int_eq(ask(client, patch_node()).status, 200);
    ck_assert_uint_eq(denials.count, 2);
    hami_kubernetes_free(client);
    scripted_stop(&server);
}
END_TEST

START_TEST(other_answers_and_other_paths_are_no_refusals)
{
    struct denials denials = {0};

    ask_refused(HAMI_KUBERNETES_PATCH, "/api/v1/nodes/n1", "404 Not Found", "{}",
                &denials);
    ask_refused(HAMI_KUBERNETES_GET, "/version", "403 Forbidden", "{}", &denials);
    ask_refused(HAMI_KUBERNETES_GET, "/api/v1", "403 Forbidden", "{}", &denials);
    ck_assert_uint_eq(denials.count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_denial");
    TCase *tcase = tcase_create("denial");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_refusal_names_verb_resource_and_whose_no_it_was, 0,
                        (int)(sizeof(cases) / sizeof(cases[0])));
    tcase_add_test(tcase, a_refusal_without_words_is_told_all_the_same);
    tcase_add_test(tcase, the_end_of_a_lack_is_told_once_by_what_succeeds);
    tcase_add_test(tcase, other_answers_and_other_paths_are_no_refusals);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
