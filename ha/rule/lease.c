#include "ha/rule/lease.h"

#include <assert.h>
#include <stddef.h>

void write_lease_begin(struct write_lease *l, int64_t session_ms)
{
    assert(session_ms > 0);
    *l = (struct write_lease){.session_ms = session_ms, .until_ms = INT64_MIN};
}

/* The slot for a new proof: a free one, or that of the oldest. */
static struct write_lease_proof *slot_in(struct write_lease_ring *r)
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

/* Forgetting a proof is always safe. Of proofs close together one is kept, so that the ring
 * spans more than half of T however often requests are sent. */
static void keep(struct write_lease_ring *r, struct write_lease_proof proof, int64_t apart_ms)
{
    for (unsigned i = 0; i < r->count; i++) {
        int64_t distance = proof.sent_ms - r->kept[i].sent_ms;

        if (distance > -apart_ms && distance < apart_ms)
            return;
    }
    *slot_in(r) = proof;
}

/* Of the proofs acknowledged by `acked_ms` the one that was sent last, or NULL. */
static const struct write_lease_proof *newest(const struct write_lease_ring *r,
                                              int64_t acked_ms)
{
    const struct write_lease_proof *best = NULL;

    for (unsigned i = 0; i < r->count; i++) {
        const struct write_lease_proof *p = &r->kept[i];

        if (p->acked_ms <= acked_ms && (!best || p->sent_ms > best->sent_ms))
            best = p;
    }
    return best;
}

/* The end of the lease that a write of this lead, sent at `w2_sent_ms`, proves; INT64_MIN:
 * none.
 */
static int64_t proven_by(const struct write_lease *l, int64_t w2_sent_ms)
{
    int64_t t = l->session_ms;
    const struct write_lease_proof *w1 = newest(&l->writes, w2_sent_ms - t / 12);
    const struct write_lease_proof *u =
        w1 ? newest(&l->touches, w1->sent_ms - (t + 3) / 4) : NULL;

    return u ? u->sent_ms + t * 95 / 100 : INT64_MIN;
}

/* A proven lease stays proven when its proofs are forgotten. */
static void prove(struct write_lease *l)
{
    const struct write_lease_proof *w2 = newest(&l->led, INT64_MAX);
    int64_t until = w2 ? proven_by(l, w2->sent_ms) : INT64_MIN;

    if (until > l->until_ms)
        l->until_ms = until;
}

static void add(struct write_lease *l, struct write_lease_ring *r, int64_t sent_ms,
                int64_t acked_ms)
{
    assert(l->session_ms > 0 && sent_ms <= acked_ms);
    keep(r, (struct write_lease_proof){sent_ms, acked_ms}, l->session_ms / 24);
}

void write_lease_touched(struct write_lease *l, int64_t sent_boot_ms, int64_t acked_boot_ms)
{
    add(l, &l->touches, sent_boot_ms, acked_boot_ms);
    prove(l);
}

void write_lease_written(struct write_lease *l, int64_t sent_boot_ms, int64_t acked_boot_ms)
{
    add(l, &l->touches, sent_boot_ms, acked_boot_ms);
    add(l, &l->writes, sent_boot_ms, acked_boot_ms);
    prove(l);
}

void write_lease_led(struct write_lease *l, int64_t sent_boot_ms, int64_t acked_boot_ms)
{
    add(l, &l->led, sent_boot_ms, acked_boot_ms);
    write_lease_written(l, sent_boot_ms, acked_boot_ms);
}

void write_lease_void(struct write_lease *l)
{
    l->led.count = 0;
    l->until_ms = INT64_MIN;
}

int64_t write_lease_until(const struct write_lease *l)
{
    return l->session_ms > 0 ? l->until_ms : INT64_MIN;
}

bool write_lease_would_be_proven(const struct write_lease *l, int64_t now_boot_ms)
{
    return proven_by(l, now_boot_ms) > now_boot_ms;
}

int64_t write_lease_next_beat_ms(const struct write_lease *l, int64_t sent_boot_ms,
                                 int64_t acked_boot_ms)
{
    int64_t t = l->session_ms, until = write_lease_until(l);
    bool is_short = until != INT64_MIN && until < acked_boot_ms + t / 4;
    int64_t by_send = sent_boot_ms + (is_short ? t / 12 : t / 6);
    int64_t by_ack = acked_boot_ms + t / 12;

    return by_send > by_ack ? by_send : by_ack;
}

int64_t write_lease_promise_ms(int64_t session_ms)
{
    return session_ms * 2 / 3;
}
