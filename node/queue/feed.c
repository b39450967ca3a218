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

static void watch(struct feed *feed)
{
    timer_disarm(feed->core->timers, &feed->forget);
    if (feed->ring)
        return;
    feed->ring = must(calloc(1, sizeof(*feed->ring)));
    feed->ring->first_seq = feed->last_seq + 1;
}

static void forget_all(struct feed *feed)
{
    if (!feed->ring)
        return;
    for (unsigned i = 0; i < FEED_MAX; i++)
        free(feed->ring->by_seq[i]);
    free(feed->ring);
    feed->ring = NULL;
}

static void on_forget(struct timer *timer)
{
    forget_all(CONTAINER_OF(timer, struct feed, forget));
}

static struct remembered *remember(const struct feed_item *h, int64_t seq)
{
    struct remembered *r = must(malloc(sizeof(*r) + h->topic.len + h->id.len + h->client.len));
    char *to;

    to = r->text;
    r->h = *h;
    r->h.seq = seq;
    r->h.topic = text_put(&to, h->topic);
    r->h.id = text_put(&to, h->id);
    r->h.client = text_put(&to, h->client);
    return r;
}

void feed_add(struct feed *feed, const struct feed_item *h)
{
    int64_t seq = ++feed->last_seq;
    struct remembered **place;

    if (!feed->ring)
        return;
    place = &feed->ring->by_seq[seq % FEED_MAX];
    if (*place)
        feed->ring->first_seq = (*place)->h.seq + 1;
    free(*place);
    *place = remember(h, seq);
    if (!list_is_empty(&feed->waiting) && !timer_is_armed(&feed->turn))
        timer_arm(feed->core->timers, &feed->turn, 0);
}

/* ---- what a follow sees ---- */

static const struct feed_item *get(const struct feed *feed, int64_t seq)
{
    return &feed->ring->by_seq[seq % FEED_MAX]->h;
}

static bool is_for(const struct follow *f, const struct feed_item *h)
{
    if (f->topic.len && !bytes_equal(f->topic, h->topic))
        return false;
    return !f->is_for || f->is_for(f, h->topic);
}

/* Deliveries forgotten before the follow saw them are missed. */
static void skip_forgotten(const struct feed *feed, struct follow *f)
{
    int64_t before_ring = feed->ring->first_seq - 1;

    if (f->seen_seq >= before_ring)
        return;
    f->missed += (uint64_t)(before_ring - f->seen_seq);
    f->seen_seq = before_ring;
}

/* Looks up to the first delivery that is for the follow. */
static bool has_news(const struct feed *feed, struct follow *f)
{
    skip_forgotten(feed, f);
    for (; f->seen_seq < feed->last_seq; f->seen_seq++) {
        if (is_for(f, get(feed, f->seen_seq + 1)))
            return true;
    }
    return false;
}

static void collect(const struct feed *feed, struct follow *f)
{
    f->items = feed->ring->items;
    while (f->count < f->max && has_news(feed, f))
        feed->ring->items[f->count++] = *get(feed, ++f->seen_seq);
}

/* ---- answering ---- */

static void answer(struct follow *f, enum status status)
{
    struct feed *feed = f->feed;
    struct core *core = feed->core;

    list_remove(&f->link);
    timer_disarm(core->timers, &f->timer);
    f->status = status;
    if (status == STATUS_OK)
        collect(feed, f);
    f->next = f->seen_seq;
    if (--feed->count == 0 && feed->ring)
        timer_arm(core->timers, &feed->forget, KEEP_MS);
    f->on_done(f);
    core_note_end(core);
}

static void on_time_over(struct timer *timer)
{
    answer(CONTAINER_OF(timer, struct follow, timer), STATUS_OK);
}

/* Each follow is looked at and goes to the end of the line. They stay on their list meanwhile,
 * so that a callback may cancel others. */
static void on_turn(struct timer *timer)
{
    struct feed *feed = CONTAINER_OF(timer, struct feed, turn);
    struct list *link;

    for (unsigned n = feed->count; n > 0 && (link = list_first(&feed->waiting)); n--) {
        struct follow *f = CONTAINER_OF(link, struct follow, link);

        list_remove(link);
        list_append(&feed->waiting, link);
        if (has_news(feed, f))
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
    struct feed *feed = f->feed;

    list_remove(&f->link);
    timer_disarm(feed->core->timers, &f->timer);
    f->status = status;
    later_add(&feed->over, &f->link);
}

/* ---- what the queue calls ---- */

static int64_t clamp(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

static void take_in(struct feed *feed, struct follow *f)
{
    f->feed = feed;
    f->items = NULL;
    f->count = 0;
    f->missed = 0;
    f->seen_seq =
        f->has_after ? clamp(f->after, feed->born_seq - 1, feed->last_seq) : feed->last_seq;
    list_init(&f->link);
    timer_init(&f->timer, on_time_over);
    feed->count++;
}

void feed_follow(struct feed *feed, struct follow *f)
{
    if (feed->count >= QUEUE_FOLLOWERS_MAX) {
        feed_refuse(feed, f, STATUS_TOO_MANY_FOLLOWERS);
        return;
    }
    take_in(feed, f);
    watch(feed);
    list_append(&feed->waiting, &f->link);
    timer_arm(feed->core->timers, &f->timer, f->wait_ms);
    if (f->seen_seq < feed->last_seq)
        timer_arm(feed->core->timers, &feed->turn, 0);
}

void feed_refuse(struct feed *feed, struct follow *f, enum status status)
{
    take_in(feed, f);
    end_later(f, status);
}

void queue_follow_cancel(struct follow *f)
{
    end_later(f, STATUS_CANCELLED);
}

void feed_cancel_all(struct feed *feed)
{
    struct list *link;

    while ((link = list_first(&feed->waiting)))
        queue_follow_cancel(CONTAINER_OF(link, struct follow, link));
}

void feed_init(struct feed *feed, struct core *core)
{
    *feed = (struct feed){.core = core, .born_seq = clock_wall_ms() * SEQS_PER_MS};
    feed->last_seq = feed->born_seq - 1;
    list_init(&feed->waiting);
    later_init(&feed->over, core->timers, tell_over);
    timer_init(&feed->turn, on_turn);
    timer_init(&feed->forget, on_forget);
}

void feed_fini(struct feed *feed)
{
    later_fini(&feed->over);
    timer_disarm(feed->core->timers, &feed->turn);
    timer_disarm(feed->core->timers, &feed->forget);
    forget_all(feed);
}
