#include "node/store/redis/sentinel_view.h"

static bool is_same(const struct sentinel_word *a, const struct sentinel_word *b)
{
    return a->epoch == b->epoch && redis_address_equal(&a->master, &b->master);
}

static unsigned count(const struct redis_sentinel_view *v, const struct sentinel_word *word)
{
    unsigned found = 0;

    for (unsigned i = 0; i < v->count; i++)
        found += is_same(&v->said[i], word);
    return found;
}

static bool is_newer(const struct redis_sentinel_view *v, const struct sentinel_word *word)
{
    return !*v->believed.master.host || word->epoch > v->believed.epoch;
}

static bool is_anew(const struct redis_sentinel_view *v, const struct sentinel_word *word)
{
    return count(v, word) > v->count / 2 && count(v, &v->believed) == 0;
}

bool redis_sentinel_view_hear(struct redis_sentinel_view *v, unsigned who,
                              const struct sentinel_word *word)
{
    v->said[who] = *word;
    if (!is_newer(v, word) && !is_same(word, &v->believed) && !is_anew(v, word))
        return false;
    v->believed = *word;
    return true;
}

void redis_sentinel_view_forget(struct redis_sentinel_view *v, unsigned who)
{
    v->said[who] = (struct sentinel_word){0};
}
