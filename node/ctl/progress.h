/* "12,000 lines, 3,000/s": how far a long piece of work is, on a terminal's stderr, once it has
 * taken two seconds. Where stderr is no terminal nothing is shown. */
#ifndef DUEQ_NODE_CTL_PROGRESS_H
#define DUEQ_NODE_CTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; /* is counted */
    bool is_shown;    /* at all */
    int64_t begin_ms;
    int64_t shown_ms; /* when it was shown last; 0: it never was */
};

/* Now it begins. */
void progress_init(struct progress *p, const char *what);

/* So many of `total` are done; 0: it is not known of how many. */
void progress_show(struct progress *p, int64_t done, int64_t total);

/* Makes the line free again, for a message or at the end. */
void progress_wipe(struct progress *p);

#endif
