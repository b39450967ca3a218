#include "node/store/redis/wakeups.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/log.h"

struct redis_wakeups {
    struct redis_wakeups_options options;
    struct loop *loop;
    struct redis_link *link;
    struct list beats;
    unsigned beat_count; /* that there ever were */
    struct timer timer;
    bool is_up;
    int64_t proof_ms; /* time for the proof after a standstill; 0: none is under way */
    char channel[64];
    char word[20]; /* what the words of all beats begin with */
};

#define HINT_BYTES     32
#define SOON_MIN_MS    250
#define STALL_PROOF_MS 500 /* a machine that let us stand still may be slow */

static void beat_later(struct redis_wakeups *w)
{
    timer_arm(&w->loop->timers, &w->timer, w->options.timeout_ms);
}

static void beat_soon(struct redis_wakeups *w)
{
    struct timers *timers = &w->loop->timers;
    int64_t ms = w->options.timeout_ms / 4;

    if (ms < SOON_MIN_MS)
        ms = SOON_MIN_MS;
    if (!timer_is_armed(&w->timer) || w->timer.due_mono_ms > timers_now(timers) + ms)
        timer_arm(timers, &w->timer, ms);
}

static struct redis_beat *beat_of(struct list *link)
{
    return CONTAINER_OF(link, struct redis_beat, link);
}

static void on_published(struct redis_call *call, const redisReply *reply)
{
    struct redis_beat *b = CONTAINER_OF(call, struct redis_beat, publish);

    b->is_publishing = false;
    if (!reply || reply->type != REDIS_REPLY_INTEGER)
        b->is_owed = b->is_unheard = false;
}

static void publish(const struct redis_wakeups *w, struct redis_beat *b)
{
    const char *argv[] = {"PUBLISH", w->channel, b->word};
    size_t lens[] = {7, strlen(w->channel), strlen(b->word)};

    if (b->is_publishing || !redis_link_is_open(b->commands))
        return;
    b->is_publishing = true;
    b->is_owed = true;
    b->publish.on_reply = on_published;
    redis_link_send(b->commands, &b->publish, 3, argv, lens);
}

/* ---- what is not heard ---- */

static unsigned weight(const struct redis_wakeups *w, const struct redis_beat *b)
{
    return w->options.weigh ? w->options.weigh(w->options.arg, b) : 1;
}

static void tell_missed(const struct redis_wakeups *w, const struct redis_beat *b)
{
    if (w->options.on_missed)
        w->options.on_missed(w->options.arg, b);
}

static void say_unheard(const struct redis_wakeups *w, const struct redis_beat *b)
{
    char at[REDIS_ADDRESS_CHARS], here[REDIS_ADDRESS_CHARS];

    redis_address_print(redis_link_address(b->commands), at);
    redis_address_print(redis_link_address(w->link), here);
    LOG_WARN("redis", "what is published at %s is%s heard at %s", at,
             b->is_unheard ? " not" : " again", here);
}

/* Returns the first beat that was not heard; NULL: none. A beat whose PUBLISH is not answered
 * is not judged: its command link has deadlines of its own. */
static struct redis_beat *note_unheard(struct redis_wakeups *w)
{
    struct redis_beat *first = NULL;

    LIST_EACH (link, &w->beats) {
        struct redis_beat *b = beat_of(link);

        if (!redis_link_is_open(b->commands))
            b->is_owed = b->is_heard = b->is_unheard = false;
        if (b->is_owed && !b->is_publishing) {
            b->is_heard = false;
            b->is_unheard = true;
        }
        if (b->is_unheard && !first)
            first = b;
    }
    return first;
}

/* `missed` is the weight of the beats not heard here. Is less missed elsewhere, as far as is
 * known? */
static bool is_better_elsewhere(struct redis_wakeups *w, unsigned missed)
{
    const struct redis_address *here = redis_link_address(w->link);
    bool is_better = false;

    LIST_EACH (link, &w->beats) {
        struct redis_beat *b = beat_of(link);

        if (redis_address_equal(redis_link_address(b->commands), here))
            b->missed_at = missed;
        else
            is_better |= redis_link_is_open(b->commands) && b->missed_at < missed;
    }
    return is_better;
}

/* A connection that hears nothing at all is broken, wherever it is. */
static bool is_good_place(struct redis_wakeups *w)
{
    unsigned heard_count = 0, heard = 0, missed = 0;

    LIST_EACH (link, &w->beats) {
        const struct redis_beat *b = beat_of(link);

        missed += b->is_unheard ? weight(w, b) : 0;
        heard += b->is_heard ? weight(w, b) : 0;
        heard_count += b->is_heard;
    }
    return heard_count > 0 && (heard >= missed || !is_better_elsewhere(w, missed));
}

/* All are heard here, so that nobody is cut off any more. */
static void forget_missed(struct redis_wakeups *w)
{
    LIST_EACH (link, &w->beats) {
        if (!beat_of(link)->is_heard && redis_link_is_open(beat_of(link)->commands))
            return;
    }
    LIST_EACH (link, &w->beats)
        beat_of(link)->missed_at = 0;
}

static void give_up(struct redis_wakeups *w, const struct redis_beat *b)
{
    char where[REDIS_ADDRESS_CHARS], why[REDIS_ADDRESS_CHARS + 64];
    bool is_only = w->beats.next == w->beats.prev;

    redis_address_print(redis_link_address(b->commands), where);
    snprintf(why, sizeof(why), "what is published%s%s is not heard", is_only ? "" : " at ",
             is_only ? "" : where);
    redis_link_reset(w->link, why);
}

/* The subscription stays, though not all beats are heard. */
static void look_after_unheard(struct redis_wakeups *w)
{
    LIST_EACH (link, &w->beats) {
        struct redis_beat *b = beat_of(link);

        if (!b->is_unheard)
            continue;
        if (!b->is_said)
            say_unheard(w, b);
        b->is_said = true;
        tell_missed(w, b);
    }
}

/* Its answer is still awaited: the command link may wait for the network, too. */
static bool is_one_unanswered(const struct redis_wakeups *w)
{
    LIST_EACH (link, &w->beats)
        if (beat_of(link)->is_publishing)
            return true;
    return false;
}

static void on_timer(struct timer *timer)
{
    struct redis_wakeups *w = CONTAINER_OF(timer, struct redis_wakeups, timer);
    const struct redis_beat *unheard;
    bool is_open_question = is_one_unanswered(w);

    w->proof_ms = 0;
    if (!w->is_up) {
        redis_link_reset(w->link, "no answer to SUBSCRIBE");
        return;
    }
    unheard = note_unheard(w);
    if (unheard && !is_good_place(w)) {
        give_up(w, unheard);
        return;
    }
    LIST_EACH (link, &w->beats)
        publish(w, beat_of(link));
    if (unheard || is_open_question) {
        beat_soon(w);
        look_after_unheard(w);
    } else {
        forget_missed(w);
        beat_later(w);
    }
}

/* ---- what the link says ---- */

static void on_look(void *arg)
{
    struct redis_wakeups *w = arg;

    w->options.on_look(w->options.arg);
}

static void on_open(void *arg)
{
    struct redis_wakeups *w = arg;

    beat_later(w);
    redis_link_subscribe(w->link, w->channel);
}

static void on_subscribed(void *arg)
{
    struct redis_wakeups *w = arg;

    w->is_up = true;
    redis_link_settled(w->link);
    w->options.on_up(w->options.arg);
}

static void on_close(void *arg)
{
    struct redis_wakeups *w = arg;
    bool was_up = w->is_up;

    w->is_up = false;
    w->proof_ms = 0;
    LIST_EACH (link, &w->beats) {
        struct redis_beat *b = beat_of(link);

        b->is_owed = b->is_heard = b->is_unheard = b->is_said = false;
    }
    timer_disarm(&w->loop->timers, &w->timer);
    if (was_up)
        w->options.on_down(w->options.arg);
}

static void hear(struct redis_wakeups *w, struct redis_beat *b)
{
    bool was_unheard = b->is_unheard;

    b->is_owed = b->is_unheard = false;
    b->is_heard = true;
    if (b->is_said)
        say_unheard(w, b);
    b->is_said = false;
    if (was_unheard)
        tell_missed(w, b);
}

static void take_beat(struct redis_wakeups *w, struct bytes payload)
{
    LIST_EACH (link, &w->beats) {
        if (bytes_equal(payload, bytes_of_text(beat_of(link)->word))) {
            hear(w, beat_of(link));
            return;
        }
    }
}

/* ">bucket share ms"; anything else is ignored. Only nodes publish hints, but anybody could. */
static void take_hint(struct redis_wakeups *w, struct bytes payload)
{
    const struct store_events *events = w->options.events;
    char text[HINT_BYTES];
    unsigned bucket, share;
    int64_t wait_ms;
    int end = 0;

    if (payload.len >= sizeof(text))
        return;
    snprintf(text, sizeof(text), "%.*s", BYTES_ARG(payload));
    if (sscanf(text, ">%4u %4u %10" SCNd64 "%n", &bucket, &share, &wait_ms, &end) == 3 &&
        !text[end] && wait_ms >= 0 && bucket < w->options.buckets && share < SHARES &&
        events->on_hint)
        events->on_hint(events->arg, bucket, share, wait_ms);
}

static void tell_identities(const struct store_events *events)
{
    if (events->on_identities)
        events->on_identities(events->arg);
}

static void on_message(void *arg, struct bytes payload)
{
    struct redis_wakeups *w = arg;
    const struct store_events *events = w->options.events;
    char kind = payload.len ? payload.at[0] : 0;

    if (!kind)
        return;
    if (kind == '-')
        take_beat(w, payload);
    else if (kind == '>')
        take_hint(w, payload);
    else if (kind == '!')
        tell_identities(events);
    else if (kind != '=')
        events->on_ready(events->arg, payload);
    else if (events->on_settings)
        events->on_settings(events->arg, bytes_of(payload.at + 1, payload.len - 1));
}

static void on_stopped(void *arg)
{
    struct redis_wakeups *w = arg;

    w->options.on_stopped(w->options.arg);
}

/* ---- for the owner ---- */

struct redis_wakeups *redis_wakeups_new(struct loop *loop,
                                        const struct redis_wakeups_options *options)
{
    struct redis_wakeups *w = must(calloc(1, sizeof(*w)));
    struct redis_link_options link = {
        .name = "wake-up link",
        .address = options->address,
        .login = options->login,
        .timeout_ms = options->timeout_ms,
        .backoff_max_ms = options->backoff_max_ms,
        .on_look = options->on_look ? on_look : NULL,
        .on_open = on_open,
        .on_close = on_close,
        .on_message = on_message,
        .on_subscribed = on_subscribed,
        .on_stopped = on_stopped,
        .arg = w,
    };

    w->options = *options;
    w->loop = loop;
    list_init(&w->beats);
    w->link = redis_link_new(loop, &link);
    timer_init(&w->timer, on_timer);
    snprintf(w->channel, sizeof(w->channel), "%s:ready", options->prefix);
    snprintf(w->word, sizeof(w->word), "-%08x%08x", arc4random(), arc4random());
    return w;
}

void redis_wakeups_free(struct redis_wakeups *w)
{
    if (!w)
        return;
    timer_disarm(&w->loop->timers, &w->timer);
    redis_link_free(w->link);
    free(w);
}

void redis_wakeups_add(struct redis_wakeups *w, struct redis_beat *beat,
                       struct redis_link *commands)
{
    *beat = (struct redis_beat){.commands = commands};
    snprintf(beat->word, sizeof(beat->word), "%s%x", w->word, w->beat_count++);
    list_append(&w->beats, &beat->link);
}

void redis_wakeups_prove(struct redis_wakeups *w, struct redis_beat *beat)
{
    if (!w->is_up)
        return;
    publish(w, beat);
    beat_soon(w);
}

/* Was a proof under way before this standstill, and something of it not heard? */
static bool is_proof_owed(const struct redis_wakeups *w)
{
    LIST_EACH (link, &w->beats)
        if (w->proof_ms && beat_of(link)->is_owed &&
            redis_link_is_open(beat_of(link)->commands))
            return true;
    return false;
}

/* At each standstill the same proof gets less time, so that it ends however often they come; at
 * least a millisecond, in which what has come meanwhile is read. */
void redis_wakeups_prove_all(struct redis_wakeups *w)
{
    if (!w->is_up)
        return;
    w->proof_ms = is_proof_owed(w) ? w->proof_ms / 5 + 1 : STALL_PROOF_MS;
    LIST_EACH (link, &w->beats)
        publish(w, beat_of(link));
    timer_arm(&w->loop->timers, &w->timer, w->proof_ms); /* not that which is overdue */
}

void redis_wakeups_remove(struct redis_wakeups *w, struct redis_beat *beat)
{
    list_remove(&beat->link);
}

void redis_wakeups_start(struct redis_wakeups *w)
{
    redis_link_start(w->link);
}

void redis_wakeups_stop(struct redis_wakeups *w)
{
    redis_link_stop(w->link);
}

void redis_wakeups_aim(struct redis_wakeups *w, const struct redis_address *address)
{
    redis_link_aim(w->link, address);
}

const struct redis_address *redis_wakeups_address(const struct redis_wakeups *w)
{
    return redis_link_address(w->link);
}

void redis_wakeups_leave(struct redis_wakeups *w, const struct redis_address *address)
{
    if (redis_address_equal(redis_link_address(w->link), address))
        redis_link_reset(w->link, "this Redis is left");
}

static void on_hinted(struct redis_call *call, const redisReply *reply)
{
    free(call);
}

void redis_wakeups_hint(struct redis_wakeups *w, struct redis_link *commands, unsigned bucket,
                        unsigned share, int64_t wait_ms)
{
    struct redis_call *call = must(calloc(1, sizeof(*call)));
    char text[HINT_BYTES];
    const char *argv[] = {"PUBLISH", w->channel, text};
    size_t lens[] = {7, strlen(w->channel), 0};

    call->on_reply = on_hinted;
    lens[2] = (size_t)snprintf(text, sizeof(text), ">%u %u %" PRId64, bucket, share, wait_ms);
    redis_link_send(commands, call, 3, argv, lens);
}

bool redis_wakeups_are_up(const struct redis_wakeups *w)
{
    return w->is_up;
}

const char *redis_wakeups_why(const struct redis_wakeups *w)
{
    return redis_link_why(w->link);
}
