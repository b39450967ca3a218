#include "node/store/redis/sentinel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "node/store/redis/sentinel_link.h"
#include "node/store/redis/sentinel_view.h"

#define ASK_EVERY_MS 1000 /* where a `+switch-master` was not heard */

struct redis_sentinel {
    struct redis_sentinel_options options;
    struct loop *loop;
    struct redis_sentinel_link links[REDIS_SENTINELS_MAX];
    struct redis_sentinel_view view;
    struct timer every;
    struct timer in_vain; /* tells it in a later turn */
    bool is_asked;        /* on_master or on_nobody is owed */
    bool is_stopping;
    unsigned running; /* links, while stopping */
};

/* ---- nobody knows ---- */

/* None whose answer is still to come, and could be believed. */
static bool is_in_vain(const struct redis_sentinel *s)
{
    for (unsigned i = 0; i < s->view.count; i++) {
        if (s->links[i].is_awaited)
            return false;
    }
    return s->is_asked && !s->is_stopping;
}

static bool is_lasting(const struct redis_sentinel *s)
{
    for (unsigned i = 0; i < s->view.count; i++) {
        if (*s->view.said[i].master.host || !s->links[i].is_lasting)
            return false;
    }
    return true;
}

/* Who can tell most: one that names another master, then one that is set up wrongly. */
static const struct redis_sentinel_link *who_tells(const struct redis_sentinel *s)
{
    const struct redis_sentinel_link *found = &s->links[0];

    for (unsigned i = 0; i < s->view.count; i++) {
        if (*s->view.said[i].master.host)
            return &s->links[i];
        if (s->links[i].is_lasting && !found->is_lasting)
            found = &s->links[i];
    }
    return found;
}

static void on_in_vain(struct timer *timer)
{
    struct redis_sentinel *s = CONTAINER_OF(timer, struct redis_sentinel, in_vain);
    const struct redis_sentinel_link *who;
    char why[640];

    if (!is_in_vain(s))
        return;
    who = who_tells(s);
    snprintf(why, sizeof(why), "%s: %s", who->name,
             *s->view.said[who->number].master.host
                 ? "names a master from before the last failover, and no other can be asked"
                 : who->why.text);
    s->is_asked = false;
    s->options.on_nobody(s->options.arg, why, is_lasting(s));
}

static void look_whether_in_vain(struct redis_sentinel *s)
{
    if (is_in_vain(s))
        timer_arm(&s->loop->timers, &s->in_vain, 0);
}

/* ---- what one of them says ---- */

static void on_word(void *arg, unsigned number, const struct sentinel_word *word)
{
    struct redis_sentinel *s = arg;

    if (s->is_stopping)
        return;
    if (!redis_sentinel_view_hear(&s->view, number, word)) {
        look_whether_in_vain(s);
        return;
    }
    s->is_asked = false;
    s->options.on_master(s->options.arg, &s->view.believed.master);
}

static void on_silence(void *arg, unsigned number)
{
    struct redis_sentinel *s = arg;

    redis_sentinel_view_forget(&s->view, number);
    look_whether_in_vain(s);
}

/* ---- asking ---- */

static void ask_all(struct redis_sentinel *s)
{
    for (unsigned i = 0; i < s->view.count; i++)
        redis_sentinel_link_ask(&s->links[i]);
}

static void on_switch(void *arg)
{
    ask_all(arg);
}

static void on_every(struct timer *timer)
{
    struct redis_sentinel *s = CONTAINER_OF(timer, struct redis_sentinel, every);

    timer_arm(&s->loop->timers, timer, ASK_EVERY_MS);
    ask_all(s);
}

void redis_sentinel_ask(struct redis_sentinel *s)
{
    s->is_asked = true;
    ask_all(s);
    look_whether_in_vain(s);
}

/* ---- life ---- */

static void on_link_stopped(void *arg)
{
    struct redis_sentinel *s = arg;

    if (--s->running == 0)
        s->options.on_stopped(s->options.arg);
}

struct redis_sentinel *redis_sentinel_new(struct loop *loop,
                                          const struct redis_sentinel_options *options)
{
    struct redis_sentinel *s = calloc(1, sizeof(*s));
    struct sentinel_link_events events = {.on_word = on_word,
                                          .on_silence = on_silence,
                                          .on_switch = on_switch,
                                          .on_stopped = on_link_stopped,
                                          .arg = s};

    if (!s)
        abort();
    s->options = *options;
    s->loop = loop;
    s->view.count = options->sentinels.count;
    timer_init(&s->every, on_every);
    timer_init(&s->in_vain, on_in_vain);
    for (unsigned i = 0; i < s->view.count; i++)
        redis_sentinel_link_init(&s->links[i], loop, i, &s->options, &events);
    return s;
}

void redis_sentinel_free(struct redis_sentinel *s)
{
    if (!s)
        return;
    assert(s->running == 0);
    for (unsigned i = 0; i < s->view.count; i++)
        redis_sentinel_link_fini(&s->links[i]);
    free(s);
}

void redis_sentinel_start(struct redis_sentinel *s)
{
    timer_arm(&s->loop->timers, &s->every, ASK_EVERY_MS);
    for (unsigned i = 0; i < s->view.count; i++)
        redis_sentinel_link_start(&s->links[i]);
}

void redis_sentinel_stop(struct redis_sentinel *s)
{
    s->is_stopping = true;
    timer_disarm(&s->loop->timers, &s->every);
    timer_disarm(&s->loop->timers, &s->in_vain);
    s->running = s->view.count;
    for (unsigned i = 0; i < s->view.count; i++)
        redis_sentinel_link_stop(&s->links[i]);
}
