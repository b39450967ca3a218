/* A node's registry beside a store whose identities others change, and which loses them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "node/queue/tests/fixtures/queue_fixture.h"
#include "protocol/access/access.h"
#include "protocol/access/registry.h"
#include "protocol/access/role.h"

/* A node: its queue on the store, and its registry. */
struct node {
    struct fixture f;
    struct access *access;
    struct registry registry;
    unsigned changes; /* on_changed was called so often */
};

static void on_changed(void *arg)
{
    ((struct node *)arg)->changes++;
}

static void begin(struct node *n)
{
    n->access = access_new();
    n->registry = (struct registry){.access = n->access,
                                    .queue = n->f.q,
                                    .timers = &n->f.timers,
                                    .on_changed = on_changed,
                                    .arg = n};
    registry_init(&n->registry);
}

static void end(struct node *n)
{
    registry_close(&n->registry);
    fixture_stop(&n->f);
    fixture_turn(&n->f);
    registry_fini(&n->registry);
    access_free(n->access);
    fixture_end(&n->f);
}

static void turn(struct node *nodes, unsigned count)
{
    for (unsigned i = 0; i < 2 * count; i++)
        fixture_advance(&nodes[i % count].f, REGISTRY_HEARD_MS);
}

/* Two nodes on one store, which both act by, and for long enough. */
static int set_up(void **state)
{
    static const struct log_options quiet = {.level = LEVEL_ERROR + 1, .modules = ""};
    struct node *n = calloc(2, sizeof(*n));

    assert_int_equal(log_configure(&quiet), STATUS_OK);
    fixture_start(&n[0].f, 4);
    fixture_join(&n[1].f, &n[0].f);
    for (unsigned i = 0; i < 2; i++) {
        begin(&n[i]);
        fixture_turn(&n[i].f);
        registry_use_redis(&n[i].registry, true);
    }
    turn(n, 2);
    for (unsigned i = 0; i < 2; i++)
        fixture_advance(&n[i].f, REGISTRY_SETTLE_MS);
    *state = n;
    return 0;
}

static int tear_down(void **state)
{
    struct node *n = *state;

    end(&n[1]);
    end(&n[0]);
    free(n);
    return 0;
}

/* ---- changes, as the API makes them ---- */

struct change {
    struct op op;
    struct registry_change room;
    struct registry *registry;
    bool is_done;
    enum status status;
    int64_t version;
};

static void on_done(struct op *op)
{
    struct change *c = CONTAINER_OF(op, struct change, op);

    if (op->status == STATUS_OK)
        registry_note(c->registry, op);

    c->is_done = true;
    c->status = op->status;
    c->version = op->out.identify.version;
}

/* `line`: "" revokes. */
static enum status change(struct node *n, const char *name, const char *line, int64_t expected,
                          int64_t *version)
{
    struct change c = {.registry = &n->registry};
    struct buf why = BUF_INIT;
    enum status status = registry_prepare(&n->registry, bytes_of_text(name),
                                          bytes_of_text(line), expected, &c.room, &c.op, &why);

    assert_int_equal(status != STATUS_OK, why.len > 0);
    if (status == STATUS_OK) {
        c.op.on_done = on_done;
        queue_submit(n->f.q, &c.op);
        fixture_turn(&n->f);
        assert_true(c.is_done);
        status = c.status;
        *version = c.version;
    }
    registry_change_fini(&c.room);
    buf_fini(&why);
    return status;
}

static int64_t put(struct node *n, const char *name, const char *line)
{
    int64_t version = 0;

    assert_int_equal(change(n, name, line, -1, &version), STATUS_OK);
    return version;
}

static bool has(const struct node *n, const char *name)
{
    return access_of_name(n->access, bytes_of_text(name), 0) != NULL;
}

/* ---- tests ---- */

static void everybody_is_shut_out_where_redis_has_nobody(void **state)
{
    struct node *n = *state;

    assert_true(access_is_on(n->access));
    assert_false(access_is_incomplete(n->access));
    assert_int_equal(access_count(n->access), 0);
    assert_null(registry_trouble(&n->registry));
}

static void a_change_is_known_to_all_nodes_at_once(void **state)
{
    struct node *n = *state;
    unsigned before = n[1].changes;
    int64_t first = put(&n[0], "shop", "shop produce topics=a");

    turn(n, 2);
    assert_true(has(&n[0], "shop") && has(&n[1], "shop"));
    assert_int_equal(n[1].changes, before + 1);
    assert_true(put(&n[1], "shop", "") > first);
    turn(n, 2);
    assert_false(has(&n[0], "shop") || has(&n[1], "shop"));
}

static void who_makes_a_change_acts_by_it_when_it_is_confirmed(void **state)
{
    struct node *n = *state;
    struct buf why = BUF_INIT;
    struct registry_change room = {0};
    struct op op = {0};

    assert_int_equal(registry_prepare(&n->registry, BYTES("shop"), BYTES("shop produce"), -1,
                                      &room, &op, &why),
                     STATUS_OK);
    op.out.identify.version = 1;
    registry_note(&n->registry, &op);
    assert_true(has(n, "shop"));
    assert_null(copy_ahead(&n->registry.copy));
    registry_change_fini(&room);
    buf_fini(&why);
}

static void nothing_is_done_while_nothing_changes(void **state)
{
    struct node *n = *state;
    unsigned before = n->changes;

    fixture_advance(&n->f, 10 * REGISTRY_READ_MS);
    put(n, "shop", "shop produce");
    fixture_advance(&n->f, 10 * REGISTRY_READ_MS);
    assert_int_equal(n->changes, before + 2); /* when it is made, and when it is read */
    assert_in_range(registry_age_ms(&n->registry), 0, REGISTRY_READ_MS);
}

static void whoever_comes_first_waits_for_the_first_reading(void **state)
{
    struct node *n = *state, fresh = {0};

    put(n, "shop", "shop produce");
    fixture_join(&fresh.f, &n->f);
    begin(&fresh);
    registry_use_redis(&fresh.registry, true);
    assert_true(access_is_awaited(fresh.access));
    assert_non_null(registry_trouble(&fresh.registry));
    assert_int_equal(registry_age_ms(&fresh.registry), -1);
    fixture_turn(&fresh.f);
    assert_false(access_is_incomplete(fresh.access));
    assert_int_equal(fresh.changes, 1);
    assert_true(has(&fresh, "shop"));
    end(&fresh);
}

/* Node 0 tells Redis what it has lost, one identity after the other. */
static void where_redis_is_empty_they_wait_for_what_other_nodes_know(void **state)
{
    struct node *n = *state, fresh = {0};

    put(n, "shop", "shop produce");
    put(n, "mill", "mill consume");
    turn(n, 2);
    memory_store_lose_identities(n->f.ms);
    fixture_join(&fresh.f, &n->f);
    begin(&fresh);
    registry_use_redis(&fresh.registry, true);
    fixture_turn(&fresh.f);
    assert_null(registry_trouble(&fresh.registry));
    assert_true(access_is_awaited(fresh.access) && !access_count(fresh.access));
    fixture_advance(&n->f, REGISTRY_READ_MS);
    fixture_advance(&fresh.f, REGISTRY_SETTLE_MS - 1);
    assert_true(has(&fresh, "shop") && has(&fresh, "mill"));
    assert_true(access_is_awaited(fresh.access));
    fresh.changes = 0;
    fixture_advance(&fresh.f, REGISTRY_READ_MS);
    assert_false(access_is_incomplete(fresh.access));
    assert_int_equal(fresh.changes, 1); /* those who wait are told */
    end(&fresh);
}

static void where_redis_is_away_they_wait_in_vain_and_the_node_stays_shut(void **state)
{
    struct node *n = *state, fresh = {0};

    put(n, "shop", "shop produce");
    fixture_join(&fresh.f, &n->f);
    begin(&fresh);
    fixture_turn(&fresh.f); /* the store is up */
    memory_store_fail(fresh.f.ms, 1, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    registry_use_redis(&fresh.registry, true);
    fixture_turn(&fresh.f);
    assert_true(access_is_on(fresh.access) && access_is_incomplete(fresh.access));
    assert_false(access_is_awaited(fresh.access));
    assert_int_equal(fresh.changes, 1);
    fixture_advance(&fresh.f, REGISTRY_AGAIN_MS);
    assert_false(access_is_incomplete(fresh.access));
    assert_true(has(&fresh, "shop"));
    end(&fresh);
}

static void what_is_known_holds_while_redis_is_away(void **state)
{
    struct node *n = *state;
    unsigned before;

    put(n, "shop", "shop produce");
    fixture_turn(&n->f);
    before = n->changes;
    memory_store_fail(n->f.ms, 3, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    fixture_advance(&n->f, REGISTRY_READ_MS + 2 * REGISTRY_AGAIN_MS);
    assert_true(has(n, "shop"));
    assert_false(access_is_incomplete(n->access));
    assert_int_equal(n->changes, before);
}

static void nodes_tell_redis_what_it_has_lost(void **state)
{
    struct node *n = *state, fresh = {0};

    put(n, "shop", "shop produce");
    put(n, "mill", "mill consume");
    put(n, "gone", "gone consume");
    put(n, "gone", "");
    turn(n, 2);
    memory_store_lose_identities(n->f.ms);
    for (unsigned i = 0; i < 2; i++)
        fixture_advance(&n[i].f, 2 * REGISTRY_READ_MS);
    assert_true(has(n, "shop") && has(n, "mill") && !has(n, "gone"));
    fixture_join(&fresh.f, &n->f);
    begin(&fresh);
    registry_use_redis(&fresh.registry, true);
    fixture_turn(&fresh.f);
    assert_int_equal(access_count(fresh.access), 2);
    assert_int_equal(fresh.registry.copy.count, 3); /* one of them is revoked */
    end(&fresh);
}

/* Node 1 has not heard of the revocation when Redis loses it; it must not bring shop back. */
static void a_revocation_that_redis_has_lost_stays_one(void **state)
{
    struct node *n = *state;

    put(n, "shop", "shop produce");
    turn(n, 2);
    put(n, "shop", "");
    fixture_turn(&n[0].f);
    memory_store_lose_identities(n->f.ms);
    fixture_advance(&n[1].f, 2 * REGISTRY_READ_MS);
    fixture_advance(&n[0].f, 2 * REGISTRY_READ_MS);
    fixture_advance(&n[1].f, 2 * REGISTRY_READ_MS);
    assert_false(has(&n[0], "shop"));
    assert_false(has(&n[1], "shop"));
}

/* It was told to nobody, and the store is again as this node has read it last. */
static void a_change_of_its_own_that_redis_has_lost_is_told_again(void **state)
{
    struct node *n = *state;

    put(n, "shop", "shop produce");
    memory_store_lose_identities(n->f.ms);
    for (unsigned i = 0; i < 2; i++)
        fixture_advance(&n[i].f, 2 * REGISTRY_READ_MS);
    assert_true(has(&n[0], "shop") && has(&n[1], "shop"));
}

/* The node that makes it has never known what Redis has lost. */
static void a_change_is_newer_than_what_redis_had_lost_before(void **state)
{
    struct node *n = *state, fresh = {0};
    int64_t version;

    for (unsigned i = 0; i < 10; i++)
        version = put(n, "shop", i % 2 ? "shop produce" : "shop inspect");
    while (clock_wall_ms() <= version)
        continue;
    memory_store_lose_identities(n->f.ms);
    fixture_join(&fresh.f, &n->f);
    begin(&fresh);
    registry_use_redis(&fresh.registry, true);
    fixture_turn(&fresh.f);
    put(&fresh, "shop", "");
    fixture_advance(&n->f, 2 * REGISTRY_READ_MS);
    fixture_advance(&fresh.f, 2 * REGISTRY_READ_MS);
    assert_false(has(n, "shop"));
    assert_false(has(&fresh, "shop"));
    end(&fresh);
}

static void take_file(struct node *n, const char *text)
{
    struct buf why = BUF_INIT;

    assert_int_equal(registry_take_file(&n->registry, bytes_of_text(text), &why), STATUS_OK);
    buf_fini(&why);
}

static unsigned roles_of(const struct node *n, const char *name)
{
    return access_of_name(n->access, bytes_of_text(name), 0)->roles;
}

static void the_files_identities_go_before_those_of_the_same_name(void **state)
{
    struct node *n = *state;

    put(n, "shop", "shop produce");
    put(n, "mill", "mill consume");
    take_file(n, "shop admin\n");
    assert_int_equal(access_count(n->access), 2);
    assert_string_equal(access_role_word(roles_of(n, "shop")), "admin");
    registry_forget_file(&n->registry);
    assert_string_equal(access_role_word(roles_of(n, "shop")), "produce");
}

#define TOKEN "token=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void what_contradicts_the_file_is_nobodys(void **state)
{
    struct node *n = *state;

    put(n, "ops", "ops admin");
    put(n, "shop", "shop produce " TOKEN);
    put(n, "a", "a produce cert=DNS:a");
    take_file(n, "mill produce " TOKEN " cert=DNS:a\nold all until=1969-01-01T00:00:00Z\n");
    put(n, "old", "old consume");
    assert_true(has(n, "ops") && !has(n, "shop") && !has(n, "a") && has(n, "mill"));
    assert_null(access_of_name(n->access, BYTES("old"), 0));
    registry_forget_file(&n->registry);
    assert_true(has(n, "shop") && !has(n, "mill") && has(n, "old"));
}

/* Others have written into Redis. */
static void what_nodes_do_not_write_is_nobodys(void **state)
{
    static const struct identity_row rows[] = {
        {.name = BYTES("a"), .version = 1, .line = BYTES("a all\nroot all")},
        {.name = BYTES("b"), .version = 1, .line = BYTES("root all")},
        {.name = BYTES("c"), .version = 0, .line = BYTES("c all")},
        {.name = BYTES("d"), .version = 1, .line = BYTES("d king")},
        {.name = BYTES("e e"), .version = 1, .line = BYTES("e e all")},
        {.name = BYTES("good"), .version = 1, .line = BYTES("good all")},
    };
    struct node *n = *state;

    copy_join(&n->registry.copy, rows, sizeof(rows) / sizeof(*rows), 0);
    take_file(n, "");
    assert_int_equal(access_count(n->access), 1);
    assert_true(has(n, "good"));
}

/* The reading that was on its way, held by the store, says nothing of what was turned on since.
 */
static void off_and_on_again_leaves_the_node_shut(void **state)
{
    struct node *n = *state;

    put(n, "shop", "shop produce");
    fixture_advance(&n->f, REGISTRY_HEARD_MS);
    memory_store_hold(n->f.ms);
    fixture_advance(&n->f, REGISTRY_READ_MS);
    registry_use_redis(&n->registry, false);
    assert_false(access_is_on(n->access));
    registry_use_redis(&n->registry, true);
    assert_true(access_is_awaited(n->access));
    fixture_release(&n->f, 1);
    assert_true(access_is_awaited(n->access));
    fixture_unhold(&n->f);
    assert_false(access_is_incomplete(n->access));
    assert_true(has(n, "shop"));
}

/* A Redis that is full takes revocations alone. */
static void what_redis_does_not_take_back_keeps_nothing_else_from_it(void **state)
{
    static const struct identity_row rows[] = {
        {.name = BYTES("a"), .version = 1, .line = BYTES("a all")},
        {.name = BYTES("b"), .version = 2, .line = BYTES("b all")},
        {.name = BYTES("c"), .version = 3, .line = BYTES("")},
    };
    struct node *n = *state;

    copy_join(&n->registry.copy, rows, 3, 0);
    copy_join(&n->registry.copy, NULL, 0, 0);
    assert_memory_equal(copy_ahead(&n->registry.copy)->name.at, "c", 1);
    copy_defer(&n->registry.copy, BYTES("c"));
    assert_memory_equal(copy_ahead(&n->registry.copy)->name.at, "a", 1);
    fixture_advance(&n->f, REGISTRY_READ_MS);
    memory_store_fail(n->f.ms, 2, STATUS_TOO_MANY_IDENTITIES, MEMORY_UNDONE);
    fixture_advance(&n->f, 3 * REGISTRY_READ_MS);
    assert_null(copy_ahead(&n->registry.copy));
    assert_int_equal(n->registry.copy.count, 3);
}

static void a_change_is_looked_at_before_it_is_sent(void **state)
{
    static const struct {
        const char *name, *line;
        enum status status;
    } rows[] = {
        {"shop", "shop", STATUS_BAD_REQUEST},
        {"shop", "mill produce", STATUS_BAD_REQUEST},
        {"mill", "mill produce " TOKEN, STATUS_DUPLICATE},
        {"ops", "ops produce " TOKEN, STATUS_DUPLICATE}, /* the file's counts */
        {"shop", "shop admin " TOKEN, STATUS_OK},
        {"ops", "ops produce", STATUS_OK},
    };
    struct node *n = *state;
    int64_t version;

    put(n, "shop", "shop produce " TOKEN);
    fixture_turn(&n->f);
    take_file(n, "ops admin\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(change(n, rows[i].name, rows[i].line, -1, &version), rows[i].status);
    registry_use_redis(&n->registry, false);
    assert_int_equal(change(n, "shop", "shop produce", -1, &version), STATUS_WRONG_STATE);
}

static void of_two_changes_of_the_same_version_one_is_refused(void **state)
{
    struct node *n = *state;
    int64_t first = put(n, "shop", "shop produce"), version;

    assert_int_equal(change(&n[1], "shop", "shop consume", first, &version), STATUS_OK);
    assert_int_equal(change(n, "shop", "shop inspect", first, &version), STATUS_WRONG_STATE);
    assert_int_equal(change(n, "shop", "shop inspect", 0, &version), STATUS_WRONG_STATE);
    assert_int_equal(change(n, "mill", "mill inspect", 0, &version), STATUS_OK);
}

static void without_redis_the_file_counts_or_nobody_is_asked(void **state)
{
    struct node *n = *state;

    put(n, "shop", "shop produce");
    fixture_turn(&n->f);
    take_file(n, "ops admin\n");
    registry_use_redis(&n->registry, false);
    assert_true(has(n, "ops") && !has(n, "shop"));
    assert_false(access_is_incomplete(n->access));
    registry_forget_file(&n->registry);
    assert_false(access_is_on(n->access));
    registry_use_redis(&n->registry, true);
    assert_true(access_is_awaited(n->access));
    fixture_turn(&n->f);
    assert_true(has(n, "shop"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(everybody_is_shut_out_where_redis_has_nobody),
        TEST(a_change_is_known_to_all_nodes_at_once),
        TEST(who_makes_a_change_acts_by_it_when_it_is_confirmed),
        TEST(nothing_is_done_while_nothing_changes),
        TEST(whoever_comes_first_waits_for_the_first_reading),
        TEST(where_redis_is_empty_they_wait_for_what_other_nodes_know),
        TEST(where_redis_is_away_they_wait_in_vain_and_the_node_stays_shut),
        TEST(what_is_known_holds_while_redis_is_away),
        TEST(nodes_tell_redis_what_it_has_lost),
        TEST(a_revocation_that_redis_has_lost_stays_one),
        TEST(a_change_of_its_own_that_redis_has_lost_is_told_again),
        TEST(a_change_is_newer_than_what_redis_had_lost_before),
        TEST(the_files_identities_go_before_those_of_the_same_name),
        TEST(what_contradicts_the_file_is_nobodys),
        TEST(what_nodes_do_not_write_is_nobodys),
        TEST(off_and_on_again_leaves_the_node_shut),
        TEST(what_redis_does_not_take_back_keeps_nothing_else_from_it),
        TEST(a_change_is_looked_at_before_it_is_sent),
        TEST(of_two_changes_of_the_same_version_one_is_refused),
        TEST(without_redis_the_file_counts_or_nobody_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
