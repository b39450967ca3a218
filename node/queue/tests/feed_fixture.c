#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "node/queue/tests/feed_fixture.h"

struct fixture f;
struct consumer c;

int set_up(void **state)
{
    c = (struct consumer){0};
    fixture_start_active(&f, 4);
    return 0;
}

int tear_down(void **state)
{
    fixture_end(&f);
    return 0;
}

static void on_done(struct follow *follow)
{
    struct follower *w = CONTAINER_OF(follow, struct follower, follow);

    w->done++;
    w->count = follow->count;
    for (unsigned i = 0; i < follow->count && i < 16; i++) {
        const struct feed_item *h = &follow->items[i];

        w->seqs[i] = h->seq;
        snprintf(w->ids[i], sizeof(w->ids[i]), "%.*s", BYTES_ARG(h->id));
        snprintf(w->topic, sizeof(w->topic), "%.*s", BYTES_ARG(h->topic));
        snprintf(w->client, sizeof(w->client), "%.*s", BYTES_ARG(h->client));
        w->last = *h;
    }
    if (w->cancels)
        queue_follow_cancel(f.q, w->cancels);
}

void follow(struct follower *w, int64_t wait_ms)
{
    w->done = w->count = 0;
    w->follow.max = w->follow.max ? w->follow.max : 16;
    w->follow.wait_ms = wait_ms;
    w->follow.on_done = on_done;
    queue_follow(f.q, &w->follow);
    assert_int_equal(w->done, 0);
    fixture_turn(&f);
}

void follow_on(struct follower *w, int64_t wait_ms)
{
    w->follow.has_after = true;
    w->follow.after = w->follow.next;
    follow(w, wait_ms);
}

void hand_out(const char *topic, const char *id)
{
    push(&f, topic, id, 0, 60000);
    consume(&f, &c, topic, 1, 0);
    delivered(&f, &c);
    fixture_turn(&f);
}
