#include "node/store/redis/sentinel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/log.h"
#include "node/store/redis/sentinel_link.h"
#include "node/store/redis/sentinel_view.h"

#define ASK_EVERY_MS  1000 /* where a `+switch-master` was not heard */
#define FIRST_WORD_MS 1000 /* so long it waits for others who say the same */

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

static void tell_master(struct redis_sentinel *s)
{
    s->is_asked = false;
    s->options.on_master(s->options.arg, &s->view.believed.master);
}

static int64_t now(const struct redis_sentinel *s)
{
    return timers_now(&s->loop->timers);
}

static bool has_word(const struct redis_sentinel *s, unsigned number)
{
    return *s->view.said[number].word.master.host != '\0';
}

static bool is_lasting(const struct redis_sentinel *s)
{
    for (unsigned i = 0; i < s->view.count; i++) {
        if (has_word(s, i) || !s->links[i].is_lasting)
            return false;
    }
    return true;
}

/* Who can tell most: one that names another master, then one that is set up wrongly. */
static const struct redis_sentinel_link *who_tells(const struct redis_sentinel *s)
{
    const struct redis_sentinel_link *found = &s->links[0];

    for (unsigned i = 0; i < s->view.count; i++) {
        if (has_word(s, i))
            return &s->links[i];
        if (s->links[i].is_lasting && !found->is_lasting)
            found = &s->links[i];
    }
    return found;
}

static const char *why_in_vain(const struct redis_sentinel *s,
                               const struct redis_sentinel_link *who)
{
    if (!has_word(s, who->number))
        return who->why.text;
    if (s->view.said[who->number].word.epoch < s->view.believed.epoch)
        return "names a master from before the last failover, and no other can be asked";
    return "names a master that the others did not, and none of them can be asked";
}

static void on_in_vain(struct timer *timer)
{
    struct redis_sentinel *s = CONTAINER_OF(timer, struct redis_sentinel, in_vain);
    const struct redis_sentinel_link *who;
    char why[640];

    if (!is_in_vain(s))
        return;
    if (redis_sentinel_view_settle(&s->view, 0, now(s))) {
        tell_master(s);
        return;
    }
    who = who_tells(s);
    snprintf(why, sizeof(why), "%s: %s", who->name, why_in_vain(s, who));
    s->is_asked = false;
    s->options.on_nobody(s->options.arg, why, is_lasting(s));
}

static void look_whether_in_vain(struct redis_sentinel *s)
{
    if (is_in_vain(s))
        timer_arm(&s->loop->timers, &s->in_vain, 0);
}

/* ---- what one of them says ---- */

/* A name of several Sentinels, perhaps: then nobody else can say that this word is too old. */
static bool is_alone(const struct redis_sentinel *s)
{
    return s->view.count == 1;
}

static void on_word(void *arg, unsigned number, const struct sentinel_word *word)
{
    struct redis_sentinel *s = arg;
    bool is_believed;

    if (s->is_stopping)
        return;
    is_believed = redis_sentinel_view_hear(&s->view, number, word, now(s));
    if (!is_alone(s) || !redis_sentinel_view_differs(&s->view, number))
        redis_sentinel_link_settled(&s->links[number]);
    /* Who is alone with a word that is too old does not keep us from the master we know. */
    if (is_believed || is_alone(s))
        tell_master(s);
    else
        look_whether_in_vain(s);
}

static void on_silence(void *arg, unsigned number)
{
    struct redis_sentinel *s = arg;

    redis_sentinel_view_forget(&s->view, number);
    look_whether_in_vain(s);
}

/* ---- they do not agree ---- */

static void warn(const struct redis_sentinel *s, unsigned number)
{
    char says[REDIS_ADDRESS_CHARS], used[REDIS_ADDRESS_CHARS];

    redis_address_print(&s->view.said[number].word.master, says);
    redis_address_print(&s->view.believed.master, used);
    LOG_WARN("redis", "%s says that the master of '%s' is %s, and is not believed: it is %s",
             s->links[number].name, s->options.sentinels.master, says, used);
}

static void say_outvoted(const struct redis_sentinel *s, const struct redis_address *before)
{
    char text[REDIS_ADDRESS_CHARS];
    unsigned others = 0;

    redis_address_print(before, text);
    for (unsigned i = 0; i < s->view.count; i++)
        others += has_word(s, i) && !redis_sentinel_view_differs(&s->view, i);
    LOG_WARN("redis",
             "the master of '%s' is %s no more: for %d s %u of %u Sentinels have named another",
             s->options.sentinels.master, text, REDIS_SENTINEL_DOUBT_MS / 1000, others,
             s->view.count);
}

static void review(struct redis_sentinel *s)
{
    struct redis_address before = s->view.believed.master;

    if (!redis_sentinel_view_review(&s->view, now(s)))
        return;
    say_outvoted(s, &before);
    tell_master(s);
}

static void look_who_differs(struct redis_sentinel *s)
{
    for (unsigned i = 0; i < s->view.count; i++) {
        if (redis_sentinel_view_tell(&s->view, i, now(s)))
            warn(s, i);
    }
    /* The name may lead to another one that knows more. */
    if (is_alone(s) && redis_sentinel_view_differs(&s->view, 0))
        redis_sentinel_link_renew(&s->links[0]);
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
    if (redis_sentinel_view_settle(&s->view, FIRST_WORD_MS, now(s)))
        tell_master(s);
    review(s);
    look_who_differs(s);
    ask_all(s);
}

void redis_sentinel_ask(struct redis_sentinel *s)
{
    s->is_asked = true;
    ask_all(s);
    look_whether_in_vain(s);
}

void redis_sentinel_used(struct redis_sentinel *s, bool is_used)
{
    redis_sentinel_view_used(&s->view, is_used, now(s));
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
