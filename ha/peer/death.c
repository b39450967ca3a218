#include "ha/peer/death.h"

#include <string.h>

#define PROBES          6
#define PROBE_FIRST_MS  5 /* doubled each time: 155 ms for all */
#define REFUSALS_NEEDED 2

static bool is_same(const struct peer_address *a, const struct peer_address *b)
{
    return a->len == b->len && !memcmp(&a->at, &b->at, (size_t)a->len);
}

void peer_watched_meet(struct peer_watched *w, uint64_t incarnation,
                       const struct peer_address *at)
{
    if (incarnation != w->incarnation)
        w->reported = (struct coord_credentials){0};
    w->incarnation = incarnation;
    w->home = *at;
    w->probes_left = 0;
}

bool peer_watched_is_replaced(const struct peer_watched *w, uint64_t incarnation,
                              const struct peer_address *at, bool is_heard)
{
    return w->incarnation && incarnation != w->incarnation && is_same(&w->home, at) &&
           !is_heard;
}

bool peer_watched_suspect(struct peer_watched *w, enum peer_end how)
{
    if (how != PEER_END_CLOSED || !w->reported.session)
        return false;
    w->probes_left = PROBES;
    w->refusals = 0;
    return true;
}

static enum peer_verdict judge(struct peer_watched *w, enum peer_end how, bool is_heard)
{
    w->refusals = how == PEER_END_REFUSED ? w->refusals + 1 : 0;
    if (how == PEER_END_FAILED || how == PEER_END_GARBAGE || how == PEER_END_STRANGE)
        return PEER_NOT_PROVEN;
    if (w->refusals >= REFUSALS_NEEDED && !is_heard)
        return PEER_DEAD;
    return --w->probes_left ? PEER_LOOK_AGAIN : PEER_NOT_PROVEN;
}

enum peer_verdict peer_watched_probed(struct peer_watched *w, enum peer_end how, bool is_heard)
{
    enum peer_verdict verdict = judge(w, how, is_heard);

    if (verdict != PEER_LOOK_AGAIN)
        w->probes_left = 0;
    return verdict;
}

int64_t peer_watched_wait_ms(const struct peer_watched *w)
{
    return (int64_t)PROBE_FIRST_MS << (PROBES - 1 - w->probes_left);
}
