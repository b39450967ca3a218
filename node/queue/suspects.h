/* What looked wrong, until it has been looked at again.
 *
 *   seen --> FRESH --seen again, REST_MS or more behind the first time--> SURE --> forgotten
 *              |                                                            ^
 *              +--looked for, and not seen--> FAINT --seen again------------+
 *
 * What is healthy and moves may look wrong once; what is wrong stays so. A faint one was
 * healthy, most likely; but some places are looked at by chance, and then only a later walk
 * sees it again. So it is kept until a fresh one needs its room. There is room for
 * SUSPECTS_MAX; what finds none is not remembered, and will be seen by a later walk.
 */
#ifndef DUEQ_NODE_QUEUE_SUSPECTS_H
#define DUEQ_NODE_QUEUE_SUSPECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/list.h"
#include "node/queue/hash.h"

#define SUSPECTS_MAX     4096
#define SUSPECTS_REST_MS 3000
#define SUSPECT_ID_MAX   1024 /* bytes: one that dueq never gave may be longer than ours */

struct suspected {
    UT_hash_handle hh;
    struct list link;
    bool is_sure;
    int64_t seen_mono_ms;         /* for the first time */
    struct bytes topic, id, page; /* in text; `page`: the audit's cursor that showed it */
    char text[];                  /* the hash's key (topic, line end, id), then the page */
};

struct suspects {
    struct suspected *by_name; /* hash: all of them */
    struct list fresh;         /* the one seen first comes first */
    struct list faint;         /* the one that is faint for longest comes first */
    struct list sure;          /* topics behind the jobs */
};

void suspects_init(struct suspects *ss);

/* Forgets all. */
void suspects_clear(struct suspects *ss);

/* True: for the first time, and it is remembered. */
bool suspects_see(struct suspects *ss, struct bytes topic, struct bytes id, struct bytes page,
                  int64_t now_mono_ms);

/* One that it is time to look at again, or NULL; and how long until there is one, -1: never. */
struct suspected *suspects_find_rested(struct suspects *ss, int64_t now_mono_ms);
int64_t suspects_wait_ms(const struct suspects *ss, int64_t now_mono_ms);

/* One that was seen twice, or NULL. A topic is put in order after its jobs: else what stands in
 * a place too early would get its event before its right time. */
struct suspected *suspects_find_sure(struct suspects *ss);

/* A fresh one was not seen again. */
void suspects_doubt(struct suspects *ss, struct suspected *s);

void suspects_forget(struct suspects *ss, struct suspected *s);

#endif
