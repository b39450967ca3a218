#include "ha/vip/tests/vip_fixture.h"

#include <assert.h>
#include <string.h>

static struct fake_address *find(struct fake_net *n, const struct vip_address *a)
{
    size_t i = 0;

    while (i < n->addresses.count && strcmp(n->addresses.at[i].text, a->text) != 0)
        i++;
    assert(i < n->addresses.count);
    return &n->of[i];
}

bool fake_net_has(struct fake_net *n, const struct vip_address *a)
{
    return timers_now(n->timers) < find(n, a)->until_mono_ms;
}

static enum vip_put put(void *arg, const struct vip_address *a, const char **why)
{
    struct fake_address *f = find(arg, a);
    bool is_there = fake_net_has(arg, a);

    f->put++;
    if (f->broken) {
        *why = f->broken;
        return VIP_PUT_FAILED;
    }
    f->until_mono_ms =
        timers_now(((struct fake_net *)arg)->timers) + VIP_LIFETIME_S * INT64_C(1000);
    return is_there ? VIP_PUT_RENEWED : VIP_PUT_ADDED;
}

static void remove_it(void *arg, const struct vip_address *a)
{
    struct fake_address *f = find(arg, a);

    f->removed++;
    f->until_mono_ms = INT64_MIN;
}

static void announce(void *arg, const struct vip_address *a)
{
    struct fake_net *n = arg;
    struct fake_address *f = find(n, a);

    assert(f->announced < FAKE_NOTES_MAX);
    f->announced_mono_ms[f->announced++] = timers_now(n->timers);
}

static void probe(void *arg, const struct vip_address *a)
{
    find(arg, a)->probed++;
}

const struct vip_ops fake_net_ops = {
    .put = put, .remove = remove_it, .announce = announce, .probe = probe};
