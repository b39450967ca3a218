/* Which of several Sentinels to believe, on a fake clock. */
#include "base/tests/unit.h"
#include "node/store/redis/topology/sentinel_view.h"

struct parley {
    struct redis_sentinel_view view;
    int64_t now_mono_ms;
};

static struct parley parley_of(unsigned count)
{
    return (struct parley){.view = {.count = count}, .now_mono_ms = 1000000};
}

/* Does it believe Sentinel `who` that says the master is this host, with this epoch? */
static bool hears(struct parley *p, unsigned who, const char *host, int64_t epoch)
{
    struct sentinel_word word = {.epoch = epoch};

    assert_int_equal(redis_address_parse(host, &word.master), STATUS_OK);
    return redis_sentinel_view_hear(&p->view, who, &word, p->now_mono_ms);
}

static void assert_believes(const struct parley *p, const char *host)
{
    assert_string_equal(p->view.believed.master.host, host);
}

static bool settles(struct parley *p, int64_t waited_ms)
{
    return redis_sentinel_view_settle(&p->view, waited_ms, p->now_mono_ms);
}

static bool reviews(struct parley *p)
{
    return redis_sentinel_view_review(&p->view, p->now_mono_ms);
}

static bool tells(struct parley *p, unsigned who)
{
    return redis_sentinel_view_tell(&p->view, who, p->now_mono_ms);
}

static void use(struct parley *p, bool is_used)
{
    redis_sentinel_view_used(&p->view, is_used, p->now_mono_ms);
}

/* Three of one mind. */
static struct parley parley_in_peace(void)
{
    struct parley p = parley_of(3);

    for (unsigned i = 0; i < 3; i++)
        hears(&p, i, "old", 1);
    assert_believes(&p, "old");
    return p;
}

/* Each says the same each second for so long; is another one believed then? */
static bool insist(struct parley *p, unsigned count, const char *const hosts[],
                   const int64_t epochs[], int64_t ms)
{
    bool is_other = false;

    for (int64_t end = p->now_mono_ms + ms; p->now_mono_ms < end; p->now_mono_ms += 1000) {
        for (unsigned i = 0; i < count; i++)
            hears(p, i, hosts[i], epochs[i]);
        is_other |= reviews(p);
    }
    return is_other;
}

/* ---- whom to believe ---- */

static void believes_the_first_that_more_than_half_name(void **state)
{
    struct parley p = parley_of(3);

    assert_false(hears(&p, 1, "old", 1));
    assert_false(hears(&p, 0, "new", 2));
    assert_true(hears(&p, 2, "old", 1));
    assert_believes(&p, "old");
}

/* Where so many do not answer. */
static void settles_for_the_best_there_is(void **state)
{
    struct parley p = parley_of(4);

    assert_false(settles(&p, 0));
    hears(&p, 1, "old", 1);
    assert_false(settles(&p, 1000));
    p.now_mono_ms += 1000;
    hears(&p, 2, "new", 2);
    assert_true(settles(&p, 1000));
    assert_believes(&p, "new");
    assert_false(settles(&p, 0));
}

static void settles_for_the_one_that_most_name(void **state)
{
    struct parley p = parley_of(5);

    hears(&p, 1, "foreign", 7);
    hears(&p, 2, "ours", 2);
    hears(&p, 3, "ours", 2);
    assert_true(settles(&p, 0));
    assert_believes(&p, "ours");
}

static void believes_the_same_again_and_a_failover(void **state)
{
    struct parley p = parley_in_peace();

    assert_true(hears(&p, 1, "old", 1));
    assert_true(hears(&p, 1, "new", 2));
    assert_believes(&p, "new");
}

static void does_not_believe_one_that_has_missed_the_failover(void **state)
{
    struct parley p = parley_in_peace();

    assert_true(hears(&p, 0, "new", 2));
    assert_false(hears(&p, 1, "old", 1));
    assert_false(hears(&p, 1, "old", 1)); /* however often it says so */
    assert_false(hears(&p, 1, "old", 2));
    assert_believes(&p, "new");
    assert_true(hears(&p, 1, "new", 2));
}

/* The one that led it knows first, and the others are more. */
static void a_failover_that_most_have_not_heard_of_is_one(void **state)
{
    struct parley p = parley_in_peace();

    assert_true(hears(&p, 0, "new", 2));
    assert_false(hears(&p, 1, "old", 1));
    assert_false(hears(&p, 2, "old", 1));
    assert_true(hears(&p, 0, "new", 2));
    assert_true(hears(&p, 1, "new", 2));
    assert_believes(&p, "new");
    assert_false(tells(&p, 2));
}

/* A node that starts beside one that is cut off is corrected by the next. */
static void what_few_have_said_is_corrected_by_anybody_with_a_higher_epoch(void **state)
{
    struct parley p = parley_of(3);

    hears(&p, 0, "old", 1);
    settles(&p, 0);
    assert_true(hears(&p, 1, "new", 2));
    assert_believes(&p, "new");
}

static void believes_more_than_half_of_all_that_were_set_up_anew(void **state)
{
    struct parley p = parley_of(4);

    hears(&p, 0, "before", 7);
    settles(&p, 0);
    assert_false(hears(&p, 0, "after", 0));
    assert_false(hears(&p, 1, "after", 0));
    assert_true(hears(&p, 2, "after", 0));
    assert_believes(&p, "after");
}

static void who_cannot_be_reached_says_nothing(void **state)
{
    struct parley p = parley_of(3);

    hears(&p, 0, "before", 7);
    settles(&p, 0);
    assert_false(hears(&p, 1, "after", 0));
    assert_false(hears(&p, 2, "after", 0)); /* number 0 says otherwise */
    redis_sentinel_view_forget(&p.view, 0);
    redis_sentinel_view_forget(&p.view, 1);
    assert_false(hears(&p, 2, "after", 0)); /* alone */
    assert_true(hears(&p, 1, "after", 0));
}

/* ---- one of them watches somebody else's master ---- */

static void one_that_never_agreed_does_not_lead(void **state)
{
    static const char *const hosts[] = {"ours", "ours", "foreign"};
    static const int64_t epochs[] = {0, 0, 7};
    struct parley p = parley_of(3);

    assert_false(hears(&p, 2, "foreign", 7));
    assert_false(insist(&p, 3, hosts, epochs, 30000));
    assert_believes(&p, "ours");
    redis_sentinel_view_forget(&p.view, 0);
    redis_sentinel_view_forget(&p.view, 1);
    assert_false(hears(&p, 2, "foreign", 8));
    assert_false(reviews(&p));
    assert_believes(&p, "ours");
}

static void who_never_agreed_is_told_once_for_each_master_it_names(void **state)
{
    struct parley p = parley_in_peace();

    p.view.said[2].has_agreed = false;
    hears(&p, 2, "foreign", 7);
    assert_true(tells(&p, 2));
    assert_false(tells(&p, 2));
    hears(&p, 2, "foreign", 8);
    assert_false(tells(&p, 2));
    hears(&p, 2, "another", 9);
    assert_true(tells(&p, 2));
    assert_false(tells(&p, 0));
}

static void more_than_half_can_be_led_by_those_who_never_agreed(void **state)
{
    struct parley p = parley_in_peace();

    p.view.said[1].has_agreed = p.view.said[2].has_agreed = false;
    assert_false(hears(&p, 1, "new", 2));
    assert_true(hears(&p, 2, "new", 2));
    assert_believes(&p, "new");
}

/* It was believed for a while, because it had agreed before. */
static void a_newer_word_that_the_others_deny_for_long_is_outvoted(void **state)
{
    static const char *const hosts[] = {"foreign", "old", "old"};
    static const int64_t epochs[] = {7, 1, 1};
    struct parley p = parley_in_peace();

    assert_false(insist(&p, 3, hosts, epochs, REDIS_SENTINEL_DOUBT_MS));
    assert_believes(&p, "foreign");
    assert_true(insist(&p, 3, hosts, epochs, 1000));
    assert_believes(&p, "old");
    assert_true(tells(&p, 0));
    assert_false(insist(&p, 3, hosts, epochs, 30000));
    assert_false(hears(&p, 0, "foreign", 8));
    assert_believes(&p, "old");
    assert_true(hears(&p, 0, "old", 1)); /* agrees again */
    assert_true(hears(&p, 0, "new", 9));
}

/* What was said before a long silence may be older than the failover. */
static void who_was_not_heard_does_not_deny(void **state)
{
    static const char *const hosts[] = {"new", "old", "old"};
    static const int64_t epochs[] = {2, 1, 1};
    struct parley p = parley_in_peace();

    insist(&p, 3, hosts, epochs, 2000);
    p.now_mono_ms += REDIS_SENTINEL_DOUBT_MS;
    assert_false(reviews(&p));
    assert_false(insist(&p, 3, hosts, epochs, 2000));
    assert_believes(&p, "new");
}

static void less_than_half_never_outvote(void **state)
{
    static const char *const hosts[] = {"new", "new", "old", "old"};
    static const int64_t epochs[] = {2, 2, 1, 1};
    struct parley p = parley_of(4);

    insist(&p, 4, hosts, epochs, 1000);
    assert_true(settles(&p, 0));
    assert_false(insist(&p, 4, hosts, epochs, 60000));
    assert_believes(&p, "new");
}

/* ---- one entry in the list ---- */

static void one_alone_leads(void **state)
{
    struct parley p = parley_of(1);

    assert_true(hears(&p, 0, "old", 1));
    assert_true(hears(&p, 0, "new", 2));
    assert_believes(&p, "new");
}

static void one_alone_does_not_lead_back_while_the_master_is_used(void **state)
{
    static const char *const hosts[] = {"old"};
    static const int64_t epochs[] = {4};
    struct parley p = parley_of(1);

    hears(&p, 0, "new", 5);
    use(&p, true);
    assert_false(insist(&p, 1, hosts, epochs, 60000));
    use(&p, false); /* for a moment */
    assert_false(insist(&p, 1, hosts, epochs, 2000));
    use(&p, true);
    assert_false(insist(&p, 1, hosts, epochs, 60000));
    assert_believes(&p, "new");
    assert_true(hears(&p, 0, "new", 5));
}

static void one_alone_leads_back_when_the_master_is_gone_for_long(void **state)
{
    static const char *const hosts[] = {"old"};
    static const int64_t epochs[] = {4};
    struct parley p = parley_of(1);

    hears(&p, 0, "new", 5);
    use(&p, true);
    p.now_mono_ms += 60000;
    use(&p, false);
    assert_false(insist(&p, 1, hosts, epochs, REDIS_SENTINEL_DOUBT_MS));
    assert_true(insist(&p, 1, hosts, epochs, 1000));
    assert_believes(&p, "old");
    assert_true(hears(&p, 0, "new", 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(believes_the_first_that_more_than_half_name),
        cmocka_unit_test(settles_for_the_best_there_is),
        cmocka_unit_test(settles_for_the_one_that_most_name),
        cmocka_unit_test(believes_the_same_again_and_a_failover),
        cmocka_unit_test(does_not_believe_one_that_has_missed_the_failover),
        cmocka_unit_test(a_failover_that_most_have_not_heard_of_is_one),
        cmocka_unit_test(what_few_have_said_is_corrected_by_anybody_with_a_higher_epoch),
        cmocka_unit_test(believes_more_than_half_of_all_that_were_set_up_anew),
        cmocka_unit_test(who_cannot_be_reached_says_nothing),
        cmocka_unit_test(one_that_never_agreed_does_not_lead),
        cmocka_unit_test(who_never_agreed_is_told_once_for_each_master_it_names),
        cmocka_unit_test(more_than_half_can_be_led_by_those_who_never_agreed),
        cmocka_unit_test(a_newer_word_that_the_others_deny_for_long_is_outvoted),
        cmocka_unit_test(who_was_not_heard_does_not_deny),
        cmocka_unit_test(less_than_half_never_outvote),
        cmocka_unit_test(one_alone_leads),
        cmocka_unit_test(one_alone_does_not_lead_back_while_the_master_is_used),
        cmocka_unit_test(one_alone_leads_back_when_the_master_is_gone_for_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
