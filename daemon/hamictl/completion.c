/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hamictl completion`: the shells' scripts, made of the tables of commands and flags. A
 * flag's value is completed where it is a file, a choice, or a node; nodes are those that
 * are locked, as the program itself tells them.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"

enum value { VALUE_NONE, VALUE_ANY, VALUE_FILE, VALUE_CHOICE, VALUE_NODE };

#define NODES_COMMAND "hamictl locks 2>/dev/null | awk 'NR > 1 { print $1 }' | sort -u"

static enum value value_of(const struct hamid_flag *flag)
{
    if (flag->kind == HAMID_FLAG_BOOLEAN) {
        return VALUE_NONE;
    }
    return strcmp(flag->argument, "FILE") == 0   ? VALUE_FILE
           : strcmp(flag->name, "node") == 0     ? VALUE_NODE
           : strchr(flag->argument, '|') != NULL ? VALUE_CHOICE
                                                 : VALUE_ANY;
}

/* "a|b" as "a b". */
static void print_choices(const char *choices)
{
    for (; *choices != '\0'; choices++) {
        (void)putchar(*choices == '|' ? ' ' : *choices);
    }
}

/* A help text's first sentence, without what a quoted word of a shell can't have. */
static void print_short(const char *help)
{
    for (; *help != '\0' && !(help[0] == '.' && (help[1] == ' ' || help[1] == '\0'));
         help++) {
        if (strchr("'\"[]:\\$`", *help) == NULL) {
            (void)putchar(*help);
        }
    }
}

static const char *choices_of(const struct command *command)
{
    return strcmp(command->word, "completion") == 0 ? "bash zsh fish" : NULL;
}

static bool takes_node(const struct command *command)
{
    return strncmp(command->usage, "NODE", 4) == 0;
}

/* ---- bash ------------------------------------------------------------------------ */

static void print_bash_flags(const struct hamid_flag *flags)
{
    for (const struct hamid_flag *flag = flags; flag->name != NULL; flag++) {
        (void)printf("--%s ", flag->name);
    }
    (void)fputs("--help", stdout);
}

/* The values of a flag, whichever command it belongs to: names mean the same in all. */
static void print_bash_value(const struct hamid_flag *flag)
{
    enum value value = value_of(flag);
    if (value == VALUE_NONE) {
        return;
    }
    (void)printf("        --%s", flag->name);
    if (flag->aliases != NULL) {
        (void)printf("|-%s", flag->aliases);
    }
    (void)fputs(") ", stdout);
    switch (value) {
    case VALUE_FILE:
        (void)fputs("COMPREPLY=($(compgen -f -- \"$current\"))", stdout);
        break;
    case VALUE_NODE:
        (void)fputs("COMPREPLY=($(compgen -W \"$(_hamictl_nodes)\" -- \"$current\"))",
                    stdout);
        break;
    case VALUE_CHOICE:
        (void)fputs("COMPREPLY=($(compgen -W \"", stdout);
        print_choices(flag->argument);
        (void)fputs("\" -- \"$current\"))", stdout);
        break;
    default:
        break;
    }
    (void)fputs(value == VALUE_ANY ? "return ;;\n" : "; return ;;\n", stdout);
}

static void print_bash_command(const struct command *command)
{
    struct options options;
    struct hamid_flag flags[COMMAND_FLAGS_MAX];
    commands_fill_flags(command, &options, flags);
    (void)printf("    %s)\n        case $previous in\n", command->word);
    for (const struct hamid_flag *flag = flags; flag->name != NULL; flag++) {
        print_bash_value(flag);
    }
    (void)fputs("        esac\n        words=\"", stdout);
    print_bash_flags(flags);
    (void)fputs("\"\n", stdout);
    if (takes_node(command)) {
        (void)fputs("        [[ $current == -* ]] || words=$(_hamictl_nodes)\n", stdout);
    } else if (choices_of(command) != NULL) {
        (void)printf("        [[ $current == -* ]] || words=\"%s\"\n",
                     choices_of(command));
    }
    (void)fputs("        ;;\n", stdout);
}

static void print_bash(const struct command *commands, size_t count)
{
    (void)fputs("# bash completion of hamictl\n"
                "_hamictl_nodes()\n{\n    " NODES_COMMAND "\n}\n\n"
                "_hamictl()\n{\n"
                "    local current=${COMP_WORDS[COMP_CWORD]}\n"
                "    local previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
                "    local words=\"",
                stdout);
    for (size_t i = 0; i < count; i++) {
        (void)printf("%s ", commands[i].word);
    }
    (void)fputs("--help --version\"\n    COMPREPLY=()\n"
                "    if [ \"$COMP_CWORD\" -gt 1 ]; then\n"
                "    words=--help\n    case ${COMP_WORDS[1]} in\n",
                stdout);
    for (size_t i = 0; i < count; i++) {
        print_bash_command(&commands[i]);
    }
    (void)fputs("    esac\n    fi\n"
                "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\n"
                "complete -F _hamictl hamictl\n",
                stdout);
}

/* ---- zsh ------------------------------------------------------------------------- */

static void print_zsh_flag(const struct hamid_flag *flag)
{
    enum value value = value_of(flag);
    (void)printf(" \\\n        '%s--%s[", flag->kind == HAMID_FLAG_LIST ? "*" : "",
                 flag->name);
    print_short(flag->help);
    (void)putchar(']');
    if (value != VALUE_NONE) {
        (void)fputs(":value:", stdout);
    }
    if (value == VALUE_FILE) {
        (void)fputs("_files", stdout);
    } else if (value == VALUE_NODE) {
        (void)fputs("_hamictl_nodes", stdout);
    } else if (value == VALUE_CHOICE) {
        (void)putchar('(');
        print_choices(flag->argument);
        (void)putchar(')');
    }
    (void)putchar('\'');
}

static void print_zsh_command(const struct command *command)
{
    struct options options;
    struct hamid_flag flags[COMMAND_FLAGS_MAX];
    commands_fill_flags(command, &options, flags);
    (void)printf("    %s)\n        _arguments '--help[Show the command]'", command->word);
    for (const struct hamid_flag *flag = flags; flag->name != NULL; flag++) {
        print_zsh_flag(flag);
    }
    if (takes_node(command)) {
        (void)fputs(" \\\n        '1:node:_hamictl_nodes'", stdout);
    } else if (choices_of(command) != NULL) {
        (void)printf(" \\\n        '1:shell:(%s)'", choices_of(command));
    }
    (void)fputs("\n        ;;\n", stdout);
}

static void print_zsh(const struct command *commands, size_t count)
{
    (void)fputs("#compdef hamictl\n\n"
                "_hamictl_nodes()\n{\n    compadd -- $(" NODES_COMMAND ")\n}\n\n"
                "_hamictl()\n{\n    local -a commands\n    commands=(\n",
                stdout);
    for (size_t i = 0; i < count; i++) {
        (void)printf("        '%s:", commands[i].word);
        print_short(commands[i].brief);
        (void)fputs("'\n", stdout);
    }
    (void)fputs("    )\n    if (( CURRENT == 2 )); then\n"
                "        _describe command commands\n        return\n    fi\n"
                "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
                "    case $command in\n",
                stdout);
    for (size_t i = 0; i < count; i++) {
        print_zsh_command(&commands[i]);
    }
    (void)fputs("    esac\n}\n\n"
                "if [ \"$funcstack[1]\" = _hamictl ]; then\n    _hamictl \"$@\"\n"
                "else\n    compdef _hamictl hamictl\nfi\n",
                stdout);
}

/* ---- fish ------------------------------------------------------------------------ */

static void print_fish_flag(const struct command *command, const struct hamid_flag *flag)
{
    enum value value = value_of(flag);
    (void)printf("complete -c hamictl -n '__fish_seen_subcommand_from %s' -l %s",
                 command->word, flag->name);
    if (flag->aliases != NULL && strlen(flag->aliases) == 1) {
        (void)printf(" -s %s", flag->aliases);
    }
    if (value == VALUE_FILE) {
        (void)fputs(" -r -F", stdout);
    } else if (value == VALUE_NODE) {
        (void)fputs(" -x -a '(__hamictl_nodes)'", stdout);
    } else if (value == VALUE_CHOICE) {
        (void)fputs(" -x -a '", stdout);
        print_choices(flag->argument);
        (void)putchar('\'');
    } else if (value == VALUE_ANY) {
        (void)fputs(" -x", stdout);
    }
    (void)fputs(" -d '", stdout);
    print_short(flag->help);
    (void)fputs("'\n", stdout);
}

static void print_fish(const struct command *commands, size_t count)
{
    (void)fputs("# fish completion of hamictl\n"
                "function __hamictl_nodes\n    " NODES_COMMAND "\nend\n"
                "complete -c hamictl -f\n",
                stdout);
    for (size_t i = 0; i < count; i++) {
        struct options options;
        struct hamid_flag flags[COMMAND_FLAGS_MAX];
        const struct command *command = &commands[i];
        commands_fill_flags(command, &options, flags);
        (void)printf("complete -c hamictl -n __fish_use_subcommand -a %s -d '",
                     command->word);
        print_short(command->brief);
        (void)fputs("'\n", stdout);
        for (const struct hamid_flag *flag = flags; flag->name != NULL; flag++) {
            print_fish_flag(command, flag);
        }
        if (takes_node(command) || choices_of(command) != NULL) {
            (void)printf("complete -c hamictl -n '__fish_seen_subcommand_from %s' -a "
                         "'%s'\n",
                         command->word,
                         takes_node(command) ? "(__hamictl_nodes)" : choices_of(command));
        }
    }
}

/* ---- the command ------------------------------------------------------------------ */

int command_completion(const struct options *options)
{
    static const struct {
        const char *shell;
        void (*print)(const struct command *commands, size_t count);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    size_t count = 0;
    const struct command *commands = commands_all(&count);
    const char *asked = options->arguments.count == 1 ? options->arguments.values[0] : "";
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(shells[i].shell, asked) == 0) {
            shells[i].print(commands, count);
            return 0;
        }
    }
    (void)fprintf(stderr, "hamictl completion: name one of bash, zsh, fish\n");
    return EXIT_USAGE;
}
