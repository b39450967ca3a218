/* A topic's settings, in the words of the command line (those of the configuration's list
 * `topics`) and in the API's. */
#ifndef DUEQ_NODE_CTL_SETTINGS_H
#define DUEQ_NODE_CTL_SETTINGS_H

#include <jansson.h>

#include "base/buf.h"
#include "node/ctl/options.h"

/* One a setting, "ttr", with the kind of its values; ends with a row without a name. */
extern const struct option_row setting_rows[];

/* The row whose name is the first `len` bytes; NULL: there is none; a message was printed. */
const struct option_row *setting_find(const char *name, size_t len);

/* The API's member, "ttr_ms". */
const char *setting_member(const struct option_row *row);

/* Advice for a change of settings that may or may not have happened. */
extern const char setting_advice[];

/* The caller's. */
json_t *setting_json(const struct option_row *row, const struct option_value *value);

/* So that it reads back; "-" where there is none. */
void setting_print(struct buf *to, const struct option_row *row, const json_t *value);

/* The API's form of what backoff_parse() has found good; the caller's. */
json_t *setting_backoff_json(const char *text);

/* From it, for people. */
void setting_backoff_print(struct buf *to, const json_t *value);

#endif
