/* Why something did not work: the exit code it leads to, the word for programs, the reason for
 * people, and what to do about it. */
#ifndef DUEQ_NODE_CTL_FAILURE_H
#define DUEQ_NODE_CTL_FAILURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "node/ctl/ctl.h"

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

/* Is it the API's {"code", "message"}, and not a gateway's, with this HTTP status? Of the words
 * of a 5xx it knows each: what a gateway says of its own troubles must not be taken for the
 * node's word that nothing happened. */
bool failure_is_ours(const json_t *error, int status);

/* From the API's {"code", "message"}. */
void failure_read(struct failure *failure, const json_t *error);

/* The same again; the caller's. */
json_t *failure_json(const struct failure *failure);

/* Says on stderr what was tried (may be NULL), why it failed, and what to do. */
void failure_say(const struct failure *failure, const char *what);

#endif
