/* The list `topics`: what its rows are made of.
 *
 * Each row is a struct conf_topic, whose keys are a table like that of all others; so reading a
 * value of a row, refusing and printing it is no different. What is, stands here.
 */
#ifndef DUEQ_CONF_TOPICS_H
#define DUEQ_CONF_TOPICS_H

#include "conf/conf.h"
#include "conf/draft.h"

/* Begins a new row, at the end of the list, with nothing given. */
void topics_add(struct conf_draft *d, const struct conf_place *place);

/* The key stands in the last row. */
void topics_give(struct conf_draft *d, const struct conf_key *key);

/* What must hold in each row, and of their number. */
void topics_check(struct conf_draft *d);

#endif
