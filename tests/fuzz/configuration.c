/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration files of hamid, over a table with an option of each kind. Input: the
 * file. What is taken and printed comes to the same when it is read again.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "config.h"

struct values {
    const char *text;
    const char *word;
    struct hamid_flag_list list;
    struct hamid_flag_list pairs;
    uint64_t duration;
    uint64_t number;
    bool boolean;
    struct hamid_config config;
};

static struct values first;
static struct values second;
static struct hamid_problems problems;

static void fill(struct values *v)
{
    const struct hamid_command command = {"prog", "[flags]", "Does it.", NULL, NULL};
    const struct hamid_flag rows[] = {
        {"listen", "http_bind", HAMID_FLAG_TEXT, &v->text, "HOST:PORT", "", 0, 0, NULL},
        {"format", NULL, HAMID_FLAG_TEXT, &v->word, "a|b", "", 0, 0, NULL, "a|b"},
        {"name", NULL, HAMID_FLAG_LIST, &v->list, "NAME", "", 0, 0, NULL},
        {"lock", NULL, HAMID_FLAG_PAIRS, &v->pairs, "A=B", "", 0, 0, NULL},
        {"patience", NULL, HAMID_FLAG_DURATION, &v->duration, "TIME", "", 1, 60000, NULL},
        {"v", NULL, HAMID_FLAG_NUMBER, &v->number, "N", "", 0, 10, NULL},
        {"insecure", NULL, HAMID_FLAG_BOOLEAN, &v->boolean, NULL, "", 0, 0, NULL},
    };
    memset(v, 0, sizeof(*v));
    v->word = "a";
    v->duration = 1000;
    hamid_config_begin(&v->config, &command);
    hamid_config_add(&v->config, rows, sizeof(rows) / sizeof(rows[0]));
}

static enum hamid_flags_result read_file(struct values *v, const char *bytes,
                                         size_t length)
{
    char path[32];
    char *argv[] = {(char *)"--config", path};
    int file = memfd_create("configuration", MFD_CLOEXEC);
    FUZZ_CHECK(file >= 0);
    FUZZ_CHECK(write(file, bytes, length) == (ssize_t)length);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    memset(&problems, 0, sizeof(problems));
    fill(v);
    enum hamid_flags_result result = hamid_config_read(&v->config, 2, argv, &problems);
    (void)close(file);
    FUZZ_CHECK((result == HAMID_FLAGS_OK) == (problems.count == 0));
    FUZZ_CHECK(problems.count == 0 || problems.text[problems.length - 1] == '\n');
    FUZZ_CHECK(problems.length < sizeof(problems.text));
    return result;
}

static void check_same_lists(const struct hamid_flag_list *one,
                             const struct hamid_flag_list *other)
{
    FUZZ_CHECK(one->count == other->count);
    for (size_t i = 0; i < one->count; i++) {
        FUZZ_CHECK(strcmp(one->values[i], other->values[i]) == 0);
    }
}

static void check_same(void)
{
    FUZZ_CHECK((first.text == NULL) == (second.text == NULL));
    FUZZ_CHECK(first.text == NULL || strcmp(first.text, second.text) == 0);
    FUZZ_CHECK(strcmp(first.word, second.word) == 0);
    check_same_lists(&first.list, &second.list);
    check_same_lists(&first.pairs, &second.pairs);
    FUZZ_CHECK(first.number == second.number);
    FUZZ_CHECK(first.boolean == second.boolean);
    FUZZ_CHECK(first.duration == second.duration);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    if (read_file(&first, text, size) == HAMID_FLAGS_OK) {
        char *printed = hamid_config_print(&first.config);
        FUZZ_CHECK(printed != NULL);
        FUZZ_CHECK(read_file(&second, printed, strlen(printed)) == HAMID_FLAGS_OK);
        check_same();
        hamid_config_done(&second.config);
        free(printed);
    }
    hamid_config_done(&first.config);
    free(text);
    return 0;
}
