/* dueqctl: jobs and nodes from a shell. It speaks the HTTP API (doc/http.md) and nothing else.
 *
 *   main.c        the command line, from left to right
 *   commands.c    the table of commands, and help; commands.h says how to add one
 *   cmd_*.c       commands that are alike; a header where other commands need some of that
 *   token_*.c     what cmd_token.c does to identities, by the place where they are
 *   options.c     option tables: parsing; commands.c prints the same tables
 *   completion.c  scripts for shells, and the words of the tables that the scripts ask for
 *   client.c      HTTP, through libcurl: the way to the node, and the token
 *   request.c     a request of the API, its answer, what went wrong
 *   output.c      what commands show alike: jobs, topics, JSON, errors, progress
 *   input.c       lines that are read, and Ctrl-C
 *   times.c, text.c, table.c    words and columns, pure
 */
#ifndef DUEQ_NODE_CTL_CTL_H
#define DUEQ_NODE_CTL_CTL_H

#include <stdbool.h>
#include <stdint.h>

/* How a program ends, and every step in it. */
enum ctl_exit {
    CTL_DONE = 0,
    CTL_REFUSED = 1, /* by the node: it did not happen; or an answer that cannot be printed */
    CTL_USAGE = 2,   /* the command line is wrong, or names what no topic or id can be */
    CTL_UNREACHABLE = 3, /* no node, or no answer to a question that changes nothing */
    CTL_UNKNOWN = 4,     /* it may have happened; or it has, and that cannot be printed */
    CTL_NOTHING = 5,     /* there is no such job, or none to pop */
};

struct client;

/* For https: PEM files; each may be NULL. */
struct ctl_tls {
    const char *ca; /* NULL: the system's authorities */
    const char *cert;
    const char *key; /* NULL: it is in `cert`, too */
};

struct ctl {
    struct client *client;
    struct ctl_tls tls;
    const char *token_file; /* its token is sent with each request; NULL or "": none */
    int64_t timeout_ms;     /* for an answer, beyond what the request itself waits */
    bool has_changed;       /* the node was told to change something, and did */
    bool is_json;           /* stdout: exactly one JSON document */
    bool is_terminal;       /* stdout: people watch */
};

/* The more serious of two ends: "may have happened" goes before "did not happen". */
enum ctl_exit ctl_worse(enum ctl_exit a, enum ctl_exit b);

/* "dueqctl: ..." on stderr; what is in it may come from outside and is escaped here. */
void ctl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with the way to the help; returns CTL_USAGE. */
enum ctl_exit ctl_misused(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Asks on a terminal; true where there is none: people may have mistyped, programs have not. */
bool ctl_confirm(const char *question);

/* From now on ctl_misused() names this command's help, not the program's. */
void ctl_name_command(const char *name);

#endif
