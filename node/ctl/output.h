/* The output of several commands: JSON for programs, objects for people. */
#ifndef DUEQ_NODE_CTL_OUTPUT_H
#define DUEQ_NODE_CTL_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "node/ctl/ctl.h"
#include "node/ctl/table.h"

/* What to do about a failure, by the API's word; a row without a word ends a list. */
struct advice {
    const char *code;
    const char *text;
};

/* Why something did not work: the exit code it leads to, the word for programs, the reason for
 * people, and what to do about it. */

struct failure {
    enum ctl_exit end;     /* CTL_DONE: it did work */
    char code[48];         /* the API's word; "unreachable" and "bad_answer" are our own */
    char message[480];     /* may come from outside: not escaped */
    int64_t retry_after_s; /* 0: not told */
    int64_t count;         /* so many were done before it failed, as the node says */
    const char *advice;    /* what to do about it; NULL: as its word has it */
};

void failure_set(struct failure *failure, enum ctl_exit end, const char *code,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Is `error` the API's {"code", "message"} for this HTTP status, and not a gateway's? For a 5xx
 * the code must be one of the node's own: a gateway's error must not be taken for the node's
 * word that nothing happened. */
bool failure_is_ours(const json_t *error, int status);

/* From the API's {"code", "message"}. */
void failure_read(struct failure *failure, const json_t *error);

/* The failure as that JSON; the caller's. */
json_t *failure_json(const struct failure *failure);

/* Says on stderr what was tried (may be NULL), why it failed, and what to do. */
void failure_say(const struct failure *failure, const char *what);

/* The advice of `list` where it has one for the failure, else the usual one. */
void failure_advise(struct failure *failure, const struct advice *list);

/* Says it, and with --json prints it on stdout, too. Returns the end. */
enum ctl_exit failure_tell(const struct ctl *ctl, const struct failure *failure,
                           const char *what);

/* "12,000 lines, 3,000/s": how far a long piece of work is, on a terminal's stderr, once it has
 * taken two seconds. Where stderr is no terminal nothing is shown. */

struct progress {
    const char *what; /* is counted */
    bool is_shown;    /* at all */
    int64_t begin_ms;
    int64_t shown_ms; /* when it was shown last; 0: it never was */
};

/* Now it begins. */
void progress_init(struct progress *p, const char *what);

/* So many of `total` are done; 0: it is not known of how many. */
void progress_show(struct progress *p, int64_t done, int64_t total);

/* Makes the line free again, for a message or at the end. */
void progress_wipe(struct progress *p);

/* Writes out what stdout holds. False when that, or anything before it, was lost. */
bool output_flush(void);

/* One line on stdout, in ASCII: safe for a terminal, too. */
void output_json(const json_t *value);
void output_json_and_free(json_t *value);

/* The same as an item of a list that is printed as it comes; `has_items`: false at first. */
void output_item(bool *has_items, const json_t *value);

/* The member of an object; `otherwise` where it is missing, null or no whole number. */
int64_t output_number(const json_t *object, const char *name, int64_t otherwise);

/* The same for a string: empty where it is none. Terminated, borrowed from the object. */
struct bytes output_text(const json_t *object, const char *name);

/* An identity that may only look gets a job without. */
bool output_has_body(const json_t *job);

/* Prints the body of the API's job, byte for byte. */
void output_body(const json_t *job);

/* The API's job for people, a member a line. */
void output_job(const struct ctl *ctl, const json_t *job);

/* Any object for people, a member a line; those of an object in it as "store up".
 * Lists of objects are left to the caller, and shown as "-". */
void output_members(const struct ctl *ctl, const json_t *object);

/* The API's backoff, in one word. */
void output_backoff(struct buf *to, const json_t *value);

/* Prints the finding's `message` and `advice`, for people. */
void output_finding(const char *level, const json_t *finding);

/* "name: what" for people; the name is from outside. */
void output_done(const char *name, const char *what);

/* "due 2026-12-01 09:00:00.000, in 30m"; the last only where it is to come. */
void output_due(struct buf *to, int64_t due_ms);

/* An array as a table, a row each. */
void output_rows(const struct ctl *ctl, const struct table_column *columns, size_t column_count,
                 const json_t *rows, void (*add_row)(struct table *table, const json_t *row));

#endif
