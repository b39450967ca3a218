#include "node/queue/tally.h"

#include <stdlib.h>

static int64_t live(const struct topic_stats *s)
{
    return s->delayed + s->ready + s->reserved + s->dead;
}

/* The most jobs first; by name where they have as many, so that the order stays. */
static int compare(const void *left, const void *right)
{
    const struct topic_count *a = left, *b = right;
    int64_t more = live(&b->stats) - live(&a->stats);

    if (more)
        return more > 0 ? 1 : -1;
    return bytes_compare(a->topic, b->topic);
}

static void keep_largest(struct tally *t)
{
    qsort(t->rows, t->count, sizeof(*t->rows), compare);
    while (t->count > QUEUE_CENSUS_TOP_MAX)
        free((char *)t->rows[--t->count].topic.at);
}

static void add_stats(struct topic_stats *sum, const struct topic_stats *s)
{
    sum->delayed += s->delayed;
    sum->ready += s->ready;
    sum->reserved += s->reserved;
    sum->dead += s->dead;
    if (s->oldest_ready_ms > sum->oldest_ready_ms)
        sum->oldest_ready_ms = s->oldest_ready_ms;
    if (s->next_due_ms >= 0 && (sum->next_due_ms < 0 || s->next_due_ms < sum->next_due_ms))
        sum->next_due_ms = s->next_due_ms;
}

void tally_add(struct tally *t, const struct topic_count *row)
{
    char *name = malloc(row->topic.len + 1);

    if (!name)
        abort();
    memcpy(name, row->topic.at, row->topic.len);
    if (t->count == TALLY_ROWS_MAX)
        keep_largest(t);
    t->rows[t->count] = *row;
    t->rows[t->count++].topic = bytes_of(name, row->topic.len);
    add_stats(&t->sum.total, &row->stats);
    t->sum.looked_at++;
}

void tally_finish(struct tally *t)
{
    keep_largest(t);
    t->sum.top = t->rows;
    t->sum.top_count = t->count;
}

struct tally *tally_new(void)
{
    struct tally *t = malloc(sizeof(*t));

    if (!t)
        abort();
    t->count = 0;
    t->sum = (struct census){.total = {.oldest_ready_ms = -1, .next_due_ms = -1}};
    return t;
}

void tally_free(struct tally *t)
{
    if (!t)
        return;
    while (t->count > 0)
        free((char *)t->rows[--t->count].topic.at);
    free(t);
}
