/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration as the YAML file that it could have been read from.
 *
 * A value that is not set, and a default that means something else than the same value
 * given (its row has ret_given), stand in comments: so the text fed back comes to the
 * same.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The character that a text begins with, as UTF-8 has it; a byte that is none counts as
 * itself. Returns how many bytes it has. */
static size_t read_character(const char *text, uint32_t *ret)
{
    static const unsigned char masks[] = {0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *at = (const unsigned char *)text;
    size_t more = at[0] >= 0xf0 ? 3 : at[0] >= 0xe0 ? 2 : at[0] >= 0xc0 ? 1 : 0;
    *ret = at[0] & masks[more];
    for (size_t i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            *ret = at[0];
            return 1;
        }
        *ret = *ret << 6 | (at[i] & 0x3f);
    }
    *ret = more == 0 ? at[0] : *ret;
    return more + 1;
}

/* A YAML text between double quotes, in ASCII: YAML takes some other characters for the
 * ends of lines. */
static void write_quoted(FILE *out, const char *text)
{
    (void)fputc('"', out);
    while (*text != '\0') {
        uint32_t c;
        text += read_character(text, &c);
        if (c == '"' || c == '\\') {
            (void)fprintf(out, "\\%c", (int)c);
        } else if (c < 0x20 || (c >= 0x7f && c <= 0xff)) {
            (void)fprintf(out, "\\x%02x", (unsigned)c);
        } else if (c < 0x7f) {
            (void)fputc((int)c, out);
        } else {
            (void)fprintf(out, c > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)c);
        }
    }
    (void)fputc('"', out);
}

static void write_origin(FILE *out, const struct hamid_config *config, size_t row)
{
    const struct hamid_origin *origin = &config->origins[row];
    switch (origin->source) {
    case HAMID_SOURCE_DEFAULT:
        (void)fputs("  # default\n", out);
        break;
    case HAMID_SOURCE_ENVIRONMENT:
        (void)fprintf(out, "  # environment: %s\n", config->flags[row].environment);
        break;
    case HAMID_SOURCE_FILE:
        (void)fprintf(out, "  # file, line %u\n", origin->line);
        break;
    case HAMID_SOURCE_FLAG:
        (void)fputs("  # flag\n", out);
        break;
    }
}

static void write_list(FILE *out, const struct hamid_config *config, size_t row)
{
    const struct hamid_flag_list *list = config->flags[row].value;
    (void)fputs(list->count == 0 ? " []" : "", out);
    write_origin(out, config, row);
    for (size_t i = 0; i < list->count; i++) {
        (void)fputs("- ", out);
        write_quoted(out, list->values[i]);
        (void)fputc('\n', out);
    }
}

static void write_scalar(FILE *out, const struct hamid_flag *flag)
{
    char text[32];
    switch (flag->kind) {
    case HAMID_FLAG_DURATION:
        hamid_duration_format(*(uint64_t *)flag->value, text, sizeof(text));
        (void)fprintf(out, " %s", text);
        break;
    case HAMID_FLAG_NUMBER:
        (void)fprintf(out, " %llu", (unsigned long long)*(uint64_t *)flag->value);
        break;
    case HAMID_FLAG_BOOLEAN:
        (void)fprintf(out, " %s", *(bool *)flag->value ? "true" : "false");
        break;
    default:
        (void)fputc(' ', out);
        write_quoted(out, *(const char **)flag->value);
    }
}

static void write_row(FILE *out, const struct hamid_config *config, size_t row)
{
    const struct hamid_flag *flag = &config->flags[row];
    bool is_default = config->origins[row].source == HAMID_SOURCE_DEFAULT;
    bool is_unset = flag->kind == HAMID_FLAG_TEXT && *(const char **)flag->value == NULL;
    if ((flag->traits & HAMID_FLAG_NOT_IN_FILE) != 0 ||
        flag->kind == HAMID_FLAG_IGNORED) {
        return;
    }
    if (is_unset || (flag->traits & HAMID_FLAG_SECRET) != 0) {
        (void)fprintf(out, "# %s: %s\n", flag->name,
                      is_unset ? "not set" : "set, but a secret");
        return;
    }
    (void)fprintf(out, "%s%s:", is_default && flag->ret_given != NULL ? "# " : "",
                  flag->name);
    if (flag->kind == HAMID_FLAG_LIST || flag->kind == HAMID_FLAG_PAIRS) {
        write_list(out, config, row);
        return;
    }
    write_scalar(out, flag);
    write_origin(out, config, row);
}

char *hamid_config_print(const struct hamid_config *config)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        return NULL;
    }
    (void)fprintf(out, "# %s --config FILE takes this text.\n", config->command.name);
    for (size_t i = 0; i < config->flag_count; i++) {
        write_row(out, config, i);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

int hamid_config_show(const struct hamid_config *config, enum hamid_flags_result result,
                      const struct hamid_problems *problems)
{
    char *text = NULL;
    if (result == HAMID_FLAGS_WRONG) {
        for (const char *line = problems->text; *line != '\0';) {
            int length = (int)strcspn(line, "\n");
            (void)fprintf(stderr, "%s: %.*s\n", config->command.name, length, line);
            line += length + (line[length] == '\n' ? 1 : 0);
        }
        if (problems->count > HAMID_PROBLEMS_MAX) {
            (void)fprintf(stderr, "%s: and %zu more\n", config->command.name,
                          problems->count - HAMID_PROBLEMS_MAX);
        }
        (void)fprintf(stderr, "'%s --help' lists the flags.\n", config->command.name);
        return 2;
    }
    if (result == HAMID_FLAGS_HELP) {
        text = hamid_flags_help(&config->command);
    } else if (config->wants_print) {
        text = hamid_config_print(config);
    } else {
        return -1;
    }
    (void)fputs(text != NULL ? text : "out of memory\n", stdout);
    free(text);
    return 0;
}
