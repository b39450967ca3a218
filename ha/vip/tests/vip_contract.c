#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ha/vip/tests/vip_contract.h"

static enum vip_put put(const struct vip_contract *c)
{
    const char *why = NULL;
    enum vip_put done = c->ops->put(c->arg, c->address, &why);

    if (done == VIP_PUT_FAILED)
        assert_true(why && *why);
    return done;
}

/* A machine so slow that the lifetime ends meanwhile proves nothing. */
static void a_first_time_adds_it_and_a_second_renews_it(const struct vip_contract *c)
{
    int64_t since_ms;

    assert_int_equal(put(c), VIP_PUT_ADDED);
    for (unsigned i = 0; i < 3; i++) {
        enum vip_put done;

        since_ms = c->now_ms();
        assert_int_not_equal(put(c), VIP_PUT_FAILED);
        done = put(c);
        assert_true(done == VIP_PUT_RENEWED || c->now_ms() >= since_ms + VIP_LIFETIME_S * 900);
    }
}

static void what_was_removed_is_added_anew(const struct vip_contract *c)
{
    c->ops->remove(c->arg, c->address);
    assert_int_equal(put(c), VIP_PUT_ADDED);
}

static void
what_is_not_there_is_removed_and_announced_without_harm(const struct vip_contract *c)
{
    c->ops->remove(c->arg, c->address);
    c->ops->remove(c->arg, c->address);
    c->ops->announce(c->arg, c->address);
    c->ops->probe(c->arg, c->address);
    assert_int_equal(put(c), VIP_PUT_ADDED);
}

/* The kernel may be late, but never early. */
static void it_lasts_its_lifetime_and_not_for_ever(const struct vip_contract *c)
{
    unsigned left = 100;

    assert_int_not_equal(put(c), VIP_PUT_FAILED);
    do {
        assert_true(left-- > 0);
        c->wait_ms(VIP_LIFETIME_S * INT64_C(1000) + 200);
    } while (put(c) != VIP_PUT_ADDED);
}

static void what_cannot_be_put_fails_with_a_reason_until_it_can(const struct vip_contract *c)
{
    c->ops->remove(c->arg, c->address);
    c->set_broken(true);
    assert_int_equal(put(c), VIP_PUT_FAILED);
    assert_int_equal(put(c), VIP_PUT_FAILED);
    c->ops->announce(c->arg, c->address);
    c->ops->remove(c->arg, c->address);
    c->set_broken(false);
    assert_int_equal(put(c), VIP_PUT_ADDED);
}

void vip_contract_check(const struct vip_contract *c)
{
    a_first_time_adds_it_and_a_second_renews_it(c);
    what_was_removed_is_added_anew(c);
    what_is_not_there_is_removed_and_announced_without_harm(c);
    it_lasts_its_lifetime_and_not_for_ever(c);
    what_cannot_be_put_fails_with_a_reason_until_it_can(c);
    c->ops->remove(c->arg, c->address);
}
