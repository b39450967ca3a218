/* Identities: kept by name and version, changed where they are as expected, healed where a node
 * knows better.
 */
#include "node/store/contract/identities.h"

#include <stdio.h>
#include <string.h>

struct op identify_op(const char *name, const char *line)
{
    static char ids[4][OP_IDENTITY_ID_CHARS + 1];
    static unsigned number;
    char *id = ids[number % 4];

    snprintf(id, sizeof(ids[0]), "%016x", ++number);
    return (struct op){
        .verb = OP_IDENTIFY,
        .bucket = bucket_of(TOPIC),
        .id = bytes_of_text(name),
        .in.identify = {.line = bytes_of_text(line), .id = bytes_of_text(id), .expected = -1}};
}

struct op heal_op(const char *name, const char *line, int64_t as)
{
    struct op op = identify_op(name, line);

    op.in.identify.as = as;
    op.in.identify.expected = 0; /* does not count */
    return op;
}

int64_t identify(const char *name, const char *line)
{
    return run_well(identify_op(name, line)).out.identify.version;
}

int64_t heal(const char *name, const char *line, int64_t as)
{
    return run_well(heal_op(name, line, as)).out.identify.version;
}

static struct op identities_since(struct bytes known)
{
    return run_well((struct op){
        .verb = OP_IDENTITIES, .bucket = bucket_of(TOPIC), .in.identities.known = known});
}

struct op identities(void)
{
    return identities_since(BYTES(""));
}

const struct identity_row *identity_named(const char *name)
{
    struct op op = identities();
    const struct identity_row *rows = op.out.identities.rows;

    for (unsigned i = 0; i < op.out.identities.count; i++)
        if (bytes_equal(rows[i].name, bytes_of_text(name)))
            return &rows[i];
    return NULL;
}

void assert_identity(const char *name, int64_t version, const char *line)
{
    const struct identity_row *row = identity_named(name);

    assert_non_null(row);
    assert_int_equal(row->version, version);
    assert_bytes(row->line, bytes_of_text(line));
}

static struct op expecting(struct op op, int64_t version)
{
    op.in.identify.expected = version;
    return op;
}

/* ---- what is kept ---- */

static void what_was_changed_is_told(void **state)
{
    struct op op = identities();

    assert_int_equal(op.out.identities.count, 0);
    assert_int_equal(op.out.identities.id.len, 0);
    assert_int_equal(identify("shop", "shop produce"), 1);
    assert_int_equal(identify("mill", "mill consume"), 2);
    assert_int_equal(identify("Shop", "Shop admin"), 3); /* another one */
    assert_int_equal(identify("shop", "shop all"), 4);
    op = identities();
    assert_false(op.out.identities.is_same);
    assert_int_equal(op.out.identities.count, 3);
    assert_int_equal(op.out.identities.version, 4);
    assert_int_equal(op.out.identities.horizon, 0);
    assert_identity("shop", 4, "shop all");
    assert_identity("mill", 2, "mill consume");
    assert_identity("Shop", 3, "Shop admin");
}

static void a_revoked_identity_leaves_its_version(void **state)
{
    identify("shop", "shop produce");
    assert_int_equal(identify("shop", ""), 2);
    assert_identity("shop", 2, "");
    assert_int_equal(identify("unknown", ""), 3); /* a node may know it */
    assert_identity("unknown", 3, "");
    assert_int_equal(identify("shop", "shop produce"), 4);
    assert_identity("shop", 4, "shop produce");
}

static void who_has_read_the_last_change_is_told_so(void **state)
{
    struct op op, change = identify_op("shop", "shop produce");

    run_well(change);
    op = identities();
    assert_bytes(op.out.identities.id, change.in.identify.id);
    assert_true(identities_since(change.in.identify.id).out.identities.is_same);
    identify("shop", "");
    op = identities_since(change.in.identify.id);
    assert_false(op.out.identities.is_same);
    assert_int_equal(op.out.identities.count, 1);
}

static void a_new_version_is_above_what_the_caller_knows(void **state)
{
    struct op op = identify_op("shop", "shop produce");

    op.in.identify.floor = 41;
    assert_int_equal(run_well(op).out.identify.version, 42);
    op = identify_op("mill", "mill produce");
    op.in.identify.floor = 7;
    assert_int_equal(run_well(op).out.identify.version, 43);
    op = identify_op("mill", "mill consume");
    op.in.identify.floor = OP_IDENTITY_VERSION_MAX;
    assert_status(run(op), OUT_OF_RANGE);
    assert_int_equal(identities().out.identities.version, 43);
}

/* ---- as expected, or not ---- */

static void a_change_is_of_the_version_that_was_expected(void **state)
{
    assert_status(run(expecting(identify_op("shop", "shop a"), 1)), WRONG_STATE);
    assert_null(identity_named("shop"));
    run_well(expecting(identify_op("shop", "shop a"), 0));
    assert_status(run(expecting(identify_op("shop", "shop b"), 0)), WRONG_STATE);
    assert_status(run(expecting(identify_op("shop", ""), 2)), WRONG_STATE);
    assert_identity("shop", 1, "shop a");
    run_well(expecting(identify_op("shop", "shop b"), 1));
    run_well(expecting(identify_op("shop", ""), 2));
    assert_status(run(expecting(identify_op("shop", "shop c"), 3)), WRONG_STATE);
    run_well(expecting(identify_op("shop", "shop c"), 0)); /* none is living */
    assert_identity("shop", 4, "shop c");
}

static void what_is_there_already_is_not_changed_again(void **state)
{
    struct op made = identify_op("shop", "shop a"), revoked = identify_op("mill", "");

    run_well(made);
    assert_int_equal(run_well(expecting(identify_op("shop", "shop a"), 0)).out.identify.version,
                     1);
    run_well(revoked);
    assert_int_equal(run_well(expecting(identify_op("mill", ""), 9)).out.identify.version, 2);
    assert_bytes(identities().out.identities.id, revoked.in.identify.id);
}

/* A node may know a later revocation, which it is to lose against. */
static void what_is_there_is_made_anew_where_the_store_has_lost_changes(void **state)
{
    struct op op = identify_op("shop", "shop a");

    run_well(op);
    op.in.identify.floor = 1;
    assert_int_equal(run_well(op).out.identify.version, 1);
    op.in.identify.floor = 7;
    assert_int_equal(run_well(op).out.identify.version, 8);
    assert_identity("shop", 8, "shop a");
}

/* ---- marks ---- */

static enum status identify_marked(const char *name, const char *line, const char *mark)
{
    struct bytes marks[] = {BYTES("nobodys"), bytes_of_text(mark)};
    struct op op = identify_op(name, line);

    op.in.identify.marks = marks;
    op.in.identify.mark_count = 2;
    return run(op).status;
}

static void no_two_lines_have_a_mark(void **state)
{
    static const char line[] = "shop produce token=aa,bb cert=DNS:x.y";
    static const char *const marks[] = {"aa", "bb", "cert=DNS:x.y", "shop"};
    static const char *const others[] = {"a",   "cert=DNS:x",   "DNS",
                                         "x.y", "DNS:x.y cert", "xay"};

    identify("shop", line);
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
        assert_int_equal(identify_marked("mill", "mill a", marks[i]), STATUS_DUPLICATE);
    assert_null(identity_named("mill"));
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_int_equal(identify_marked("mill", others[i], others[i]), STATUS_OK);
    assert_int_equal(identify_marked("shop", "shop token=aa", "aa"), STATUS_OK); /* its own */
    identify("shop", "");
    assert_int_equal(identify_marked("mill", "mill token=aa", "aa"), STATUS_OK);
}

static void a_dot_in_a_mark_is_a_dot(void **state)
{
    identify("shop", "shop cert=DNS:xay");
    assert_int_equal(identify_marked("mill", "mill", "cert=DNS:x.y"), STATUS_OK);
    run_well(identify_op("west", "west cert=URI:a://b,west"));
    assert_int_equal(identify_marked("mill", "mill cert=URI:a://b", "cert=URI:a://b"),
                     STATUS_OK);
}

/* ---- room ---- */

/* So many more, in one turn, by numbered names from `first` on; how many were OK. */
static unsigned identify_many(unsigned first, unsigned count, const char *line, int64_t as)
{
    struct op *ops = calloc(count, sizeof(*ops));
    unsigned done = 0;

    for (unsigned i = 0; i < count; i++) {
        ops[i] = identify_op(numbered(first + i), line);
        if (as)
            ops[i].in.identify.as = as + i;
    }
    run_all(ops, count);
    for (unsigned i = 0; i < count; i++) {
        assert_true(ops[i].status == STATUS_OK || ops[i].status == STATUS_TOO_MANY_IDENTITIES);
        done += ops[i].status == STATUS_OK;
    }
    free(ops);
    return done;
}

static void there_is_room_for_so_many_and_healing_has_twice_as_much(void **state)
{
    assert_int_equal(identify_many(0, OP_IDENTITIES_MAX, "a", 0), OP_IDENTITIES_MAX);
    assert_status(run(identify_op("more", "more")), TOO_MANY_IDENTITIES);
    identify(numbered(0), "b");
    identify(numbered(1), "");
    identify("more", "more");
    assert_int_equal(identify_many(2000, OP_IDENTITIES_MAX + 1, "c", 5000), OP_IDENTITIES_MAX);
    identify(numbered(0), "d"); /* none is added */
    identify(numbered(0), "");
    assert_status(run(identify_op("one", "one")), TOO_MANY_IDENTITIES);
    assert_int_equal(identities().out.identities.count, 2 * OP_IDENTITIES_MAX + 1);
}

static void lines_have_room_for_so_many_bytes(void **state)
{
    static char line[OP_IDENTITY_LINE_MAX + 1], shorter[sizeof(line)];
    const unsigned count = OP_IDENTITY_BYTES_MAX / OP_IDENTITY_LINE_MAX;

    memset(line, 'x', sizeof(line) - 1);
    memset(shorter, 'y', sizeof(line) - 2);
    assert_int_equal(identify_many(0, count, line, 0), count);
    assert_status(run(identify_op("more", "y")), TOO_MANY_IDENTITIES);
    identify(numbered(0), shorter);
    identify("more", "y");
    assert_status(run(identify_op("more", "yy")), TOO_MANY_IDENTITIES);
    assert_int_equal(identify_many(2000, count, line, 5000), count); /* they heal */
    identify(numbered(1), shorter);                                  /* less than before */
    assert_status(run(identify_op("more", "yy")), TOO_MANY_IDENTITIES);
    assert_int_equal(identities().out.identities.count, 2 * count + 1);
}

static void the_oldest_tombstones_are_thrown_away(void **state)
{
    identify("living", "a");
    identify_many(0, OP_IDENTITIES_MAX, "", 0);
    assert_int_equal(identities().out.identities.horizon, 0);
    identify("more", "");
    assert_int_equal(identities().out.identities.horizon, 2);
    assert_null(identity_named(numbered(0)));
    assert_identity(numbered(1), 3, "");
    assert_identity("living", 1, "a");
    assert_int_equal(heal(numbered(0), "a", 2), 0); /* forgotten, and perhaps revoked */
    assert_null(identity_named(numbered(0)));
    assert_int_equal(heal("late", "a", 3), 3);
    assert_int_equal(heal("later", "", 4), 4); /* the oldest but one */
    assert_int_equal(identities().out.identities.horizon, 3);
    assert_identity("later", 4, "");
    assert_int_equal(identities().out.identities.count, OP_IDENTITIES_MAX + 2);
}

/* ---- healing ---- */

static void the_newer_one_stays(void **state)
{
    static const struct {
        const char *there, *known;
        int64_t as; /* there it is 5 */
        bool heals;
    } rows[] = {{"a", "b", 4, false}, {"a", "b", 5, false}, {"a", "b", 6, true},
                {"a", "", 4, false},  {"a", "", 5, true},   {"a", "", 6, true},
                {"", "b", 4, false},  {"", "b", 5, false},  {"", "b", 6, true},
                {"", "", 5, false},   {"a", "a", 6, true}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *name = numbered((unsigned)i);
        int64_t expected = rows[i].heals ? rows[i].as : 5;

        assert_int_equal(heal(name, rows[i].there, 5), 5);
        assert_int_equal(heal(name, rows[i].known, rows[i].as), expected);
        assert_identity(name, expected, rows[i].heals ? rows[i].known : rows[i].there);
    }
}

static void what_is_lost_is_put_back_with_its_version(void **state)
{
    struct bytes mark = BYTES("aa");
    struct op op = heal_op("mill", "mill token=aa", 17);

    identify("shop", "shop token=aa");
    op.in.identify.marks = &mark; /* does not count */
    op.in.identify.mark_count = 1;
    assert_int_equal(run_well(op).out.identify.version, 17);
    assert_bytes(identities().out.identities.id, op.in.identify.id);
    assert_identity("mill", 17, "mill token=aa");
    assert_int_equal(heal("old", "", 3), 3);
    assert_int_equal(identities().out.identities.version, 17);
    assert_int_equal(identify("shop", "shop b"), 18);
}

/* ---- news ---- */

static void every_change_of_an_identity_is_told(void **state)
{
    identify("shop", "a");
    assert_int_equal(identities_heard(), 1);
    identify("shop", "a");
    assert_status(run(expecting(identify_op("shop", "b"), 9)), WRONG_STATE);
    assert_int_equal(heal("shop", "b", 1), 1);
    identities();
    assert_int_equal(identities_heard(), 1);
    heal("shop", "b", 2);
    identify("shop", "");
    assert_int_equal(identities_heard(), 3);
}

static const struct CMUnitTest tests[] = {
    TEST(what_was_changed_is_told),
    TEST(a_revoked_identity_leaves_its_version),
    TEST(who_has_read_the_last_change_is_told_so),
    TEST(a_new_version_is_above_what_the_caller_knows),
    TEST(a_change_is_of_the_version_that_was_expected),
    TEST(what_is_there_already_is_not_changed_again),
    TEST(what_is_there_is_made_anew_where_the_store_has_lost_changes),
    TEST(no_two_lines_have_a_mark),
    TEST(a_dot_in_a_mark_is_a_dot),
    TEST(there_is_room_for_so_many_and_healing_has_twice_as_much),
    TEST(lines_have_room_for_so_many_bytes),
    TEST(the_oldest_tombstones_are_thrown_away),
    TEST(the_newer_one_stays),
    TEST(what_is_lost_is_put_back_with_its_version),
    TEST(every_change_of_an_identity_is_told),
};

const struct contract_part contract_identities = {tests, sizeof(tests) / sizeof(*tests)};
