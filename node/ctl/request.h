/* A request of the API and its answer. Failures on the way are a struct failure. */
#ifndef DUEQ_NODE_CTL_REQUEST_H
#define DUEQ_NODE_CTL_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "node/ctl/ctl.h"
#include "node/ctl/options.h"
#include "node/ctl/output.h"

struct request {
    const char *method;
    struct buf path;
    json_t *body;        /* owned; NULL: none */
    const char *expects; /* a member of every good answer; NULL: good answers have no body */
    const struct advice *advice; /* when it fails; NULL: the usual one */
    int64_t wait_ms;             /* the node may take so long before it answers */
    const char *bad_segment; /* "bad_topic", "bad_id": of the path, never sent; NULL: good */
    bool is_write;           /* anything that is not repeatable */
    bool has_query;          /* so far */
};

/* `path` is as in doc/http.md, "/v1/topics/%/jobs/%": for each % a segment follows, a
 * NUL-terminated text that is encoded here. A method other than GET is a write. */
void request_init(struct request *r, const char *method, const char *path, ...);
void request_add_query(struct request *r, const char *name, const char *value);
void request_add_query_number(struct request *r, const char *name, int64_t value);

/* Asks the node, and ends the request. On success `*answer` is the caller's: NULL for an empty
 * one. Says nothing. */
enum ctl_exit request_send(struct ctl *ctl, struct request *r, json_t **answer,
                           struct failure *failure);

/* The same, and speaks up when it fails: on stderr, and with --json on stdout, too. `what`,
 * unless NULL, stands in front of the message. */
enum ctl_exit request_ask(struct ctl *ctl, struct request *r, const char *what,
                          json_t **answer);

/* The API's form of an option's value; the caller's. */
json_t *option_json(const struct option_row *row, const struct option_value *value);

/* All that were given, of the options of `rows` that have a member; the caller's. */
json_t *options_json(const struct option_row *rows, const struct arguments *arguments);

#endif
