/* A topic's settings, in the words of the command line (those of the configuration's list
 * `topics`) and in the API's; and the values of options in the API's form. */
#ifndef DUEQ_NODE_CTL_SETTINGS_H
#define DUEQ_NODE_CTL_SETTINGS_H

#include <jansson.h>

#include "base/buf.h"
#include "node/ctl/options.h"
#include "node/ctl/output.h"

/* One a setting, "ttr", with the kind of its values; ends with a row without a name. */
extern const struct option_row setting_rows[];

/* The row whose name is the first `len` bytes; NULL: there is none; a message was printed. */
const struct option_row *setting_find(const char *name, size_t len);

/* Advice for a change of settings that may or may not have happened. */
extern const struct advice setting_advice[];

/* So that it reads back; "-" where there is none. */
void setting_print(struct buf *to, const struct option_row *row, const json_t *value);

/* The API's form of a value; the caller's. */
json_t *option_json(const struct option_row *row, const struct option_value *value);

/* All that were given, of the options of `rows` that have a member; the caller's. */
json_t *options_json(const struct option_row *rows, const struct arguments *arguments);

#endif
