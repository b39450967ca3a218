/* What several commands show: JSON for programs, objects for people. */
#ifndef DUEQ_NODE_CTL_OUTPUT_H
#define DUEQ_NODE_CTL_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "node/ctl/ctl.h"
#include "node/ctl/table.h"

/* Writes out what stdout holds. False when that, or anything before it, was lost. */
bool output_flush(void);

/* One line on stdout, in ASCII: safe for a terminal, too. */
void output_json(const json_t *value);
void output_json_and_free(json_t *value);

/* The member of an object; `otherwise` where it is missing, null or no whole number. */
int64_t output_number(const json_t *object, const char *name, int64_t otherwise);

/* The same for a string: empty where it is none. Terminated, borrowed from the object. */
struct bytes output_text(const json_t *object, const char *name);

/* Adds the body of the API's job, as bytes, whichever way it travelled. */
void output_body(const json_t *job, struct buf *to);

/* The API's job for people, a member a line. */
void output_job(const struct ctl *ctl, const json_t *job);

/* Any object for people, a member a line; those of an object in it as "store up".
 * Lists of objects are left to the caller, and shown as "-". */
void output_members(const struct ctl *ctl, const json_t *object);

/* What is wrong (the member `message`) and what to do (`advice`), for people. */
void output_finding(const char *level, const json_t *finding);

/* "name: what" for people; the name is from outside. */
void output_done(const char *name, const char *what);

/* "due 2026-12-01 09:00:00.000, in 30m"; the last only where it is to come. */
void output_due(struct buf *to, int64_t due_ms);

/* An array as a table, a row each. */
void output_rows(const struct ctl *ctl, const struct table_column *columns, size_t column_count,
                 const json_t *rows, void (*add_row)(struct table *table, const json_t *row));

#endif
