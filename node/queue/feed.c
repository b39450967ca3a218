#include "node/queue/feed.h"

#include <stdlib.h>

#include "base/clock.h"
#include "node/queue/core.h"
#include "base/bytes.h"

#define KEEP_MS     60000
#define SEQS_PER_MS 1000

/* A delivery and its texts. */
struct remembered {
    struct feed_item h;
    char text[];
};

struct feed_ring {
    int64_t first_seq;                        /* the oldest one; last_seq + 1: none yet */
    struct remembered *by_seq[FEED_MAX];      /* at seq % FEED_MAX */
    struct feed_item items[QUEUE_FOLLOW_MAX]; /* of the answer that is being given */
};

/* ---- the ring ---- */

static void watch(struct feed *hs)
{
    timer_disarm(hs->core->timers, &hs->forget);
    if (hs->ring)
        return;
    hs->ring = calloc(1, sizeof(*hs->ring));
    if (!hs->ring)
        abort();
    hs->ring->first_seq = hs->last_seq + 1;
}

static void forget_all(struct feed *hs)
{
    if (!hs->ring)
        return;
    for (unsigned i = 0; i < FEED_MAX; i++)
        free(hs->ring->by_seq[i]);
    free(hs->ring);
    hs->ring = NULL;
}

static void on_forget(struct timer *timer)
{
    forget_all(CONTAINER_OF(timer, struct feed, forget));
}

static struct remembered *remember(const struct feed_item *h, int64_t seq)
{
    struct remembered *r = malloc(sizeof(*r) + h->topic.len + h->id.len + h->client.len);
    char *to;

    if (!r)
        abort();
    to = r->text;
    r->h = *h;
    r->h.seq = seq;
    r->h.topic = text_put(&to, h->topic);
    r->h.id = text_put(&to, h->id);
    r->h.client = text_put(&to, h->client);
    return r;
}

void feed_add(struct feed *hs, const struct feed_item *h)
{
    int64_t seq = ++hs->last_seq;
    struct remembered **place;

    if (!hs->ring)
        return;
    place = &hs->ring->by_seq[seq % FEED_MAX];
    if (*place)
        hs->ring->first_seq = (*place)->h.seq + 1;
    free(*place);
    *place = remember(h, seq);
    if (!list_is_empty(&hs->waiting) && !timer_is_armed(&hs->turn))
        timer_arm(hs->core->timers, &hs->turn, 0);
}

/* ---- what a follow sees ---- */

static const struct feed_item *get(const struct feed *hs, int64_t seq)
{
    return &hs->ring->by_seq[seq % FEED_MAX]->h;
}

static bool is_for(const struct follow *f, const struct feed_item *h)
{
    return f->topic.len == 0 || bytes_equal(f->topic, h->topic);
}

/* What was forgotten before it was seen is missed. */
static void skip_forgotten(const struct feed *hs, struct follow *f)
{
    int64_t before_ring = hs->ring->first_seq - 1;

    if (f->seen_seq >= before_ring)
        return;
    f->missed += (uint64_t)(before_ring - f->seen_seq);
    f->seen_seq = before_ring;
}

/* Up to the first that is for it. */
static bool has_news(const struct feed *hs, struct follow *f)
{
    skip_forgotten(hs, f);
    for (; f->seen_seq < hs->last_seq; f->seen_seq++) {
        if (is_for(f, get(hs, f->seen_seq + 1)))
            return true;
    }
    return false;
}

static void collect(const struct feed *hs, struct follow *f)
{
    f->items = hs->ring->items;
    while (f->count < f->max && has_news(hs, f))
        hs->ring->items[f->count++] = *get(hs, ++f->seen_seq);
}

/* ---- answering ---- */

static void answer(struct follow *f, enum status status)
{
    struct feed *hs = f->feed;
    struct core *core = hs->core;

    list_remove(&f->link);
    timer_disarm(core->timers, &f->timer);
    f->status = status;
    if (status == STATUS_OK)
        collect(hs, f);
    f->next = f->seen_seq;
    if (--hs->count == 0 && hs->ring)
        timer_arm(core->timers, &hs->forget, KEEP_MS);
    f->on_done(f);
    core->on_end(core);
}

static void on_time_over(struct timer *timer)
{
    answer(CONTAINER_OF(timer, struct follow, timer), STATUS_OK);
}

/* Each is looked at and goes to the end of the line. They stay on their list meanwhile, so that
 * whoever is called back may cancel others. */
static void on_turn(struct timer *timer)
{
    struct feed *hs = CONTAINER_OF(timer, struct feed, turn);
    struct list *link;

    for (unsigned n = hs->count; n > 0 && (link = list_first(&hs->waiting)); n--) {
        struct follow *f = CONTAINER_OF(link, struct follow, link);

        list_remove(link);
        list_append(&hs->waiting, link);
        if (has_news(hs, f))
            answer(f, STATUS_OK);
    }
}

static void tell_over(struct later *later, struct list *link)
{
    struct follow *f = CONTAINER_OF(link, struct follow, link);

    answer(f, f->status);
}

static void end_later(struct follow *f, enum status status)
{
    struct feed *hs = f->feed;

    list_remove(&f->link);
    timer_disarm(hs->core->timers, &f->timer);
    f->status = status;
    later_add(&hs->over, &f->link);
}

/* ---- what the queue calls ---- */

static int64_t clamp(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

static void take_in(struct feed *hs, struct follow *f)
{
    f->feed = hs;
    f->items = NULL;
    f->count = 0;
    f->missed = 0;
    f->seen_seq = f->has_after ? clamp(f->after, hs->born_seq - 1, hs->last_seq) : hs->last_seq;
    list_init(&f->link);
    timer_init(&f->timer, on_time_over);
    hs->count++;
}

void feed_follow(struct feed *hs, struct follow *f)
{
    if (hs->count >= QUEUE_FOLLOWERS_MAX) {
        feed_refuse(hs, f, STATUS_TOO_MANY_FOLLOWERS);
        return;
    }
    take_in(hs, f);
    watch(hs);
    list_append(&hs->waiting, &f->link);
    timer_arm(hs->core->timers, &f->timer, f->wait_ms);
    if (f->seen_seq < hs->last_seq)
        timer_arm(hs->core->timers, &hs->turn, 0);
}

void feed_refuse(struct feed *hs, struct follow *f, enum status status)
{
    take_in(hs, f);
    end_later(f, status);
}

void feed_cancel(struct feed *hs, struct follow *f)
{
    end_later(f, STATUS_CANCELLED);
}

void feed_cancel_all(struct feed *hs)
{
    struct list *link;

    while ((link = list_first(&hs->waiting)))
        feed_cancel(hs, CONTAINER_OF(link, struct follow, link));
}

void feed_init(struct feed *hs, struct core *core)
{
    *hs = (struct feed){.core = core, .born_seq = clock_wall_ms() * SEQS_PER_MS};
    hs->last_seq = hs->born_seq - 1;
    list_init(&hs->waiting);
    later_init(&hs->over, core->timers, tell_over);
    timer_init(&hs->turn, on_turn);
    timer_init(&hs->forget, on_forget);
}

void feed_fini(struct feed *hs)
{
    later_fini(&hs->over);
    timer_disarm(hs->core->timers, &hs->turn);
    timer_disarm(hs->core->timers, &hs->forget);
    forget_all(hs);
}
