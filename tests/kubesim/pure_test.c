/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pure parts of kubesim: patches, pointers, selectors, routes, and the store with
 * its history.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonpatch.h"
#include "route.h"
#include "selector.h"
#include "store.h"
#include "suite.h"

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, JSON_DECODE_ANY, &error);
    ck_assert_msg(value != NULL, "%s: %s", text, error.text);
    return value;
}

struct patch_row {
    const char *document, *patch, *expected; /* NULL: does not apply */
};

static const struct patch_row patch_rows[] = {
    /* RFC 6902, appendix A */
    {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
     "{\"baz\":\"qux\",\"foo\":\"bar\"}"},
    {"{\"foo\":[\"bar\",\"baz\"]}",
     "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]",
     "{\"foo\":[\"bar\",\"qux\",\"baz\"]}"},
    {"{\"baz\":\"qux\",\"foo\":\"bar\"}", "[{\"op\":\"remove\",\"path\":\"/baz\"}]",
     "{\"foo\":\"bar\"}"},
    {"{\"foo\":[\"bar\",\"qux\",\"baz\"]}", "[{\"op\":\"remove\",\"path\":\"/foo/1\"}]",
     "{\"foo\":[\"bar\",\"baz\"]}"},
    {"{\"baz\":\"qux\"}", "[{\"op\":\"replace\",\"path\":\"/baz\",\"value\":\"boo\"}]",
     "{\"baz\":\"boo\"}"},
    {"{\"foo\":{\"bar\":\"baz\",\"waldo\":\"fred\"},\"qux\":{\"corge\":\"grault\"}}",
     "[{\"op\":\"move\",\"from\":\"/foo/waldo\",\"path\":\"/qux/thud\"}]",
     "{\"foo\":{\"bar\":\"baz\"},\"qux\":{\"corge\":\"grault\",\"thud\":\"fred\"}}"},
    {"{\"foo\":[\"all\",\"grass\",\"cows\",\"eat\"]}",
     "[{\"op\":\"move\",\"from\":\"/foo/1\",\"path\":\"/foo/3\"}]",
     "{\"foo\":[\"all\",\"cows\",\"eat\",\"grass\"]}"},
    {"{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}",
     "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"qux\"},{\"op\":\"test\",\"path\":"
     "\"/foo/1\",\"value\":2}]",
     "{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}"},
    {"{\"baz\":\"qux\"}", "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"bar\"}]",
     NULL},
    {"{\"foo\":\"bar\"}",
     "[{\"op\":\"add\",\"path\":\"/child\",\"value\":{\"grandchild\":{}}}]",
     "{\"foo\":\"bar\",\"child\":{\"grandchild\":{}}}"},
    {"{\"foo\":\"bar\"}",
     "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\",\"xyz\":123}]",
     "{\"foo\":\"bar\",\"baz\":\"qux\"}"},
    {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz/bat\",\"value\":\"qux\"}]",
     NULL},
    {"{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":10}]",
     "{\"/\":9,\"~1\":10}"},
    {"{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":\"10\"}]",
     NULL},
    {"{\"foo\":[\"bar\"]}",
     "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[\"abc\",\"def\"]}]",
     "{\"foo\":[\"bar\",[\"abc\",\"def\"]]}"},
    /* Kubernetes' own ways */
    {"{\"m\":{}}", "[{\"op\":\"test\",\"path\":\"/m/a\",\"value\":null}]", "{\"m\":{}}"},
    {"{\"m\":{\"a\":null}}", "[{\"op\":\"test\",\"path\":\"/m/a\",\"value\":null}]",
     "{\"m\":{\"a\":null}}"},
    {"{\"m\":{\"a\":1}}", "[{\"op\":\"test\",\"path\":\"/m/a\",\"value\":null}]", NULL},
    {"{}", "[{\"op\":\"test\",\"path\":\"/m/a\",\"value\":null}]", NULL},
    {"{\"m\":{}}", "[{\"op\":\"test\",\"path\":\"/m/a\",\"value\":1}]", NULL},
    {"{\"m\":{}}", "[{\"op\":\"replace\",\"path\":\"/m/a\",\"value\":1}]",
     "{\"m\":{\"a\":1}}"},
    {"{}", "[{\"op\":\"replace\",\"path\":\"/m/a\",\"value\":1}]", NULL},
    {"{\"m\":{}}", "[{\"op\":\"remove\",\"path\":\"/m/a\"}]", NULL},
    {"{\"a\":\"<>&\"}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"\\u003c\\u003e\\u0026\"}]",
     "{\"a\":\"<>&\"}"},
    {"{\"a\":\"<\"}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"<\"}]", NULL},
    {"{\"a\":\"<\"}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"\\u003C\"}]", NULL},
    {"{\"a\":\"\\u2028\"}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"\\u2028\"}]",
     "{\"a\":\"\\u2028\"}"},
    {"{\"a\":\"\\u2029\"}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"\xe2\x80\xa9\"}]", NULL},
    {"{\"a\":\"\\u001f/\\n\"}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"\\u001f/\\n\"}]",
     "{\"a\":\"\\u001f/\\n\"}"},
    {"{\"a\":\"x\"}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"\\u0078\"}]", NULL},
    {"{\"a\":\"/\"}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"\\/\"}]", NULL},
    {"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1.0}]", NULL},
    {"{\"a\":{\"b\":[\"<\",2,{}]}}",
     "[{\"op\":\"test\", \"path\":\"/a\", \"value\": "
     "{ \"\\u0062\" : [ \"\\u003c\" , 2 , { } ] } } ]",
     "{\"a\":{\"b\":[\"<\",2,{}]}}"},
    {"{\"a\":{\"b\":[\"<\",2]}}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"b\":[\"<\",2]}}]", NULL},
    {"{\"a\":[1]}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":[1,2]}]", NULL},
    {"{\"a\":[1]}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":[]}]", NULL},
    {"{\"a\":[1]}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"a\":1}}]", NULL},
    {"{\"a\":{\"b\":1}}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{}}]", NULL},
    {"{\"a\":1}",
     "[{\"op\":\"add\",\"path\":\"/b\",\"value\":\"<\"},"
     "{\"op\":\"test\",\"path\":\"/b\",\"value\":\"<\"},"
     "{\"op\":\"remove\",\"path\":\"/b\"}]",
     "{\"a\":1}"},
    /* corners */
    {"{\"a\":[1]}", "[{\"op\":\"remove\",\"path\":\"/a/1\"}]", NULL},
    {"{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/2\",\"value\":1}]", NULL},
    {"{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/x\",\"value\":1}]", NULL},
    {"{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"}]",
     "{\"a\":1,\"b\":1}"},
    {"{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"/c\",\"path\":\"/b\"}]", NULL},
    {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\"}]", NULL},
    {"{\"a\":1}", "[{\"op\":\"fly\",\"path\":\"/b\"}]", NULL},
    {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"b\",\"value\":1}]", NULL},
    {"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"\",\"value\":{\"a\":1}}]", "{\"a\":1}"},
    {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":{\"b\":1}}]",
     "{\"b\":1}"},
    {"{\"a\":{\"\":1}}", "[{\"op\":\"test\",\"path\":\"/a/\",\"value\":1}]",
     "{\"a\":{\"\":1}}"},
    /* all or nothing */
    {"{\"a\":1}",
     "[{\"op\":\"add\",\"path\":\"/b\",\"value\":1},{\"op\":\"test\",\"path\":\"/a\","
     "\"value\":2}]",
     NULL},
};

START_TEST(a_json_patch_gives_the_documented_result)
{
    const struct patch_row *row = &patch_rows[_i];
    json_t *document = parse(row->document), *patch = parse(row->patch), *result = NULL;
    json_t *before = json_deep_copy(document);
    enum sim_patch_result code =
        sim_jsonpatch_apply(document, patch, row->patch, &result);
    ck_assert(json_equal(document, before));
    if (row->expected == NULL) {
        ck_assert_int_eq(code, SIM_PATCH_FAILED);
        ck_assert_ptr_null(result);
    } else {
        json_t *expected = parse(row->expected);
        ck_assert_int_eq(code, SIM_PATCH_OK);
        ck_assert_msg(json_equal(result, expected), "row %d", _i);
        json_decref(expected);
    }
    json_decref(result);
    json_decref(before);
    json_decref(document);
    json_decref(patch);
}
END_TEST

START_TEST(what_is_no_json_patch_is_malformed)
{
    static const char *const texts[] = {"{}", "1", "[1]", "[[]]", "\"x\""};
    json_t *document = parse("{}"), *result = NULL;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        json_t *patch = parse(texts[i]);
        ck_assert_int_eq(sim_jsonpatch_apply(document, patch, texts[i], &result),
                         SIM_PATCH_MALFORMED);
        json_decref(patch);
    }
    json_decref(document);
}
END_TEST

START_TEST(a_json_patch_has_a_bounded_number_of_operations)
{
    json_t *document = parse("{\"a\":1}"), *patch = json_array(), *result = NULL;
    json_t *operation = parse("{\"op\":\"test\",\"path\":\"/a\",\"value\":1}");
    for (int i = 0; i < SIM_PATCH_OPERATIONS; i++) {
        json_array_append(patch, operation);
    }
    char *text = json_dumps(patch, 0);
    ck_assert_int_eq(sim_jsonpatch_apply(document, patch, text, &result), SIM_PATCH_OK);
    json_decref(result);
    json_array_append_new(patch, operation);
    ck_assert_int_eq(sim_jsonpatch_apply(document, patch, text, &result),
                     SIM_PATCH_TOO_LONG);
    free(text);
    json_decref(document);
    json_decref(patch);
}
END_TEST

START_TEST(a_merge_patch_follows_rfc_7386)
{
    static const char *const rows[][3] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}",
         "{\"a\":{\"b\":\"d\"}}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *document = parse(rows[i][0]), *patch = parse(rows[i][1]);
        json_t *expected = parse(rows[i][2]);
        json_t *result = sim_mergepatch_apply(document, patch);
        ck_assert_msg(json_equal(result, expected), "row %zu", i);
        json_decref(result);
        json_decref(expected);
        json_decref(patch);
        json_decref(document);
    }
}
END_TEST

static const char pod_text[] =
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"labels\":{\"x\":\"1\"}},"
    "\"spec\":{\"nodeName\":\"n\",\"schedulerName\":\"s\"},\"status\":{\"phase\":"
    "\"Pending\"}}";

struct selector_row {
    const char *fields, *labels;
    bool matches;
};

static const struct selector_row selector_rows[] = {
    {NULL, NULL, true},
    {"", "", true},
    {"metadata.name=a", NULL, true},
    {"metadata.name==a,metadata.namespace=ns", NULL, true},
    {"metadata.name!=a", NULL, false},
    {"spec.nodeName=n,status.phase!=Failed", NULL, true},
    {"spec.nodeName=", NULL, false},
    {"status.phase=Running", NULL, false},
    {"spec.schedulerName!=other", NULL, true},
    {NULL, "x=1", true},
    {NULL, "x!=1", false},
    {NULL, "y!=1", true},
    {NULL, "x", true},
    {NULL, "!x", false},
    {NULL, "!y", true},
    {NULL, "y", false},
    {"metadata.name=a", "x=2", false},
};

START_TEST(a_selector_matches_as_written)
{
    const struct selector_row *row = &selector_rows[_i];
    struct sim_selector selector = {0};
    json_t *pod = parse(pod_text);
    ck_assert_int_eq(
        sim_selector_add_fields(&selector, sim_resource_find(NULL, "pods"), row->fields),
        SIM_SELECTOR_OK);
    ck_assert_int_eq(sim_selector_add_labels(&selector, row->labels), SIM_SELECTOR_OK);
    ck_assert_int_eq(sim_selector_matches(&selector, pod), row->matches);
    sim_selector_clear(&selector);
    json_decref(pod);
}
END_TEST

START_TEST(a_selector_that_cannot_be_served_is_refused)
{
    static const char *const syntax[] = {"metadata.name", "=a", ",", "a=b=c", "x in (1)"};
    const struct sim_resource *pods = sim_resource_find(NULL, "pods");
    struct sim_selector selector = {0};
    for (size_t i = 0; i < sizeof(syntax) / sizeof(syntax[0]); i++) {
        ck_assert_int_eq(sim_selector_add_fields(&selector, pods, syntax[i]),
                         SIM_SELECTOR_SYNTAX);
        sim_selector_clear(&selector);
    }
    ck_assert_int_eq(sim_selector_add_fields(&selector, pods, "spec.hostname=a"),
                     SIM_SELECTOR_FIELD);
    sim_selector_clear(&selector);
    ck_assert_int_eq(sim_selector_add_fields(&selector, sim_resource_find(NULL, "nodes"),
                                             "spec.nodeName=a"),
                     SIM_SELECTOR_FIELD);
    sim_selector_clear(&selector);
}
END_TEST

static void expect_route(const char *path, const char *method, bool watch,
                         const char *expected)
{
    struct sim_target target;
    char found[700];
    enum sim_route_result result = sim_route_resolve(path, method, watch, &target);
    if (result == SIM_ROUTE_RESOURCE) {
        snprintf(found, sizeof(found), "%s %s %s/%s/%s", target.verb,
                 target.resource->plural, target.namespace_name, target.name,
                 target.subresource);
    } else {
        snprintf(found, sizeof(found), "%s",
                 result == SIM_ROUTE_METHOD ? "method" : "other");
    }
    ck_assert_msg(strcmp(found, expected) == 0, "%s %s is %s", method, path, found);
}

START_TEST(paths_and_methods_mean_what_they_mean_in_kubernetes)
{
    expect_route("/api/v1/nodes", "GET", false, "list nodes //");
    expect_route("/api/v1/nodes", "GET", true, "watch nodes //");
    expect_route("/api/v1/nodes/a", "GET", false, "get nodes /a/");
    expect_route("/api/v1/nodes/a%2eb/status", "PATCH", false, "patch nodes /a.b/status");
    expect_route("/api/v1/pods", "GET", false, "list pods //");
    expect_route("/api/v1/namespaces/ns/pods", "POST", false, "create pods ns//");
    expect_route("/api/v1/namespaces/ns/pods/a/binding", "POST", false,
                 "create pods ns/a/binding");
    expect_route("/api/v1/namespaces/ns/pods/a", "DELETE", false, "delete pods ns/a/");
    expect_route("/api/v1/namespaces/ns", "GET", false, "get namespaces /ns/");
    expect_route("/api/v1/namespaces/ns/status", "GET", false,
                 "get namespaces /ns/status");
    expect_route("/apis/coordination.k8s.io/v1/namespaces/ns/leases/l", "PUT", false,
                 "update leases ns/l/");
    expect_route("/api/v1/nodes/a", "POST", false, "method");
    expect_route("/api/v1/nodes", "PUT", false, "method");
    expect_route("/api/v1/pods", "POST", false, "method");
    expect_route("/api/v1/namespaces/ns/pods/a/binding", "GET", false, "method");
    expect_route("/api/v1/namespaces/ns/nodes", "GET", false, "other");
    expect_route("/api/v1/leases", "GET", false, "other");
    expect_route("/api/v1/nodes/a/binding", "POST", false, "other");
    expect_route("/api/v1/a/b/c/d/e/f/g/h/i/j", "GET", false, "other");
    expect_route("/api", "GET", false, "other");
    expect_route("/", "GET", false, "other");
    expect_route("", "GET", false, "other");
}
END_TEST

START_TEST(an_accept_header_chooses_the_form)
{
    static const char partial[] =
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;"
        "v=v1";
    static const char list[] = "application/json; as=PartialObjectMetadataList; "
                               "g=meta.k8s.io; v=v1";
    ck_assert_int_eq(sim_route_form(NULL, false), SIM_FORM_FULL);
    ck_assert_int_eq(sim_route_form("*/*", true), SIM_FORM_FULL);
    ck_assert_int_eq(sim_route_form(partial, false), SIM_FORM_METADATA);
    ck_assert_int_eq(sim_route_form(partial, true), SIM_FORM_NONE);
    ck_assert_int_eq(sim_route_form(list, true), SIM_FORM_METADATA_LIST);
    ck_assert_int_eq(sim_route_form(list, false), SIM_FORM_NONE);
    ck_assert_int_eq(
        sim_route_form("application/vnd.kubernetes.protobuf, application/json", false),
        SIM_FORM_FULL);
    ck_assert_int_eq(sim_route_form("application/vnd.kubernetes.protobuf", false),
                     SIM_FORM_NONE);
    ck_assert_int_eq(sim_route_form("application/json;as=Table;g=meta.k8s.io;v=v1", true),
                     SIM_FORM_NONE);
    ck_assert_int_eq(sim_route_form(",,", false), SIM_FORM_NONE);
}
END_TEST

static void put(struct sim_store *store, const char *name, const char *value)
{
    json_t *object = json_pack("{s:{s:s,s:{s:s}}}", "metadata", "name", name,
                               "annotations", "v", value);
    (void)sim_store_put(store, sim_resource_find(NULL, "nodes"), object);
}

/* "name=value" of all nodes at VERSION, or "gone". */
static void expect_list(const struct sim_store *store, uint64_t version,
                        const char *expected)
{
    struct sim_object **objects;
    size_t count;
    char found[256] = "gone";
    if (sim_store_list(store, sim_resource_find(NULL, "nodes"), version, &objects,
                       &count) == 0) {
        char *end = found;
        *end = '\0';
        for (size_t i = 0; i < count; i++) {
            end += sprintf(end, "%s=%s ", objects[i]->name,
                           json_string_value(sim_json_pointer(
                               objects[i]->value, "/metadata/annotations/v")));
        }
        sim_store_list_free(objects, count);
    }
    ck_assert_str_eq(found, expected);
}

START_TEST(the_store_lists_any_version_of_its_history_in_order)
{
    struct sim_store *store = sim_store_new(4);
    put(store, "b", "1");
    put(store, "a", "1");
    put(store, "b", "2");
    sim_store_remove(store,
                     sim_store_find(store, sim_resource_find(NULL, "nodes"), "", "a"));
    ck_assert_uint_eq(sim_store_version(store), 4);
    expect_list(store, 4, "b=2 ");
    expect_list(store, 3, "a=1 b=2 ");
    expect_list(store, 2, "a=1 b=1 ");
    expect_list(store, 1, "b=1 ");
    expect_list(store, 0, "");
    put(store, "c", "1");
    expect_list(store, 5, "b=2 c=1 ");
    expect_list(store, 1, "b=1 ");
    expect_list(store, 0, "gone");
    ck_assert_ptr_null(sim_store_change(store, 1));
    ck_assert_int_eq(sim_store_change(store, 2)->type, SIM_ADDED);
    ck_assert_int_eq(sim_store_change(store, 3)->type, SIM_MODIFIED);
    ck_assert_int_eq(sim_store_change(store, 4)->type, SIM_DELETED);
    ck_assert_uint_eq(sim_store_change(store, 4)->now->version, 4);
    ck_assert_ptr_null(sim_store_change(store, 6));
    sim_store_compact(store);
    expect_list(store, 4, "gone");
    expect_list(store, 5, "b=2 c=1 ");
    sim_store_free(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubesim-pure");
    TCase *test_case = tcase_create("pure");
    tcase_add_loop_test(test_case, a_json_patch_gives_the_documented_result, 0,
                        sizeof(patch_rows) / sizeof(patch_rows[0]));
    tcase_add_test(test_case, what_is_no_json_patch_is_malformed);
    tcase_add_test(test_case, a_json_patch_has_a_bounded_number_of_operations);
    tcase_add_test(test_case, a_merge_patch_follows_rfc_7386);
    tcase_add_loop_test(test_case, a_selector_matches_as_written, 0,
                        sizeof(selector_rows) / sizeof(selector_rows[0]));
    tcase_add_test(test_case, a_selector_that_cannot_be_served_is_refused);
    tcase_add_test(test_case, paths_and_methods_mean_what_they_mean_in_kubernetes);
    tcase_add_test(test_case, an_accept_header_chooses_the_form);
    tcase_add_test(test_case, the_store_lists_any_version_of_its_history_in_order);
    suite_add_tcase(suite, test_case);
    return run_suite(suite);
}
