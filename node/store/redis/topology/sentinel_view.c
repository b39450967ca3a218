#include "node/store/redis/topology/sentinel_view.h"

static bool is_same(const struct sentinel_word *a, const struct sentinel_word *b)
{
    return a->epoch == b->epoch && redis_address_equal(&a->master, &b->master);
}

static bool is_silent(const struct redis_sentinel_view *v, unsigned who)
{
    return !*v->said[who].word.master.host;
}

static bool believes_nothing(const struct redis_sentinel_view *v)
{
    return !*v->believed.master.host;
}

static bool is_most(const struct redis_sentinel_view *v, unsigned count)
{
    return count > v->count / 2;
}

static unsigned count(const struct redis_sentinel_view *v, const struct sentinel_word *word)
{
    unsigned found = 0;

    for (unsigned i = 0; i < v->count; i++)
        found += is_same(&v->said[i].word, word);
    return found;
}

static void believe(struct redis_sentinel_view *v, const struct sentinel_word *word,
                    int64_t now_mono_ms)
{
    if (!redis_address_equal(&v->believed.master, &word->master))
        v->believed_mono_ms = now_mono_ms;
    v->believed = *word;
}

bool redis_sentinel_view_differs(const struct redis_sentinel_view *v, unsigned who)
{
    return !believes_nothing(v) && !is_silent(v, who) &&
           !redis_address_equal(&v->said[who].word.master, &v->believed.master);
}

static void note_who_agrees(struct redis_sentinel_view *v)
{
    unsigned agreed = 0;

    if (believes_nothing(v))
        return;
    for (unsigned i = 0; i < v->count; i++) {
        bool is_agreed = !is_silent(v, i) && !redis_sentinel_view_differs(v, i);

        v->said[i].has_agreed |= is_agreed;
        agreed += is_agreed;
    }
    v->is_confirmed |= is_most(v, agreed);
}

/* ---- what one of them says ---- */

static bool may_lead(const struct redis_sentinel_view *v, unsigned who)
{
    return v->said[who].has_agreed || !v->is_confirmed;
}

static bool is_credible(const struct redis_sentinel_view *v, unsigned who)
{
    const struct sentinel_word *word = &v->said[who].word;
    bool is_of_most = is_most(v, count(v, word));

    if (is_same(word, &v->believed))
        return true;
    if (believes_nothing(v))
        return is_of_most;
    if (word->epoch > v->believed.epoch)
        return is_of_most || may_lead(v, who);
    return is_of_most && v->count > 1 && count(v, &v->believed) == 0;
}

static void note_word(struct sentinel_said *said, const struct sentinel_word *word,
                      int64_t now_mono_ms)
{
    bool is_other = !redis_address_equal(&said->word.master, &word->master);

    if (is_other || now_mono_ms - said->heard_mono_ms > REDIS_SENTINEL_FRESH_MS)
        said->since_mono_ms = now_mono_ms;
    if (is_other)
        said->is_reported = false;
    said->heard_mono_ms = now_mono_ms;
    said->word = *word;
}

bool redis_sentinel_view_hear(struct redis_sentinel_view *v, unsigned who,
                              const struct sentinel_word *word, int64_t now_mono_ms)
{
    bool is_believed;

    note_word(&v->said[who], word, now_mono_ms);
    is_believed = is_credible(v, who);
    if (is_believed)
        believe(v, word, now_mono_ms);
    note_who_agrees(v);
    return is_believed;
}

void redis_sentinel_view_forget(struct redis_sentinel_view *v, unsigned who)
{
    v->said[who].word = (struct sentinel_word){0};
}

/* ---- the first word ---- */

static bool is_better(const struct redis_sentinel_view *v, const struct sentinel_word *a,
                      const struct sentinel_word *b)
{
    unsigned of_a = count(v, a), of_b = count(v, b);

    return of_a != of_b ? of_a > of_b : a->epoch > b->epoch;
}

bool redis_sentinel_view_settle(struct redis_sentinel_view *v, int64_t waited_ms,
                                int64_t now_mono_ms)
{
    const struct sentinel_word *best = NULL;
    bool is_time = false;

    for (unsigned i = 0; i < v->count; i++) {
        if (is_silent(v, i))
            continue;
        is_time |= now_mono_ms - v->said[i].since_mono_ms >= waited_ms;
        if (!best || is_better(v, &v->said[i].word, best))
            best = &v->said[i].word;
    }
    if (!is_time || !believes_nothing(v))
        return false;
    believe(v, best, now_mono_ms);
    note_who_agrees(v);
    return true;
}

/* ---- contradiction that lasts ---- */

/* A single entry is asked on a new connection each second: `since` says nothing then. */
static bool is_contradiction(const struct redis_sentinel_view *v, unsigned who,
                             int64_t now_mono_ms)
{
    const struct sentinel_said *said = &v->said[who];
    int64_t since = v->count > 1 ? said->since_mono_ms : v->unused_mono_ms;

    if (since < v->believed_mono_ms)
        since = v->believed_mono_ms;
    return redis_sentinel_view_differs(v, who) &&
           now_mono_ms - said->heard_mono_ms <= REDIS_SENTINEL_FRESH_MS &&
           now_mono_ms - since >= REDIS_SENTINEL_DOUBT_MS;
}

static bool is_of_most_who_contradict(const struct redis_sentinel_view *v, unsigned who,
                                      int64_t now_mono_ms)
{
    unsigned found = 0;

    for (unsigned i = 0; i < v->count; i++)
        found += is_contradiction(v, i, now_mono_ms) &&
                 redis_address_equal(&v->said[i].word.master, &v->said[who].word.master);
    return is_most(v, found);
}

/* The contradiction with the highest epoch; NULL: none. */
static const struct sentinel_word *find_contradiction(const struct redis_sentinel_view *v,
                                                      int64_t now_mono_ms)
{
    const struct sentinel_word *found = NULL;

    for (unsigned i = 0; i < v->count; i++) {
        if (is_of_most_who_contradict(v, i, now_mono_ms) &&
            (!found || v->said[i].word.epoch > found->epoch))
            found = &v->said[i].word;
    }
    return found;
}

static void outvote(struct redis_sentinel_view *v)
{
    for (unsigned i = 0; i < v->count; i++) {
        if (redis_sentinel_view_differs(v, i))
            v->said[i].has_agreed = false;
    }
    v->is_confirmed = true;
}

bool redis_sentinel_view_review(struct redis_sentinel_view *v, int64_t now_mono_ms)
{
    const struct sentinel_word *word = NULL;

    if (v->count > 1 || !v->is_used)
        word = find_contradiction(v, now_mono_ms);
    if (!word)
        return false;
    believe(v, word, now_mono_ms);
    outvote(v);
    note_who_agrees(v);
    return true;
}

void redis_sentinel_view_used(struct redis_sentinel_view *v, bool is_used, int64_t now_mono_ms)
{
    if (v->is_used && !is_used)
        v->unused_mono_ms = now_mono_ms;
    v->is_used = is_used;
}

bool redis_sentinel_view_tell(struct redis_sentinel_view *v, unsigned who, int64_t now_mono_ms)
{
    struct sentinel_said *said = &v->said[who];

    if (said->is_reported || !redis_sentinel_view_differs(v, who))
        return false;
    said->is_reported = !may_lead(v, who) || is_contradiction(v, who, now_mono_ms);
    return said->is_reported;
}
