#include "node/queue/suspects.h"

#include "node/queue/names.h"
#include "node/queue/text.h"

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
