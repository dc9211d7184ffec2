/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hamictl doctor` as a command: gathers, lets each check look, and prints the report.
 */
#include "doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sources.h"
#include "style.h"

#define DEFAULT_EXTENDER "http://127.0.0.1:8080"
#define LINE_MAX_CHARACTERS 90

/* By enum doctor_severity; what is in the report. */
static const char *const severity_names[] = {"info", "warning", "error"};

/* ---- saying what was found ------------------------------------------------------ */

static void set_text(json_t *object, const char *member, const char *format,
                     va_list values)
{
    char text[1024];
    (void)vsnprintf(text, sizeof(text), format, values);
    (void)json_object_set_new(object, member, json_string(text));
}

void doctor_begin(struct doctor *doctor, const char *name, const char *title)
{
    doctor->check = json_pack("{s:s, s:s, s:s, s:s, s:[]}", "check", name, "title", title,
                              "result", "ok", "note", "", "findings");
    (void)json_array_append_new(doctor->report, doctor->check);
}

void doctor_note(struct doctor *doctor, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    set_text(doctor->check, "note", format, values);
    va_end(values);
}

void doctor_skip(struct doctor *doctor, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    set_text(doctor->check, "note", format, values);
    va_end(values);
    (void)json_object_set_new(doctor->check, "result", json_string("skipped"));
}

/* The worse of two results stands: skipped counts as nothing found. */
static int rank(const char *result)
{
    for (int i = SEVERITY_INFO; i <= SEVERITY_ERROR; i++) {
        if (strcmp(result, severity_names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

void doctor_find(struct doctor *doctor, enum doctor_severity severity, json_t *what,
                 json_t *why, json_t *fix)
{
    json_t *finding =
        json_pack("{s:s, s:o*, s:o*, s:o*}", "severity", severity_names[severity], "what",
                  what, "why", why, "fix", fix);
    (void)json_array_append_new(json_object_get(doctor->check, "findings"), finding);
    if ((int)severity > rank(source_text(doctor->check, "result"))) {
        (void)json_object_set_new(doctor->check, "result",
                                  json_string(severity_names[severity]));
    }
}

/* ---- the report ----------------------------------------------------------------- */

static enum style_tone tone_of(const char *result)
{
    static const enum style_tone tones[] = {TONE_QUIET, TONE_WARNING, TONE_BAD};
    int severity = rank(result);
    return severity >= 0               ? tones[severity]
           : strcmp(result, "ok") == 0 ? TONE_GOOD
                                       : TONE_QUIET;
}

/* Prints words, broken before LINE_MAX_CHARACTERS, each line but the first indented. */
static void print_wrapped(const char *text, int indent)
{
    int column = indent;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (column > indent && column + (int)length >= LINE_MAX_CHARACTERS) {
            (void)printf("\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            (void)putchar(' ');
            column++;
        }
        (void)printf("%.*s", (int)length, text);
        column += (int)length;
        text += length;
        text += strspn(text, " ");
    }
    (void)putchar('\n');
}

static void print_labelled(const char *label, const char *text)
{
    if (text[0] != '\0') {
        (void)printf("           %-5s", label);
        print_wrapped(text, 16);
    }
}

static void print_result(const char *result)
{
    enum style_tone tone = tone_of(result);
    (void)printf("%s%-9s%s  ", style_begin(stdout, tone), result,
                 style_end(stdout, tone));
}

static void print_check(const json_t *check)
{
    size_t index = 0;
    const json_t *finding = NULL;
    const json_t *findings = json_object_get(check, "findings");
    const char *note = source_text(check, "note");
    const char *result = source_text(check, "result");
    if (json_array_size(findings) == 0) {
        char line[1400];
        (void)snprintf(line, sizeof(line), "%s%s%s", source_text(check, "title"),
                       note[0] != '\0' ? ": " : "", note);
        print_result(result);
        print_wrapped(line, 11);
    }
    json_array_foreach(findings, index, finding)
    {
        print_result(source_text(finding, "severity"));
        print_wrapped(source_text(finding, "what"), 11);
        print_labelled("why", source_text(finding, "why"));
        print_labelled("do", source_text(finding, "fix"));
    }
}

static size_t count(const struct doctor *doctor, const char *severity)
{
    size_t found = 0;
    size_t i = 0;
    size_t k = 0;
    const json_t *check = NULL;
    const json_t *finding = NULL;
    json_array_foreach(doctor->report, i, check)
    {
        json_array_foreach(json_object_get(check, "findings"), k, finding)
        {
            found += strcmp(source_text(finding, "severity"), severity) == 0 ? 1 : 0;
        }
    }
    return found;
}

static size_t count_results(const struct doctor *doctor, const char *result)
{
    size_t found = 0;
    size_t index = 0;
    const json_t *check = NULL;
    json_array_foreach(doctor->report, index, check)
    {
        found += strcmp(source_text(check, "result"), result) == 0 ? 1 : 0;
    }
    return found;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static int print_report(struct doctor *doctor)
{
    size_t errors = count(doctor, "error");
    size_t warnings = count(doctor, "warning");
    size_t skipped = count_results(doctor, "skipped");
    const char *status = errors > 0 ? "errors" : warnings > 0 ? "warnings" : "ok";
    if (doctor->options->is_json) {
        command_print_json(json_pack("{s:s, s:I, s:I, s:I, s:O}", "status", status,
                                     "errors", (json_int_t)errors, "warnings",
                                     (json_int_t)warnings, "skipped", (json_int_t)skipped,
                                     "checks", doctor->report));
    } else {
        size_t index = 0;
        const json_t *check = NULL;
        json_array_foreach(doctor->report, index, check)
        {
            print_check(check);
        }
        (void)printf("\n%zu checks: %zu error%s, %zu warning%s, %zu skipped.\n",
                     json_array_size(doctor->report), errors, plural(errors), warnings,
                     plural(warnings), skipped);
    }
    return errors > 0 ? EXIT_ERRORS : warnings > 0 ? EXIT_WARNINGS : 0;
}

/* ---- the command ---------------------------------------------------------------- */

static void look(struct doctor *doctor)
{
    doctor_read_pods(doctor);
    doctor_read_nodes(doctor);
    doctor_read_kubeconfig(doctor);
    doctor_check_server(doctor);
    doctor_check_hamid(doctor);
    doctor_read_configs(doctor);
    doctor_check_extenders(doctor);
    doctor_check_schedulers(doctor);
    doctor_check_rights(doctor);
    doctor_check_policies(doctor);
    doctor_check_tls(doctor);
    doctor_check_locks(doctor);
}

int command_doctor(const struct options *options)
{
    char error[SOURCE_ERROR_MAX] = "";
    struct doctor doctor = {.options = options, .report = json_array()};
    int status = EXIT_FAILED;
    int code = 0;
    doctor.extender = options->extender != NULL ? options->extender : DEFAULT_EXTENDER;
    doctor.client = command_login(options, error);
    json_t *version = doctor.client != NULL
                          ? source_get(doctor.client, "/version", NULL, &code, error)
                          : NULL;
    if (version != NULL) {
        doctor.minor = (unsigned)strtoul(source_text(version, "minor"), NULL, 10);
        look(&doctor);
        status = print_report(&doctor);
    } else {
        (void)command_fail(error);
    }
    json_decref(version);
    json_decref(doctor.configs);
    json_decref(doctor.pods);
    json_decref(doctor.nodes);
    json_decref(doctor.kubeconfig);
    json_decref(doctor.report);
    (void)hami_kubernetes_free(doctor.client);
    return status;
}
