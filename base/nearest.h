/* "Did you mean": finds the known name that is nearest to a mistyped one. Pure. */
#ifndef DUEQ_BASE_NEAREST_H
#define DUEQ_BASE_NEAREST_H

#include "base/bytes.h"

#define NEAREST_MAX_BYTES 64 /* a longer name gets no suggestion */

struct nearest {
    struct bytes name;  /* as it was written; borrowed */
    const char *found;  /* the nearest name offered; NULL: none is near */
    unsigned steps_max; /* a name must be nearer than this; `found` lowers it to its distance */
};

struct nearest nearest_to(struct bytes name);

/* Offers a known name. Its distance is the letters to insert, remove or change; a name of which
 * only the beginning was written, up to a '_' or '.', is at distance 1. */
void nearest_offer(struct nearest *n, const char *known);

/* Offers a known name at a distance that the caller decides. */
void nearest_offer_at(struct nearest *n, const char *known, unsigned steps);

#endif
