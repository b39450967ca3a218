#include "node/store/memory/scan.h"

#include <stdlib.h>

#include "node/store/memory/shared_scan.h"
#include "node/store/memory/visit.h"

int memory_by_event(const void *left, const void *right)
{
    const struct topic *a = *(struct topic *const *)left, *b = *(struct topic *const *)right;

    if (a->event.due_mono_ms != b->event.due_mono_ms)
        return a->event.due_mono_ms < b->event.due_mono_ms ? -1 : 1;
    return bytes_compare(a->name, b->name);
}

/* Takes the first topic out of the index, if it is due. */
static struct topic *take_due(struct call *c)
{
    struct timers *index = &c->bucket->index;
    struct topic *topic;

    if (!index->count || index->heap[1]->due_mono_ms > c->now_ms)
        return NULL;
    topic = CONTAINER_OF(index->heap[1], struct topic, event);
    timer_disarm(index, &topic->event);
    return topic;
}

/* Those that are due, by time and name. */
static unsigned take_all_due(struct call *c, struct topic *topics[MEMORY_SCAN_TOPICS_MAX])
{
    unsigned count = 0;

    while (count < MEMORY_SCAN_TOPICS_MAX && (topics[count] = take_due(c)))
        count++;
    qsort(topics, count, sizeof(*topics), memory_by_event);
    return count;
}

static int64_t next_ms(const struct call *c)
{
    const struct timers *index = &c->bucket->index;

    return index->count ? or_zero(index->heap[1]->due_mono_ms - c->now_ms) : -1;
}

/* Each topic once, also one that has more to do. */
static void scan_all(struct call *c, int64_t *lateness_ms)
{
    struct topic *topics[MEMORY_SCAN_TOPICS_MAX];
    unsigned count = take_all_due(c, topics);

    for (unsigned i = 0; i < count; i++)
        memory_visit_topic(c, topics[i], lateness_ms);
    c->op->out.scan.next_ms = next_ms(c);
}

enum status memory_run_scan(struct call *c)
{
    struct op *op = c->op;
    int64_t *lateness_ms = room_get(c->room, op->in.scan.limit * sizeof(*lateness_ms));

    op->out.scan.lateness_ms = lateness_ms;
    if (op->in.scan.share)
        memory_shared_scan(c, lateness_ms);
    else
        scan_all(c, lateness_ms);
    if (op->in.scan.history_bytes > 0)
        memory_history_cut(&c->bucket->history, op->in.scan.history_bytes);
    return STATUS_OK;
}
