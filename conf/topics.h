/* The list `topics` and its rows.
 *
 * A row is a struct conf_topic with a table of keys (table.h); its values are read, refused and
 * printed like all others. This file has the rest.
 */
#ifndef DUEQ_CONF_TOPICS_H
#define DUEQ_CONF_TOPICS_H

#include "conf/conf.h"
#include "conf/draft.h"

/* Adds an empty row at the end of the list. */
void topics_add(struct conf_draft *d, const struct conf_place *place);

/* Marks the key as given in the last row. */
void topics_give(struct conf_draft *d, const struct conf_key *key);

/* Checks the number of rows, and each row. */
void topics_check(struct conf_draft *d);

#endif
