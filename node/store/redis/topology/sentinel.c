/* The list of Sentinels in a configuration; one Sentinel's connections; all of them
 * together. */
#include "node/store/redis/topology/sentinel.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "node/store/redis/wire/error.h"
#include "node/store/redis/wire/link.h"
#include "node/store/redis/topology/sentinel_view.h"

struct redis_sentinel_link {
    struct redis_sentinel *owner;
    unsigned number;
    const char *master; /* its name */
    bool is_encrypted;
    struct loop *loop;
    struct redis_link *asking;
    struct redis_link *listening;
    struct redis_call about;   /* SENTINEL MASTER: the epoch, or what is wrong */
    struct redis_call address; /* SENTINEL GET-MASTER-ADDR-BY-NAME */
    struct sentinel_word word; /* what is answered so far */
    bool is_awaited;           /* take_word() or take_silence() will be called */
    unsigned running;          /* of the two links; while stopping */

    struct redis_last_error why; /* why it has no answer; "": it has one */
    bool is_lasting;             /* that is so until somebody changes something */
    char name[REDIS_ADDRESS_CHARS + 32];
};

/* What one Sentinel's link tells; never from inside a call. Why it is silent: in the link. */
static void take_word(struct redis_sentinel *s, unsigned number,
                      const struct sentinel_word *word);
static void take_silence(struct redis_sentinel *s, unsigned number);
static void take_stop(struct redis_sentinel *s);
static void
ask_all(struct redis_sentinel *s); /* also when a `+switch-master` of ours is heard */

#define REDIS_SENTINEL_PORT 26379

#define SCHEME "sentinel://"

/* The names that Sentinel takes. */
static bool is_name(const char *text, size_t len)
{
    return len >= 1 && len < REDIS_MASTER_CHARS &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_") >=
               len;
}

enum status redis_sentinels_parse(const char *text, struct redis_sentinels *sentinels)
{
    struct redis_sentinels parsed = {.count = 0};
    const char *name = text + strlen(SCHEME), *at;

    if (strncmp(text, "sentinel:", strlen("sentinel:")) != 0)
        return STATUS_NOT_FOUND;
    at = strncmp(text, SCHEME, strlen(SCHEME)) ? NULL : strchr(name, '@');
    if (!at || !is_name(name, (size_t)(at - name)) ||
        redis_address_parse_list(at + 1, REDIS_SENTINEL_PORT, parsed.list, REDIS_SENTINELS_MAX,
                                 &parsed.count) != STATUS_OK)
        return STATUS_BAD_CONFIG;
    memcpy(parsed.master, name, (size_t)(at - name));
    *sentinels = parsed;
    return STATUS_OK;
}

/* One Sentinel: a connection that asks it who the master is, and one that listens for
 * `+switch-master`, because a subscribed connection cannot ask. Both connect again and again.
 * Nothing is sent on the listening one, so it counts as dead when the asking one is lost.
 */

/* Both questions go in one write, and a Sentinel answers what it has read before it does
 * anything else. So epoch and address belong together; SENTINEL MASTER alone would tell the old
 * address until all replicas follow the new master.
 */

/* ---- what it cannot answer ---- */

static void set_why(struct redis_sentinel_link *l, const char *why, bool is_lasting)
{
    redis_last_error_set(&l->why, LEVEL_WARN, l->name, "", why, timers_now(&l->loop->timers));
    l->is_lasting = is_lasting;
}

/* Logs an error it has answered, with advice where there is some. */
static void complain(struct redis_sentinel_link *l, const char *error)
{
    char why[sizeof(l->why.text)];

    if (!strncmp(error, "ERR No such master", 18))
        snprintf(why, sizeof(why),
                 "knows no master '%s'; the name in store.redis is the one in its 'sentinel "
                 "monitor' line",
                 l->master);
    else if (!strncmp(error, "ERR unknown command", 19))
        snprintf(
            why, sizeof(why),
            "is no Sentinel, but a Redis; store.redis wants Sentinels, which listen on port "
            "%d, or that Redis as %s://host:port",
            REDIS_SENTINEL_PORT, l->is_encrypted ? "rediss" : "redis");
    else if (!strncmp(error, "NOAUTH", 6))
        snprintf(why, sizeof(why), "wants a password; set store.sentinel_password_file");
    else
        snprintf(why, sizeof(why), "%s", error);
    set_why(l, why, redis_error_is_lasting(error) || !strncmp(error, "ERR No such master", 18));
}

static void say_silence(struct redis_sentinel_link *l)
{
    l->is_awaited = false;
    take_silence(l->owner, l->number);
}

/* ---- one Sentinel: asking ---- */

static void send(struct redis_sentinel_link *l, struct redis_call *call, const char *what)
{
    const char *argv[] = {"SENTINEL", what, l->master};
    size_t lens[] = {8, strlen(what), strlen(l->master)};

    redis_link_send(l->asking, call, 3, argv, lens);
}

static void ask(struct redis_sentinel_link *l)
{
    l->is_awaited = true;
    l->word = (struct sentinel_word){.epoch = -1};
    send(l, &l->about, "MASTER");
    if (redis_link_is_open(l->asking))
        send(l, &l->address, "GET-MASTER-ADDR-BY-NAME");
}

/* Of "name", value, "name", value; -1: it is not there. */
static int64_t find_epoch(const redisReply *reply)
{
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        const redisReply *name = reply->element[i], *value = reply->element[i + 1];

        if (name->str && value->str && !strcmp(name->str, "config-epoch"))
            return strtoll(value->str, NULL, 10);
    }
    return -1;
}

/* Loss of the connection is told by on_away. */
static void on_about(struct redis_call *call, const redisReply *reply)
{
    struct redis_sentinel_link *l = CONTAINER_OF(call, struct redis_sentinel_link, about);

    if (!reply)
        return;
    if (reply->type == REDIS_REPLY_ERROR)
        complain(l, reply->str);
    else if ((l->word.epoch = find_epoch(reply)) < 0)
        complain(l, "an answer to SENTINEL MASTER without config-epoch");
}

static bool read_address(const redisReply *reply, struct redis_address *address)
{
    const redisReply *host, *port;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
        return false;
    host = reply->element[0];
    port = reply->element[1];
    return host->str && port->str &&
           redis_address_set(address, bytes_of(host->str, host->len),
                             strtol(port->str, NULL, 10)) == STATUS_OK;
}

static void on_address(struct redis_call *call, const redisReply *reply)
{
    struct redis_sentinel_link *l = CONTAINER_OF(call, struct redis_sentinel_link, address);

    if (!reply)
        return;
    if (l->word.epoch >= 0 && !read_address(reply, &l->word.master)) {
        complain(l, "an answer to SENTINEL GET-MASTER-ADDR-BY-NAME without address");
        l->word.epoch = -1;
    }
    if (l->word.epoch < 0) {
        say_silence(l);
        return;
    }
    redis_last_error_clear(&l->why);
    l->is_awaited = false;
    take_word(l->owner, l->number, &l->word);
}

static void on_asking_open(void *arg)
{
    ask(arg);
}

/* The link has put it in the log. */
static void on_away(void *arg)
{
    struct redis_sentinel_link *l = arg;

    snprintf(l->why.text, sizeof(l->why.text), "%s", redis_link_why(l->asking));
    l->is_lasting = redis_error_is_lasting(redis_link_reason(l->asking));
    say_silence(l);
}

static void on_asking_close(void *arg)
{
    struct redis_sentinel_link *l = arg;

    redis_link_reset(l->listening, "the connection that asks is lost");
    on_away(l);
}

/* ---- one Sentinel: listening ---- */

static void on_listening_open(void *arg)
{
    struct redis_sentinel_link *l = arg;

    redis_link_subscribe(l->listening, "+switch-master");
}

static void on_subscribed(void *arg)
{
    struct redis_sentinel_link *l = arg;

    redis_link_settled(l->listening);
}

/* "name old-host old-port host port". It has no epoch; so this is no more than a reason to ask.
 */
static void on_message(void *arg, struct bytes payload)
{
    struct redis_sentinel_link *l = arg;
    size_t len = strlen(l->master);

    if (payload.len > len && !memcmp(payload.at, l->master, len) && payload.at[len] == ' ')
        ask_all(l->owner);
}

/* ---- one Sentinel: its life ---- */

static void on_stopped(void *arg)
{
    struct redis_sentinel_link *l = arg;

    if (--l->running == 0)
        take_stop(l->owner);
}

static struct redis_link_options link_options(struct redis_sentinel_link *l,
                                              const struct redis_sentinel_options *options)
{
    return (struct redis_link_options){
        .name = l->name,
        .address = options->sentinels.list[l->number],
        .login = options->login,
        .timeout_ms = options->timeout_ms,
        .backoff_max_ms = options->backoff_max_ms,
        .on_stopped = on_stopped,
        .arg = l,
    };
}

static struct redis_link *make_asking(struct redis_sentinel_link *l,
                                      const struct redis_sentinel_options *options)
{
    struct redis_link_options link = link_options(l, options);

    link.on_open = on_asking_open;
    link.on_close = on_asking_close;
    link.on_failed = on_away;
    return redis_link_new(l->loop, &link);
}

/* The asking link logs why it is closed. */
static struct redis_link *make_listening(struct redis_sentinel_link *l,
                                         const struct redis_sentinel_options *options)
{
    struct redis_link_options link = link_options(l, options);

    link.is_quiet = true;
    link.on_open = on_listening_open;
    link.on_subscribed = on_subscribed;
    link.on_message = on_message;
    return redis_link_new(l->loop, &link);
}

/* `options` is borrowed for this call, but for its texts. */
static void init_link(struct redis_sentinel_link *l, struct loop *loop, unsigned number,
                      const struct redis_sentinel_options *options,
                      struct redis_sentinel *owner)
{
    char address[REDIS_ADDRESS_CHARS];

    *l = (struct redis_sentinel_link){.owner = owner,
                                      .number = number,
                                      .master = options->sentinels.master,
                                      .is_encrypted = options->login.tls != NULL,
                                      .loop = loop,
                                      .is_awaited = true};
    redis_address_print(&options->sentinels.list[number], address);
    snprintf(l->name, sizeof(l->name), "Sentinel %s", address);
    l->about.on_reply = on_about;
    l->address.on_reply = on_address;
    l->asking = make_asking(l, options);
    l->listening = make_listening(l, options);
}

/* ---- all of them ---- */

#define ASK_EVERY_MS  1000 /* where a `+switch-master` was not heard */
#define FIRST_WORD_MS 1000 /* how long the first word waits for others that agree */

struct redis_sentinel {
    struct redis_sentinel_options options;
    struct loop *loop;
    struct redis_sentinel_link links[REDIS_SENTINELS_MAX];
    struct redis_sentinel_view view;
    struct timer every;
    struct timer nobody; /* calls on_nobody in a later turn */
    bool is_asked;       /* on_master or on_nobody is owed */
    bool is_stopping;
    unsigned running; /* links, while stopping */
};

/* ---- nobody knows ---- */

/* Is on_nobody due: asked, and no answer still to come? */
static bool does_nobody_know(const struct redis_sentinel *s)
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

/* The Sentinel with the best reason: one that names another master, then one that is set up
 * wrongly. */
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

static const char *why_nobody(const struct redis_sentinel *s,
                              const struct redis_sentinel_link *who)
{
    if (!has_word(s, who->number))
        return who->why.text;
    if (s->view.said[who->number].word.epoch < s->view.believed.epoch)
        return "names a master from before the last failover, and no other can be asked";
    return "names a master that the others did not, and none of them can be asked";
}

static void on_nobody_timer(struct timer *timer)
{
    struct redis_sentinel *s = CONTAINER_OF(timer, struct redis_sentinel, nobody);
    const struct redis_sentinel_link *who;
    char why[640];

    if (!does_nobody_know(s))
        return;
    if (redis_sentinel_view_settle(&s->view, 0, now(s))) {
        tell_master(s);
        return;
    }
    who = who_tells(s);
    snprintf(why, sizeof(why), "%s: %s", who->name, why_nobody(s, who));
    s->is_asked = false;
    s->options.on_nobody(s->options.arg, why, is_lasting(s));
}

static void look_whether_nobody_knows(struct redis_sentinel *s)
{
    if (does_nobody_know(s))
        timer_arm(&s->loop->timers, &s->nobody, 0);
}

/* ---- what one of them says ---- */

/* A single entry is perhaps a name of several Sentinels: no other can say that its word is too
 * old. */
static bool is_alone(const struct redis_sentinel *s)
{
    return s->view.count == 1;
}

static void take_word(struct redis_sentinel *s, unsigned number,
                      const struct sentinel_word *word)
{
    bool is_believed;

    if (s->is_stopping)
        return;
    is_believed = redis_sentinel_view_hear(&s->view, number, word, now(s));
    /* A word of use: if the connection is lost, the next one comes at once. */
    if (!is_alone(s) || !redis_sentinel_view_differs(&s->view, number))
        redis_link_settled(s->links[number].asking);
    /* A single Sentinel with too old a word does not keep us from the known master. */
    if (is_believed || is_alone(s))
        tell_master(s);
    else
        look_whether_nobody_knows(s);
}

static void take_silence(struct redis_sentinel *s, unsigned number)
{
    redis_sentinel_view_forget(&s->view, number);
    look_whether_nobody_knows(s);
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
    /* The name may lead to another Sentinel, which knows more: it is looked up anew. */
    if (is_alone(s) && redis_sentinel_view_differs(&s->view, 0))
        redis_link_reset(s->links[0].asking, "names a master from before the last failover");
}

/* ---- asking ---- */

/* All that can be reached, and are not asked already. */
static void ask_all(struct redis_sentinel *s)
{
    for (unsigned i = 0; i < s->view.count; i++) {
        if (!s->links[i].is_awaited && redis_link_is_open(s->links[i].asking))
            ask(&s->links[i]);
    }
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
    look_whether_nobody_knows(s);
}

void redis_sentinel_used(struct redis_sentinel *s, bool is_used)
{
    redis_sentinel_view_used(&s->view, is_used, now(s));
}

/* ---- life ---- */

static void take_stop(struct redis_sentinel *s)
{
    if (--s->running == 0)
        s->options.on_stopped(s->options.arg);
}

struct redis_sentinel *redis_sentinel_new(struct loop *loop,
                                          const struct redis_sentinel_options *options)
{
    struct redis_sentinel *s = must(calloc(1, sizeof(*s)));

    s->options = *options;
    s->loop = loop;
    s->view.count = options->sentinels.count;
    timer_init(&s->every, on_every);
    timer_init(&s->nobody, on_nobody_timer);
    for (unsigned i = 0; i < s->view.count; i++)
        init_link(&s->links[i], loop, i, &s->options, s);
    return s;
}

void redis_sentinel_free(struct redis_sentinel *s)
{
    if (!s)
        return;
    assert(s->running == 0);
    for (unsigned i = 0; i < s->view.count; i++) {
        redis_link_free(s->links[i].asking);
        redis_link_free(s->links[i].listening);
    }
    free(s);
}

void redis_sentinel_start(struct redis_sentinel *s)
{
    timer_arm(&s->loop->timers, &s->every, ASK_EVERY_MS);
    for (unsigned i = 0; i < s->view.count; i++) {
        redis_link_start(s->links[i].asking);
        redis_link_start(s->links[i].listening);
    }
}

void redis_sentinel_stop(struct redis_sentinel *s)
{
    s->is_stopping = true;
    timer_disarm(&s->loop->timers, &s->every);
    timer_disarm(&s->loop->timers, &s->nobody);
    s->running = s->view.count;
    for (unsigned i = 0; i < s->view.count; i++) {
        s->links[i].running = 2;
        redis_link_stop(s->links[i].asking);
        redis_link_stop(s->links[i].listening);
    }
}
