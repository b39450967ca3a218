#include "node/queue/hints.h"

#include <stdlib.h>

#include "node/queue/core.h"
#include "node/queue/sharing.h"

static int64_t *new_memory(const struct hints *h)
{
    size_t count = (size_t)h->core->store->buckets * (h->are_shared ? SHARES : 1);
    int64_t *said_mono_ms = malloc(count * sizeof(*said_mono_ms));

    if (!said_mono_ms)
        abort();
    for (size_t i = 0; i < count; i++)
        said_mono_ms[i] = INT64_MIN;
    return said_mono_ms;
}

/* The longest that who is told rests; with shares that is another node, of another's options.
 */
static int64_t rest_ms(const struct hints *h)
{
    return h->are_shared ? SHARING_REST_MS : h->core->options.scan_interval_ms;
}

void hints_tell(struct hints *h, unsigned bucket, unsigned share, int64_t wait_ms)
{
    int64_t now_mono_ms = timers_now(h->core->timers), due_mono_ms = now_mono_ms + wait_ms;
    int64_t *said_mono_ms =
        &h->said_mono_ms[h->are_shared ? (size_t)bucket * SHARES + share : bucket];

    if (wait_ms >= rest_ms(h) || (*said_mono_ms > now_mono_ms && *said_mono_ms <= due_mono_ms))
        return;
    *said_mono_ms = due_mono_ms;
    store_hint(h->core->store, bucket, share, wait_ms);
}

void hints_share(struct hints *h)
{
    free(h->said_mono_ms);
    h->are_shared = true;
    h->said_mono_ms = new_memory(h);
}

void hints_init(struct hints *h, struct core *core)
{
    *h = (struct hints){.core = core};
    h->said_mono_ms = new_memory(h);
}

void hints_fini(struct hints *h)
{
    free(h->said_mono_ms);
}
