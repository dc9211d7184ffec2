/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The YAML file of a configuration: one flat mapping from option names to a scalar, a
 * list of scalars or, for pairs, a mapping of scalars. Read as libyaml's events, so that
 * each mistake is told with its line and nothing is built that would have to be bounded.
 * Anchors, aliases, tags, merge keys, a second document and a name that comes twice are
 * refused.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <yaml.h>

#define DEPTH_MAX 8 /* of what is passed over */

struct file {
    struct hamid_config *config;
    struct hamid_problems *problems;
    yaml_parser_t parser;
    unsigned lines[HAMID_CONFIG_OPTIONS_MAX]; /* where a row was said; 0 = not yet */
    bool is_broken;                           /* no YAML, or more than is looked at */
};

static unsigned line_of(const yaml_event_t *event)
{
    return (unsigned)event->start_mark.line + 1;
}

static void tell(struct file *file, unsigned line, const char *name, const char *what)
{
    hamid_problems_add(file->problems, "%s:%u: %s%s%s", file->config->file, line,
                       name != NULL ? name : "", name != NULL ? ": " : "", what);
}

static void give_up(struct file *file, unsigned line, const char *what)
{
    if (!file->is_broken) {
        tell(file, line, NULL, what);
    }
    file->is_broken = true;
}

/* ---- events --------------------------------------------------------------------- */

/* False at the end of what can be read. */
static bool next(struct file *file, yaml_event_t *event)
{
    if (file->is_broken) {
        return false;
    }
    if (!yaml_parser_parse(&file->parser, event)) {
        const char *problem = file->parser.problem;
        give_up(file, (unsigned)file->parser.problem_mark.line + 1,
                problem != NULL ? problem : "is not YAML");
        return false;
    }
    return true;
}

static bool opens(const yaml_event_t *event)
{
    return event->type == YAML_SEQUENCE_START_EVENT ||
           event->type == YAML_MAPPING_START_EVENT;
}

static bool closes(const yaml_event_t *event)
{
    return event->type == YAML_SEQUENCE_END_EVENT ||
           event->type == YAML_MAPPING_END_EVENT;
}

/* What makes a value more than it looks like. NULL if nothing does. */
static const char *find_trick(const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL;
    const yaml_char_t *tag = NULL;
    if (event->type == YAML_ALIAS_EVENT) {
        return "is an alias; write the value itself";
    }
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    return anchor != NULL ? "has an anchor, which is not taken here"
           : tag != NULL  ? "has a tag, which is not taken here"
                          : NULL;
}

/* Passes over the rest of a collection whose beginning was read. */
static void pass_over(struct file *file, const yaml_event_t *beginning)
{
    unsigned depth = opens(beginning) ? 1 : 0;
    unsigned line = line_of(beginning);
    yaml_event_t event;
    while (depth > 0 && next(file, &event)) {
        depth += opens(&event) ? 1 : 0;
        depth -= closes(&event) ? 1 : 0;
        yaml_event_delete(&event);
        if (depth > DEPTH_MAX) {
            give_up(file, line, "is nested too deeply");
        }
    }
}

/* The scalar's text; NULL with a problem told, the event passed over then. */
static const char *read_scalar(struct file *file, const char *name,
                               const yaml_event_t *event)
{
    const char *trick = find_trick(event);
    const char *text = NULL;
    if (trick == NULL && event->type != YAML_SCALAR_EVENT) {
        trick = "wants one value";
    }
    if (trick == NULL) {
        text = (const char *)event->data.scalar.value;
        bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        if (strlen(text) != event->data.scalar.length) {
            trick = "has a NUL character inside";
        } else if (is_plain && (*text == '\0' || strcmp(text, "~") == 0 ||
                                strcmp(text, "null") == 0)) {
            trick = "has no value; leave the line out for the default";
        }
    }
    if (trick != NULL) {
        tell(file, line_of(event), name, trick);
        pass_over(file, event);
        return NULL;
    }
    return text;
}

/* ---- values --------------------------------------------------------------------- */

static void set(struct file *file, const struct hamid_flag *flag, const char *text,
                unsigned line)
{
    struct hamid_origin origin = {HAMID_SOURCE_FILE, line};
    char error[HAMID_FLAG_ERROR_MAX] = "";
    if (!hamid_config_set(file->config, flag, text, origin, error)) {
        tell(file, line, flag->name, error);
    }
}

/* The list as a whole, an empty one too, was said where it begins. */
static void end_list(struct file *file, const struct hamid_flag *flag, unsigned line)
{
    struct hamid_origin *origin = &file->config->origins[flag - file->config->flags];
    if (origin->source != HAMID_SOURCE_FILE) {
        ((struct hamid_flag_list *)flag->value)->count = 0;
    }
    *origin = (struct hamid_origin){HAMID_SOURCE_FILE, line};
}

static void read_list(struct file *file, const struct hamid_flag *flag, unsigned line)
{
    yaml_event_t event;
    while (next(file, &event)) {
        bool is_end = event.type == YAML_SEQUENCE_END_EVENT;
        const char *text = is_end ? NULL : read_scalar(file, flag->name, &event);
        if (text != NULL) {
            set(file, flag, text, line_of(&event));
        }
        yaml_event_delete(&event);
        if (is_end) {
            break;
        }
    }
    end_list(file, flag, line);
}

static void read_pair(struct file *file, const struct hamid_flag *flag, const char *name,
                      unsigned line)
{
    yaml_event_t event;
    if (!next(file, &event)) {
        return;
    }
    const char *value = read_scalar(file, name, &event);
    char *pair = NULL;
    if (value != NULL && asprintf(&pair, "%s=%s", name, value) >= 0) {
        set(file, flag, pair, line);
        free(pair);
    }
    yaml_event_delete(&event);
}

static void read_pairs(struct file *file, const struct hamid_flag *flag, unsigned line)
{
    yaml_event_t event;
    bool is_end = false;
    while (!is_end && next(file, &event)) {
        is_end = event.type == YAML_MAPPING_END_EVENT;
        const char *name = is_end ? NULL : read_scalar(file, flag->name, &event);
        if (name != NULL && strchr(name, '=') == NULL) {
            read_pair(file, flag, name, line_of(&event));
        } else if (!is_end) {
            give_up(file, line_of(&event), "wants plain names here");
        }
        yaml_event_delete(&event);
    }
    end_list(file, flag, line);
}

/* @line  of the name, where a list is said to be */
static void read_option(struct file *file, const struct hamid_flag *flag, unsigned line,
                        const yaml_event_t *event)
{
    bool is_pairs = flag->kind == HAMID_FLAG_PAIRS;
    bool is_list = is_pairs || flag->kind == HAMID_FLAG_LIST;
    bool has_trick = find_trick(event) != NULL;
    if (is_list && !has_trick && event->type == YAML_SEQUENCE_START_EVENT) {
        read_list(file, flag, line);
    } else if (is_pairs && !has_trick && event->type == YAML_MAPPING_START_EVENT) {
        read_pairs(file, flag, line);
    } else {
        const char *text = read_scalar(file, flag->name, event);
        if (text != NULL) {
            set(file, flag, text, line_of(event));
        }
    }
}

/* ---- names ---------------------------------------------------------------------- */

static void tell_unknown(struct file *file, unsigned line, const char *name)
{
    char near[HAMID_FLAG_NAME_MAX];
    char what[HAMID_FLAG_NAME_MAX + 64];
    bool has_near =
        hamid_flags_suggest(file->config->flags, name, strlen(name), true, near);
    char shown[80];
    (void)snprintf(what, sizeof(what), "is no option of this role%s%s%s",
                   has_near ? ", did you mean " : "", has_near ? near : "",
                   has_near ? "?" : "");
    (void)snprintf(shown, sizeof(shown), "%.64s", name);
    tell(file, line, shown, what);
}

/* The row that a name stands for; NULL with a problem told. */
static const struct hamid_flag *find_row(struct file *file, const char *name,
                                         unsigned line)
{
    const struct hamid_flag *flag =
        hamid_flags_find(file->config->flags, name, strlen(name));
    if (flag == NULL) {
        tell_unknown(file, line, name);
        return NULL;
    }
    if (flag->kind == HAMID_FLAG_IGNORED ||
        (flag->traits & HAMID_FLAG_NOT_IN_FILE) != 0) {
        tell(file, line, flag->name,
             flag->kind == HAMID_FLAG_IGNORED ? "means nothing to hamid"
                                              : "is for the command line alone");
        return NULL;
    }
    unsigned *earlier = &file->lines[flag - file->config->flags];
    if (*earlier != 0) {
        char what[64];
        (void)snprintf(what, sizeof(what), "is said in line %u already", *earlier);
        tell(file, line, flag->name, what);
        return NULL;
    }
    *earlier = line;
    return flag;
}

static void read_members(struct file *file)
{
    yaml_event_t event;
    while (next(file, &event)) {
        bool is_end = event.type == YAML_MAPPING_END_EVENT;
        const char *name = is_end ? NULL : read_scalar(file, NULL, &event);
        const struct hamid_flag *flag =
            name != NULL ? find_row(file, name, line_of(&event)) : NULL;
        unsigned line = line_of(&event);
        yaml_event_delete(&event);
        if (is_end || !next(file, &event)) {
            return;
        }
        if (flag != NULL) {
            read_option(file, flag, line, &event);
        } else {
            pass_over(file, &event);
        }
        yaml_event_delete(&event);
    }
}

static void read_document(struct file *file)
{
    yaml_event_t event;
    bool has_root = false;
    bool is_end = false;
    while (!is_end && next(file, &event)) {
        is_end = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT && has_root) {
            give_up(file, line_of(&event), "begins a second document");
        } else if (event.type == YAML_MAPPING_START_EVENT && find_trick(&event) == NULL) {
            has_root = true;
            read_members(file);
        } else if (event.type == YAML_SCALAR_EVENT && event.data.scalar.length == 0 &&
                   find_trick(&event) == NULL) {
            has_root = true; /* an empty document, perhaps of comments */
        } else if (opens(&event) || event.type == YAML_SCALAR_EVENT ||
                   event.type == YAML_ALIAS_EVENT) {
            give_up(file, line_of(&event), "wants lines such as 'patience: 10m'");
        }
        yaml_event_delete(&event);
    }
}

/* ---- bytes ---------------------------------------------------------------------- */

static bool read_bytes(int fd, char *buffer, size_t size, size_t *ret_length)
{
    size_t length = 0;
    while (length < size) {
        ssize_t count = read(fd, buffer + length, size - length);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return false;
        }
        if (count == 0) {
            break;
        }
        length += (size_t)count;
    }
    *ret_length = length;
    return true;
}

/* The whole file; NULL with why in error. */
static char *read_whole(const char *path, size_t *ret_length, const char **ret_error)
{
    struct stat status;
    char *buffer = malloc(HAMID_CONFIG_FILE_MAX + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *ret_error = NULL;
    if (buffer == NULL) {
        *ret_error = "out of memory";
    } else if (fd < 0 || fstat(fd, &status) != 0) {
        *ret_error = strerror(errno);
    } else if (!S_ISREG(status.st_mode)) {
        *ret_error = "is no regular file";
    } else if (!read_bytes(fd, buffer, HAMID_CONFIG_FILE_MAX + 1, ret_length)) {
        *ret_error = strerror(errno);
    } else if (*ret_length > HAMID_CONFIG_FILE_MAX) {
        *ret_error = "is larger than 256 KiB";
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (*ret_error != NULL) {
        free(buffer);
        return NULL;
    }
    return buffer;
}

void hamid_config_read_file(struct hamid_config *config, struct hamid_problems *problems)
{
    struct file file = {.config = config, .problems = problems};
    const char *error = NULL;
    size_t length = 0;
    char *bytes = read_whole(config->file, &length, &error);
    if (bytes == NULL) {
        hamid_problems_add(problems, "--config: %s: %s", config->file, error);
        return;
    }
    if (yaml_parser_initialize(&file.parser)) {
        yaml_parser_set_input_string(&file.parser, (const unsigned char *)bytes, length);
        read_document(&file);
        yaml_parser_delete(&file.parser);
    } else {
        hamid_problems_add(problems, "--config: out of memory");
    }
    free(bytes);
}
