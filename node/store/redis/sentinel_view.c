#include "node/store/redis/sentinel_view.h"

static bool is_same(const struct sentinel_word *a, const struct sentinel_word *b)
{
    return a->epoch == b->epoch && redis_address_equal(&a->master, &b->master);
}

static bool says_most(const struct redis_sentinel_view *v, const struct sentinel_word *word)
{
    unsigned count = 0;

    for (unsigned i = 0; i < v->count; i++)
        count += is_same(&v->said[i], word);
    return count > v->count / 2;
}

bool redis_sentinel_view_hear(struct redis_sentinel_view *v, unsigned who,
                              const struct sentinel_word *word)
{
    bool is_first = !*v->believed.master.host;

    v->said[who] = *word;
    if (!is_first && word->epoch <= v->believed.epoch && !is_same(word, &v->believed) &&
        !says_most(v, word))
        return false;
    v->believed = *word;
    return true;
}

void redis_sentinel_view_forget(struct redis_sentinel_view *v, unsigned who)
{
    v->said[who] = (struct sentinel_word){0};
}
