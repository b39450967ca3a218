#include "node/queue/audit.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/queue/queue.h"

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
    struct suspected *s = must(malloc(sizeof(*s) + key_length(topic, id) + page.len));
    char *to;

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

/* ---- the log ---- */

#define REPAIR_LOG_LINES 20
#define REPAIR_LOG_MS    60000

void repair_log_init(struct repair_log *log)
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
