/* A walk through the topics of the whole store, as PLACES names them: page after page.
 *
 * A topic is named once for each of its keys, on whatever pages they are. So that it comes but
 * once, the walk notes which it has met, in a table of bits: one bit may stand for several
 * topics, and then only the first comes. Each walk draws the bits anew, so it is others the
 * next time.
 */
#ifndef DUEQ_NODE_QUEUE_WALK_H
#define DUEQ_NODE_QUEUE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "node/store/op.h"

struct walk {
    size_t after_len; /* the page that is being walked through, or the first one */
    char after[OP_CURSOR_MAX];
    size_t next_len; /* the one behind it; 0: none */
    char next[OP_CURSOR_MAX];

    char *names; /* of the page: each behind its length in one byte; NULL: not named yet */
    size_t names_len, names_at;
    uint8_t *met; /* NULL: nothing yet */
    uint64_t seed;
};

void walk_init(struct walk *w);

/* Gives back its memory; it can go on with the page at which it was. */
void walk_pause(struct walk *w);

/* The answer to a PLACES for what is behind walk_after(). */
struct bytes walk_after(const struct walk *w);
void walk_take_page(struct walk *w, const struct op *places);

/* The next topic of the page, valid until the page is turned. False: that was all of it. */
bool walk_next_topic(struct walk *w, struct bytes *topic);

/* False: the walk is over, and begins anew. */
bool walk_turn_page(struct walk *w);

void walk_begin_anew(struct walk *w);

#endif
