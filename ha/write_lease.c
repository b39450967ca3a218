#include "ha/write_lease.h"

#include <assert.h>
#include <stddef.h>

void write_lease_begin(struct write_lease *l, int64_t session_ms)
{
    assert(session_ms > 0);
    *l = (struct write_lease){.session_ms = session_ms, .until_ms = INT64_MIN};
}

/* Where a new proof goes: a free place, or that of the oldest. */
static struct write_lease_proof *place_in(struct write_lease_ring *r)
{
    struct write_lease_proof *oldest = &r->kept[0];

    if (r->count < WRITE_LEASE_KEPT)
        return &r->kept[r->count++];
    for (unsigned i = 1; i < WRITE_LEASE_KEPT; i++) {
        if (r->kept[i].sent_ms < oldest->sent_ms)
            oldest = &r->kept[i];
    }
    return oldest;
}

/* To forget a proof is always safe. So of many at once one is kept: the ring then spans more
 * than half of T, whatever is sent. */
static void keep(struct write_lease_ring *r, struct write_lease_proof proof, int64_t apart_ms)
{
    for (unsigned i = 0; i < r->count; i++) {
        int64_t distance = proof.sent_ms - r->kept[i].sent_ms;

        if (distance > -apart_ms && distance < apart_ms)
            return;
    }
    *place_in(r) = proof;
}

/* The newest by sending that was acknowledged then at the latest, but for `other`; or NULL. */
static const struct write_lease_proof *newest(const struct write_lease_ring *r,
                                              int64_t acked_ms,
                                              const struct write_lease_proof *other)
{
    const struct write_lease_proof *best = NULL;

    for (unsigned i = 0; i < r->count; i++) {
        const struct write_lease_proof *p = &r->kept[i];

        if (p != other && p->acked_ms <= acked_ms && (!best || p->sent_ms > best->sent_ms))
            best = p;
    }
    return best;
}

/* What was proven stays proven, also when a proof is forgotten. */
static void prove(struct write_lease *l)
{
    int64_t t = l->session_ms, by_write, by_session, until;
    const struct write_lease_proof *w2 = newest(&l->writes, INT64_MAX, NULL);
    const struct write_lease_proof *w1 = w2 ? newest(&l->writes, w2->sent_ms, w2) : NULL;
    const struct write_lease_proof *u =
        w1 ? newest(&l->touches, w1->sent_ms - (t + 3) / 4, NULL) : NULL;

    if (!u)
        return;
    by_write = w2->sent_ms + write_lease_promise_ms(t);
    by_session = u->sent_ms + t * 95 / 100;
    until = by_write < by_session ? by_write : by_session;
    if (until > l->until_ms)
        l->until_ms = until;
}

static void touch(struct write_lease *l, struct write_lease_proof proof)
{
    assert(l->session_ms > 0 && proof.sent_ms <= proof.acked_ms);
    keep(&l->touches, proof, l->session_ms / 24);
}

void write_lease_touched(struct write_lease *l, int64_t sent_boot_ms, int64_t acked_boot_ms)
{
    touch(l, (struct write_lease_proof){sent_boot_ms, acked_boot_ms});
    prove(l);
}

void write_lease_written(struct write_lease *l, int64_t sent_boot_ms, int64_t acked_boot_ms)
{
    struct write_lease_proof proof = {sent_boot_ms, acked_boot_ms};

    touch(l, proof);
    *place_in(&l->writes) = proof; /* two close together are what a new leader begins with */
    prove(l);
}

void write_lease_void(struct write_lease *l)
{
    l->writes.count = 0;
    l->until_ms = INT64_MIN;
}

int64_t write_lease_until(const struct write_lease *l)
{
    return l->session_ms > 0 ? l->until_ms : INT64_MIN;
}

int64_t write_lease_beat_ms(const struct write_lease *l, int64_t now_boot_ms)
{
    int64_t until = write_lease_until(l);

    return until < now_boot_ms + l->session_ms / 4 ? l->session_ms / 12 : l->session_ms / 6;
}

int64_t write_lease_promise_ms(int64_t session_ms)
{
    return session_ms * 2 / 3;
}
