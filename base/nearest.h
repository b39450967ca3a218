/* "Did you mean": of known names the one that somebody has probably meant. Pure. */
#ifndef DUEQ_BASE_NEAREST_H
#define DUEQ_BASE_NEAREST_H

#include "base/bytes.h"

#define NEAREST_MAX_BYTES 64 /* of a name that is worth a suggestion */

struct nearest {
    struct bytes name;  /* as it was written; borrowed */
    const char *found;  /* one of those offered; NULL: none is near */
    unsigned steps_max; /* nearer than so is near; gets less with each that is found */
};

struct nearest nearest_to(struct bytes name);

/* By the letters to insert, remove or change. One whose beginning was written, up to a '_' or a
 * '.', is as near as one wrong letter. */
void nearest_offer(struct nearest *n, const char *known);

/* One that is so near for the caller's own reasons. */
void nearest_offer_at(struct nearest *n, const char *known, unsigned steps);

#endif
