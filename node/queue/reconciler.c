#include "node/queue/reconciler.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/queue/audit_steps.h"
#include "node/queue/core.h"
#include "node/queue/queue.h"
#include "base/bytes.h"

#define REPAIR_LOG_LINES 20
#define REPAIR_LOG_MS    60000

static void repair_log_init(struct repair_log *log)
{
    *log = (struct repair_log){.since_mono_ms = -REPAIR_LOG_MS};
}

void repair_log_tick(struct repair_log *log, int64_t now_mono_ms)
{
    if (now_mono_ms - log->since_mono_ms < REPAIR_LOG_MS)
        return;
    if (log->unsaid > 0)
        LOG_WARN("reconciler", "repaired %u more that are not named here", log->unsaid);
    *log = (struct repair_log){.since_mono_ms = now_mono_ms};
}

void repair_log_say(struct repair_log *log, struct bytes topic, struct bytes id,
                    enum damage damage, int64_t now_mono_ms)
{
    repair_log_tick(log, now_mono_ms);
    if (log->said >= REPAIR_LOG_LINES) {
        log->unsaid++;
        return;
    }
    log->said++;
    if (id.len)
        LOG_WARN("reconciler", "repaired job %.*s of topic %.*s: %s", BYTES_ARG(id),
                 BYTES_ARG(topic), damage_word(damage));
    else
        LOG_WARN("reconciler", "repaired topic %.*s: %s", BYTES_ARG(topic),
                 damage_word(damage));
}

/* ---- walk ---- */

#define MET_BITS (1u << 21) /* 256 KB; of 100,000 topics about one in forty is left out */

/* ---- what was met ---- */

/* FNV-1a, begun with the seed. */
static uint64_t hash(const struct walk *w, struct bytes topic)
{
    uint64_t value = UINT64_C(14695981039346656037) ^ w->seed;

    for (size_t i = 0; i < topic.len; i++)
        value = (value ^ (uint8_t)topic.at[i]) * UINT64_C(1099511628211);
    return value ^ value >> 32;
}

/* For the first time? */
static bool meet(struct walk *w, struct bytes topic)
{
    unsigned bit = (unsigned)(hash(w, topic) % MET_BITS);
    uint8_t mask = (uint8_t)(1u << bit % 8);
    bool is_met = w->met[bit / 8] & mask;

    w->met[bit / 8] |= mask;
    return !is_met;
}

static void forget_met(struct walk *w)
{
    free(w->met);
    w->met = NULL;
    w->seed = (w->seed + 1) * UINT64_C(6364136223846793005);
}

/* ---- pages ---- */

static void drop_names(struct walk *w)
{
    free(w->names);
    w->names = NULL;
    w->names_len = w->names_at = 0;
}

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void add_name(struct walk *w, struct bytes topic)
{
    if (!topic_name_is_valid(topic) || !meet(w, topic))
        return;
    w->names[w->names_len++] = (char)(uint8_t)topic.len;
    memcpy(w->names + w->names_len, topic.at, topic.len);
    w->names_len += topic.len;
}

static size_t length_of_names(const struct op *places)
{
    size_t len = 1;

    for (unsigned i = 0; i < places->out.places.count; i++)
        len += 1 + places->out.places.rows[i].topic.len;
    return len;
}

struct bytes walk_after(const struct walk *w)
{
    return bytes_of(w->after, w->after_len);
}

void walk_take_page(struct walk *w, const struct op *places)
{
    struct bytes next = places->out.places.next;

    drop_names(w);
    if (!w->met)
        w->met = must(calloc(MET_BITS / 8, 1));
    w->names = must(malloc(length_of_names(places)));
    for (unsigned i = 0; i < places->out.places.count; i++)
        add_name(w, places->out.places.rows[i].topic);
    w->next_len = next.len <= sizeof(w->next) ? next.len : 0;
    if (w->next_len)
        memcpy(w->next, next.at, next.len);
}

bool walk_next_topic(struct walk *w, struct bytes *topic)
{
    if (w->names_at >= w->names_len)
        return false;
    topic->len = (uint8_t)w->names[w->names_at];
    topic->at = w->names + w->names_at + 1;
    w->names_at += 1 + topic->len;
    return true;
}

bool walk_turn_page(struct walk *w)
{
    if (w->next_len == 0) {
        walk_begin_anew(w);
        return false;
    }
    drop_names(w);
    memcpy(w->after, w->next, w->next_len);
    w->after_len = w->next_len;
    w->next_len = 0;
    return true;
}

void walk_begin_anew(struct walk *w)
{
    walk_pause(w);
    w->after_len = 0;
}

void walk_pause(struct walk *w)
{
    drop_names(w);
    forget_met(w);
    w->next_len = 0;
}

void walk_init(struct walk *w)
{
    *w = (struct walk){0};
}

/* ---- suspects ---- */

#define KEY_MAX (NAME_MAX_BYTES + 1 + SUSPECT_ID_MAX)

/* No topic has a line end in its name. */
static size_t key_length(struct bytes topic, struct bytes id)
{
    return topic.len + 1 + id.len;
}

static struct suspected *find(const struct suspects *ss, struct bytes topic, struct bytes id)
{
    char key[KEY_MAX], *to = key;
    struct suspected *s;

    text_put(&to, topic);
    text_put(&to, BYTES("\n"));
    text_put(&to, id);
    HASH_FIND(hh, ss->by_name, key, key_length(topic, id), s);
    return s;
}

static struct suspected *suspected_new(struct bytes topic, struct bytes id, struct bytes page)
{
    struct suspected *s = malloc(sizeof(*s) + key_length(topic, id) + page.len);
    char *to;

    if (!s)
        abort();
    to = s->text;
    s->is_sure = false;
    s->topic = text_put(&to, topic);
    text_put(&to, BYTES("\n"));
    s->id = text_put(&to, id);
    s->page = text_put(&to, page);
    list_init(&s->link);
    return s;
}

static bool make_room(struct suspects *ss)
{
    struct list *faint = list_first(&ss->faint);

    if (HASH_COUNT(ss->by_name) < SUSPECTS_MAX)
        return true;
    if (!faint)
        return false;
    suspects_forget(ss, CONTAINER_OF(faint, struct suspected, link));
    return true;
}

static void see_again(struct suspects *ss, struct suspected *s, int64_t now_mono_ms)
{
    if (s->is_sure || now_mono_ms - s->seen_mono_ms < SUSPECTS_REST_MS)
        return;
    s->is_sure = true;
    list_remove(&s->link);
    if (s->id.len > 0)
        list_prepend(&ss->sure, &s->link);
    else
        list_append(&ss->sure, &s->link);
}

bool suspects_see(struct suspects *ss, struct bytes topic, struct bytes id, struct bytes page,
                  int64_t now_mono_ms)
{
    struct suspected *s;

    if (topic.len > NAME_MAX_BYTES || id.len > SUSPECT_ID_MAX)
        return false;
    s = find(ss, topic, id);
    if (s) {
        see_again(ss, s, now_mono_ms);
        return false;
    }
    if (!make_room(ss))
        return false;
    s = suspected_new(topic, id, page);
    s->seen_mono_ms = now_mono_ms;
    HASH_ADD(hh, ss->by_name, text, key_length(topic, id), s);
    list_append(&ss->fresh, &s->link);
    return true;
}

static struct suspected *first_of(const struct list *head)
{
    return list_is_empty(head) ? NULL : CONTAINER_OF(head->next, struct suspected, link);
}

int64_t suspects_wait_ms(const struct suspects *ss, int64_t now_mono_ms)
{
    const struct suspected *s = first_of(&ss->fresh);
    int64_t wait_ms = s ? s->seen_mono_ms + SUSPECTS_REST_MS - now_mono_ms : -1;

    return s && wait_ms < 0 ? 0 : wait_ms;
}

struct suspected *suspects_find_rested(struct suspects *ss, int64_t now_mono_ms)
{
    return suspects_wait_ms(ss, now_mono_ms) == 0 ? first_of(&ss->fresh) : NULL;
}

struct suspected *suspects_find_sure(struct suspects *ss)
{
    return first_of(&ss->sure);
}

void suspects_doubt(struct suspects *ss, struct suspected *s)
{
    list_remove(&s->link);
    list_append(&ss->faint, &s->link);
}

void suspects_forget(struct suspects *ss, struct suspected *s)
{
    HASH_DEL(ss->by_name, s);
    list_remove(&s->link);
    free(s);
}

void suspects_clear(struct suspects *ss)
{
    struct suspected *s, *next;

    HASH_ITER (hh, ss->by_name, s, next)
        suspects_forget(ss, s);
}

void suspects_init(struct suspects *ss)
{
    *ss = (struct suspects){0};
    list_init(&ss->fresh);
    list_init(&ss->faint);
    list_init(&ss->sure);
}

/* ---- reconciler ---- */

#define FAIL_MS        1000  /* rest after a failure */
#define LEAVE_MS       1     /* rest after a bucket that is out of reach */
#define REST_MAX_MS    10000 /* however busy the store is */
#define BUSY_FACTOR    4     /* so many times what an answer took */
#define LIMITING_WALKS 2     /* what is left of this one, and a whole one */

static int64_t now_of(const struct reconciler *r)
{
    return timers_now(r->core->timers);
}

/* ---- states ---- */

static const char *const state_words[RECONCILER_STATE_COUNT] = {
    [RECONCILER_OFF] = "OFF",
    [RECONCILER_RESTING] = "RESTING",
    [RECONCILER_NAMING] = "NAMING",
    [RECONCILER_LOOKING] = "LOOKING",
    [RECONCILER_LOOKING_AGAIN] = "LOOKING_AGAIN",
    [RECONCILER_MENDING] = "MENDING",
    [RECONCILER_LIMITING] = "LIMITING",
    [RECONCILER_LEAVING] = "LEAVING",
};

static void forget(struct reconciler *r)
{
    suspects_clear(&r->suspects);
    walk_pause(&r->walk);
    r->suspect = NULL;
    r->topic = BYTES("");
    r->page_len = 0;
    r->is_limited = false;
}

static void enter(struct reconciler *r, enum reconciler_state state)
{
    if (r->state == RECONCILER_OFF || state == RECONCILER_OFF)
        LOG_DEBUG("reconciler", "%s -> %s", state_words[r->state], state_words[state]);
    r->state = state;
    if (state == RECONCILER_OFF)
        forget(r);
    assert((state == RECONCILER_RESTING) == timer_is_armed(&r->rest));
}

static bool may_work(const struct reconciler *r)
{
    return r->is_active && r->is_store_up && !r->is_closing && r->core->options.audit_rate > 0;
}

static void rest(struct reconciler *r, int64_t ms)
{
    timer_arm(r->core->timers, &r->rest, ms);
    enter(r, RECONCILER_RESTING);
}

/* Whether the reconciler may work has perhaps changed. */
static void reconsider(struct reconciler *r)
{
    if (r->state == RECONCILER_OFF) {
        if (may_work(r))
            rest(r, RECONCILER_START_MS);
    } else if (may_work(r)) {
        return;
    } else if (r->state == RECONCILER_RESTING) {
        timer_disarm(r->core->timers, &r->rest);
        enter(r, RECONCILER_OFF);
    } else {
        enter(r, RECONCILER_LEAVING);
    }
}

/* ---- which step is next ---- */

static void on_done(struct op *op);

/* Only the read of topics' names is of no bucket. */
static bool is_out_of_reach(const struct reconciler *r)
{
    return r->op.verb != OP_PLACES && core_is_away(r->core, r->op.bucket);
}

static void make_step(struct reconciler *r, enum reconciler_state state)
{
    r->op = (struct op){.on_done = on_done};
    audit_steps[state].ask(r);
    if (is_out_of_reach(r)) {
        audit_steps[state].leave(r);
        rest(r, LEAVE_MS);
        return;
    }
    if (op_leads(&r->op) && !core_may_act(r->core)) {
        rest(r, FAIL_MS);
        return;
    }
    r->op.token = r->core->token;
    enter(r, state);
    core_send(r->core, &r->op);
}

/* Does the configuration limit the topic's dead? */
static bool has_limits(const struct reconciler *r)
{
    const struct queue_options *options = &r->core->options;
    struct topic_settings limits = {0};

    for (unsigned i = 0; i < options->rule_count; i++) {
        if (settings_rule_matches(&options->rules[i], r->topic))
            settings_fill(&limits, &options->rules[i].settings);
    }
    return limits.dead_max > 0 || limits.dead_age_ms > 0;
}

static int64_t sooner(int64_t a_ms, int64_t b_ms)
{
    return b_ms >= 0 && b_ms < a_ms ? b_ms : a_ms;
}

static void walk_on(struct reconciler *r)
{
    int64_t wait_ms = r->walk_at_mono_ms - now_of(r);

    if (r->topic.len > 0 && r->limiting_walks > 0 && !r->is_limited && has_limits(r))
        make_step(r, RECONCILER_LIMITING);
    else if (r->topic.len > 0)
        make_step(r, RECONCILER_LOOKING);
    else if (wait_ms > 0)
        rest(r, sooner(wait_ms, suspects_wait_ms(&r->suspects, now_of(r))));
    else
        make_step(r, RECONCILER_NAMING);
}

static void on_rested(struct timer *timer)
{
    struct reconciler *r = CONTAINER_OF(timer, struct reconciler, rest);
    struct suspected *sure = suspects_find_sure(&r->suspects);
    struct suspected *rested = suspects_find_rested(&r->suspects, now_of(r));

    r->suspect = sure ? sure : rested;
    if (sure)
        make_step(r, RECONCILER_MENDING);
    else if (rested)
        make_step(r, RECONCILER_LOOKING_AGAIN);
    else
        walk_on(r);
}

/* ---- its answer, and the rest behind it ---- */

static int64_t rest_ms(const struct reconciler *r, unsigned cost)
{
    int64_t rate = r->core->options.audit_rate;
    int64_t by_rate_ms = ((int64_t)cost * 1000 + rate - 1) / rate;
    int64_t by_load_ms = BUSY_FACTOR * (now_of(r) - r->op.sent_mono_ms);

    by_load_ms = by_load_ms < REST_MAX_MS ? by_load_ms : REST_MAX_MS;
    return by_rate_ms > by_load_ms ? by_rate_ms : by_load_ms;
}

static void fail(struct reconciler *r)
{
    enum status status = r->op.status;

    LOG_DEBUG("reconciler", "%s: %s", op_word(r->op.verb), status_text(status));
    if (status != STATUS_UNAVAILABLE && !status_is_unknown(status))
        audit_steps[r->state].leave(r);
    rest(r, FAIL_MS);
}

/* Only while nothing is on its way: an operation borrows from the walk. */
static void begin_anew(struct reconciler *r)
{
    forget(r);
    walk_begin_anew(&r->walk);
    r->walk_at_mono_ms = now_of(r);
    r->is_to_begin_anew = false;
    if (r->state != RECONCILER_RESTING)
        return;
    timer_disarm(r->core->timers, &r->rest);
    rest(r, 0);
}

static void go_on(struct reconciler *r)
{
    struct op *op = &r->op;

    if (!may_work(r))
        enter(r, RECONCILER_OFF);
    else if (r->state == RECONCILER_LEAVING)
        rest(r, RECONCILER_START_MS);
    else if (op->status != STATUS_OK)
        fail(r);
    else
        rest(r, rest_ms(r, audit_steps[r->state].take(r)));
}

static void on_done(struct op *op)
{
    struct reconciler *r = CONTAINER_OF(op, struct reconciler, op);

    go_on(r);
    if (r->is_to_begin_anew)
        begin_anew(r);
}

/* ---- what the queue calls ---- */

void reconciler_set_active(struct reconciler *r, bool is_active)
{
    r->is_active = is_active;
    if (is_active)
        r->limiting_walks = LIMITING_WALKS;
    reconsider(r);
}

void reconciler_set_store(struct reconciler *r, bool is_up)
{
    r->is_store_up = is_up;
    reconsider(r);
}

void reconciler_begin_anew(struct reconciler *r)
{
    if (r->state == RECONCILER_OFF || r->state == RECONCILER_RESTING)
        begin_anew(r);
    else
        r->is_to_begin_anew = true;
}

void reconciler_reload(struct reconciler *r)
{
    r->limiting_walks = LIMITING_WALKS;
    reconsider(r);
}

void reconciler_close(struct reconciler *r)
{
    r->is_closing = true;
    reconsider(r);
}

void reconciler_init(struct reconciler *r, struct core *core)
{
    *r = (struct reconciler){.core = core};
    repair_log_init(&r->log);
    walk_init(&r->walk);
    suspects_init(&r->suspects);
    timer_init(&r->rest, on_rested);
}

void reconciler_fini(struct reconciler *r)
{
    reconciler_close(r);
    assert(r->state == RECONCILER_OFF);
}
