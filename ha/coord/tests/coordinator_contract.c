#include "ha/coord/tests/coordinator_contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATHS 16

/* What a client has heard. */
struct ear {
    unsigned sessions;
    unsigned changes;
    char last_change[64];
};

static struct stand *stand;
static struct ear first_ear, second_ear;
static unsigned done_count;
static struct coord_call *done_calls[16];
static bool is_submitting; /* no call may end now */

/* ---- words of the tests ---- */

/* Borrowed for the next PATHS - 1 calls. */
static const char *at(const char *name)
{
    static char paths[PATHS][64];
    static unsigned next;
    char *path = paths[next++ % PATHS];

    snprintf(path, sizeof(paths[0]), "%s/%s", stand->root, name);
    return path;
}

static void on_session(struct coordinator *c)
{
    ((struct ear *)c->user)->sessions++;
}

static void on_change(struct coordinator *c, const char *path)
{
    struct ear *ear = c->user;

    ear->changes++;
    snprintf(ear->last_change, sizeof(ear->last_change), "%s", path);
}

static void on_done(struct coord_call *call)
{
    assert_false(is_submitting);
    done_calls[done_count++ % 16] = call;
}

static void wait_for_calls(unsigned count)
{
    while (done_count < count)
        stand->turn(stand);
}

static void wait_for_session(struct coordinator *c, enum coord_session session)
{
    while (c->session != session)
        stand->turn(stand);
}

static void wait_for_change(struct ear *ear, const char *path)
{
    while (strcmp(ear->last_change, path) != 0)
        stand->turn(stand);
    ear->last_change[0] = '?';
}

/* Copies, because outputs live no longer than on_done. */
static char text[COORD_DATA_MAX + 1];

static void on_read(struct coord_call *call)
{
    if (call->data.len)
        memcpy(text, call->data.at, call->data.len);
    text[call->data.len] = '\0';
    on_done(call);
}

static void on_list(struct coord_call *call)
{
    text[0] = '\0';
    for (unsigned i = 0; i < call->name_count; i++) {
        strcat(text, call->names[i]);
        strcat(text, " ");
    }
    on_done(call);
}

static void run(struct coordinator *c, struct coord_call *call,
                void (*submit)(struct coordinator *c, struct coord_call *call))
{
    unsigned before = done_count;

    is_submitting = true;
    submit(c, call);
    is_submitting = false;
    wait_for_calls(before + 1);
}

static struct coord_call read_of(struct coordinator *c, const char *path)
{
    struct coord_call call = {.path = path, .watches = true, .on_done = on_read};

    run(c, &call, coordinator_read);
    return call;
}

static struct coord_call list_of(struct coordinator *c, const char *path)
{
    struct coord_call call = {.path = path, .watches = true, .on_done = on_list};

    run(c, &call, coordinator_list);
    return call;
}

static struct coord_call write_of(struct coordinator *c, unsigned count,
                                  const struct coord_change *changes)
{
    struct coord_call call = {
        .changes = changes, .change_count = count, .on_done = on_done, .failed = 99};

    run(c, &call, coordinator_write);
    return call;
}

#define WRITE(c, ...)                                                                       \
    write_of(c, sizeof((struct coord_change[]){__VA_ARGS__}) / sizeof(struct coord_change), \
             (struct coord_change[]){__VA_ARGS__})
#define CREATE(name, text_)                                           \
    {                                                                 \
        .kind = COORD_CREATE, .path = at(name), .data = BYTES(text_), \
    }
#define EPHEMERAL(name)                                   \
    {                                                     \
        .kind = COORD_CREATE_EPHEMERAL, .path = at(name), \
    }
#define CHANGE(kind_, name, version_)                                \
    {                                                                \
        .kind = COORD_##kind_, .path = at(name), .version = version_ \
    }
#define SET(name, text_, version_)                                                      \
    {                                                                                   \
        .kind = COORD_SET, .path = at(name), .data = BYTES(text_), .version = version_, \
    }
#define assert_status(call, expected) \
    assert_string_equal(coord_status_word((call).status), coord_status_word(COORD_##expected))

static void listen_to(struct coordinator *c, struct ear *ear)
{
    *ear = (struct ear){.last_change = "?"};
    c->on_session = on_session;
    c->on_change = on_change;
    c->user = ear;
    coordinator_open(c);
}

void contract_begin(struct stand *it)
{
    struct coord_change root = {.kind = COORD_CREATE, .path = it->root};

    stand = it;
    done_count = 0;
    listen_to(it->first, &first_ear);
    listen_to(it->second, &second_ear);
    assert_int_equal(it->first->session, COORD_SESSION_CONNECTING);
    wait_for_session(it->first, COORD_SESSION_CONNECTED);
    wait_for_session(it->second, COORD_SESSION_CONNECTED);
    assert_status(write_of(it->first, 1, &root), OK);
}

void contract_end(void)
{
    coordinator_close(stand->first);
    coordinator_close(stand->second);
}

/* ---- sessions ---- */

static void an_open_session_has_what_it_was_granted(void **state)
{
    const struct coordinator *c = stand->first;

    assert_int_equal(c->granted_ms, CONTRACT_SESSION_MS);
    assert_int_not_equal(c->credentials.session, 0);
    assert_int_not_equal(c->credentials.session, stand->second->credentials.session);
    assert_string_not_equal(c->server, "");
    assert_string_equal(c->why, "");
    assert_int_equal(first_ear.sessions, 1);
    assert_int_equal(first_ear.changes, 0);
}

static void closing_removes_ephemerals_and_tells_nobody(void **state)
{
    struct coordinator *c = stand->first;

    WRITE(c, EPHEMERAL("e"));
    assert_status(read_of(stand->second, at("e")), OK);
    coordinator_close(c);
    assert_int_equal(c->session, COORD_SESSION_CLOSED);
    assert_int_equal(c->credentials.session, 0);
    assert_string_equal(c->server, "");
    assert_int_equal(first_ear.sessions, 1);
    wait_for_change(&second_ear, at("e"));
    assert_status(read_of(stand->second, at("e")), NO_NODE);
}

static void closing_ends_calls_in_flight_but_not_from_inside(void **state)
{
    const struct coord_change change = CREATE("a", "");
    struct coord_call write = {.changes = &change, .change_count = 1, .on_done = on_done};
    struct coord_call read = {.path = at("a"), .watches = true, .on_done = on_done};
    unsigned before = done_count;

    coordinator_write(stand->first, &write);
    coordinator_read(stand->first, &read);
    coordinator_close(stand->first);
    assert_int_equal(done_count, before);
    wait_for_calls(before + 2);
    assert_ptr_equal(done_calls[before], &write);
    assert_status(write, UNKNOWN);
    assert_status(read, UNKNOWN);
}

static void a_call_without_a_connection_is_unavailable(void **state)
{
    coordinator_close(stand->first);
    assert_status(read_of(stand->first, at("a")), UNAVAILABLE);
    assert_status(list_of(stand->first, at("a")), UNAVAILABLE);
    assert_status(WRITE(stand->first, CREATE("a", "")), UNAVAILABLE);
    coordinator_open(stand->first);
    assert_status(WRITE(stand->first, CREATE("a", "")), UNAVAILABLE);
}

static void what_is_closed_can_be_opened_again(void **state)
{
    int64_t before = stand->first->credentials.session;

    coordinator_close(stand->first);
    coordinator_open(stand->first);
    wait_for_session(stand->first, COORD_SESSION_CONNECTED);
    assert_int_not_equal(stand->first->credentials.session, before);
    assert_status(WRITE(stand->first, CREATE("a", "")), OK);
}

/* The session's owner lives here, and may take the session back before it has ended: then the
 * end is asked for once more. */
static void end_session_of(struct coordinator *c)
{
    const struct ear *ear = c->user;
    unsigned seen = 0;

    while (c->session != COORD_SESSION_EXPIRED) {
        if (c->session == COORD_SESSION_CONNECTED && seen != ear->sessions) {
            seen = ear->sessions;
            coordinator_end_session(stand->second, &c->credentials);
        }
        stand->turn(stand);
    }
}

static void a_session_can_be_ended_by_another(void **state)
{
    WRITE(stand->first, EPHEMERAL("e"));
    assert_status(read_of(stand->second, at("e")), OK);
    end_session_of(stand->first);
    wait_for_change(&second_ear, at("e"));
    assert_status(read_of(stand->first, at("e")), UNAVAILABLE);
    coordinator_close(stand->first);
    coordinator_open(stand->first);
    wait_for_session(stand->first, COORD_SESSION_CONNECTED);
    assert_status(read_of(stand->first, at("e")), NO_NODE);
}

/* With the session's id alone one can break its connection, but no more. The second client's
 * own session is ended in the same way afterwards, which shows that the first attempt was made.
 */
static void it_takes_the_password_to_end_a_session(void **state)
{
    struct coord_credentials wrong = stand->first->credentials;
    struct coord_call call;

    wrong.password[3] ^= 1;
    WRITE(stand->first, EPHEMERAL("e"));
    coordinator_end_session(stand->second, &wrong);
    end_session_of(stand->second);
    do
        call = read_of(stand->first, at("e"));
    while (call.status == COORD_UNKNOWN || call.status == COORD_UNAVAILABLE);
    assert_status(call, OK);
    assert_int_equal(call.owner, wrong.session);
    assert_int_equal(stand->first->credentials.session, wrong.session);
}

/* ---- connections ---- */

static void a_lost_connection_leaves_calls_unknown_and_the_session_alive(void **state)
{
    const struct coord_change change = EPHEMERAL("e");
    struct coord_call write = {.changes = &change, .change_count = 1, .on_done = on_done};
    struct coord_call read = {.path = at("x"), .watches = true, .on_done = on_done};
    int64_t session = stand->first->credentials.session;
    unsigned before;

    read_of(stand->first, at("f"));
    before = done_count;
    coordinator_write(stand->first, &write);
    coordinator_read(stand->first, &read);
    stand->cut(stand);
    assert_int_equal(done_count, before);
    wait_for_calls(before + 2);
    assert_ptr_equal(done_calls[before], &write);
    assert_status(write, UNKNOWN);
    assert_status(read, UNKNOWN);
    assert_int_equal(first_ear.sessions, 2);
    wait_for_session(stand->first, COORD_SESSION_CONNECTED);
    assert_int_equal(stand->first->credentials.session, session);
    assert_int_equal(first_ear.sessions, 3);
    assert_string_equal(first_ear.last_change, "");
}

static void watches_work_after_a_lost_connection(void **state)
{
    stand->cut(stand);
    wait_for_change(&first_ear, "");
    wait_for_change(&second_ear, "");
    assert_status(read_of(stand->second, at("a")), NO_NODE);
    assert_status(WRITE(stand->first, CREATE("a", "1")), OK);
    wait_for_change(&second_ear, at("a"));
}

/* ---- reading ---- */

static void what_is_written_is_read(void **state)
{
    struct coord_call call;

    WRITE(stand->first, CREATE("a", "one"));
    call = read_of(stand->second, at("a"));
    assert_status(call, OK);
    assert_string_equal(text, "one");
    assert_int_equal(call.version, 0);
    assert_int_equal(call.owner, 0);
    WRITE(stand->second, SET("a", "", 0));
    call = read_of(stand->second, at("a"));
    assert_int_equal(call.data.len, 0);
    assert_int_equal(call.version, 1);
}

static void an_ephemeral_tells_its_owner(void **state)
{
    WRITE(stand->first, EPHEMERAL("e"));
    assert_int_equal(read_of(stand->second, at("e")).owner, stand->first->credentials.session);
}

static void large_data_come_back_whole(void **state)
{
    char *data = malloc(COORD_DATA_MAX);
    struct coord_change change = {
        .kind = COORD_CREATE, .path = at("a"), .data = {data, COORD_DATA_MAX}};
    struct coord_call call;

    memset(data, 'x', COORD_DATA_MAX);
    assert_status(write_of(stand->first, 1, &change), OK);
    call = read_of(stand->second, at("a"));
    assert_int_equal(call.data.len, COORD_DATA_MAX);
    assert_memory_equal(text, data, COORD_DATA_MAX);
    free(data);
}

static void names_are_listed_whole_and_watched(void **state)
{
    assert_status(list_of(stand->second, stand->root), OK);
    assert_string_equal(text, "");
    WRITE(stand->first, CREATE("x", ""));
    wait_for_change(&second_ear, stand->root);
    assert_int_equal(list_of(stand->second, stand->root).name_count, 1);
    assert_string_equal(text, "x ");
    WRITE(stand->first, CHANGE(DELETE, "x", -1));
    wait_for_change(&second_ear, stand->root);
    assert_status(list_of(stand->second, at("nowhere")), NO_NODE);
}

/* Both clients see the same number, which only a change of the names moves, and only up. */
static int64_t list_number(void)
{
    int64_t number = list_of(stand->first, stand->root).list_number;

    assert_int_equal(list_of(stand->second, stand->root).list_number, number);
    return number;
}

static void a_list_has_a_number_that_grows_when_a_name_comes_or_goes(void **state)
{
    int64_t empty = list_number(), one, two;

    assert_true(empty > 0);
    WRITE(stand->first, EPHEMERAL("e"));
    one = list_number();
    assert_true(one > empty);
    WRITE(stand->second, CREATE("a", ""));
    two = list_number();
    assert_true(two > one);
    WRITE(stand->first, CHANGE(DELETE, "a", -1));
    assert_true(list_number() > two);
}

static void a_lists_number_does_not_grow_with_anything_else(void **state)
{
    const struct coord_change root = {
        .kind = COORD_SET, .path = stand->root, .data = BYTES("1"), .version = -1};
    int64_t before;

    WRITE(stand->first, CREATE("a", ""));
    before = list_number();
    WRITE(stand->first, SET("a", "1", -1));
    WRITE(stand->second, CREATE("a/b", ""), CHANGE(DELETE, "a/b", -1));
    assert_status(write_of(stand->first, 1, &root), OK);
    assert_status(WRITE(stand->second, CREATE("x", ""), CHANGE(CHECK, "nowhere", -1)), NO_NODE);
    assert_int_equal(list_number(), before);
}

static void the_end_of_a_session_gives_the_list_a_number(void **state)
{
    int64_t before, after;

    WRITE(stand->first, EPHEMERAL("e"));
    before = list_number();
    coordinator_close(stand->first);
    wait_for_change(&second_ear, stand->root);
    after = list_of(stand->second, stand->root).list_number;
    assert_string_equal(text, "");
    assert_true(after > before);
}

static void a_watch_tells_of_each_kind_of_change_once(void **state)
{
    assert_status(read_of(stand->second, at("a")), NO_NODE);
    WRITE(stand->first, CREATE("a", ""));
    wait_for_change(&second_ear, at("a"));
    assert_status(read_of(stand->second, at("a")), OK);
    WRITE(stand->first, SET("a", "2", -1));
    wait_for_change(&second_ear, at("a"));
    assert_status(read_of(stand->second, at("a")), OK);
    WRITE(stand->first, CHANGE(DELETE, "a", -1));
    wait_for_change(&second_ear, at("a"));
    assert_int_equal(second_ear.changes, 3);
    WRITE(stand->first, CREATE("a", ""));
    assert_status(read_of(stand->second, at("a")), OK);
    assert_int_equal(second_ear.changes, 3);
}

static void ones_own_changes_are_told_too(void **state)
{
    read_of(stand->first, at("a"));
    WRITE(stand->first, CREATE("a", ""));
    wait_for_change(&first_ear, at("a"));
}

/* ---- writing ---- */

static void a_write_happens_as_a_whole_or_not_at_all(void **state)
{
    struct coord_call call =
        WRITE(stand->first, CREATE("a", ""), CREATE("b", ""), CHANGE(DELETE, "c", -1));

    assert_status(call, NO_NODE);
    assert_int_equal(call.failed, 2);
    assert_status(read_of(stand->first, at("a")), NO_NODE);
    assert_status(WRITE(stand->first, CREATE("a", ""), SET("a", "1", 0)), OK);
    assert_int_equal(read_of(stand->first, at("a")).version, 1);
}

static void a_refused_write_says_which_change_and_why(void **state)
{
    struct coord_call call;

    WRITE(stand->first, CREATE("a", ""));
    call = WRITE(stand->first, CHANGE(CHECK, "a", 0), CREATE("a", ""), CREATE("b", ""));
    assert_status(call, EXISTS);
    assert_int_equal(call.failed, 1);
    call = WRITE(stand->first, CHANGE(CHECK, "a", 7), CREATE("b", ""));
    assert_status(call, BAD_VERSION);
    assert_int_equal(call.failed, 0);
    assert_status(WRITE(stand->first, SET("a", "", 7)), BAD_VERSION);
    assert_status(WRITE(stand->first, CHANGE(DELETE, "a", 7)), BAD_VERSION);
    assert_status(WRITE(stand->first, SET("b", "", -1)), NO_NODE);
    assert_status(WRITE(stand->first, CHANGE(CHECK, "b", 0)), NO_NODE);
    assert_status(WRITE(stand->first, CREATE("b/c", "")), NO_NODE);
}

static void some_writes_are_wrong_in_themselves(void **state)
{
    WRITE(stand->first, CREATE("a", ""), CREATE("a/b", ""), EPHEMERAL("e"));
    assert_status(WRITE(stand->first, CHANGE(DELETE, "a", -1)), ERROR);
    assert_status(WRITE(stand->first, CREATE("e/x", "")), ERROR);
}

static void of_two_that_stand_one_is_elected(void **state)
{
    struct coord_change mine[] = {SET("epoch", "1", 0), EPHEMERAL("leader")};
    struct coord_call one = {.changes = mine, .change_count = 2, .on_done = on_done};
    struct coord_call two = one;
    unsigned before;

    WRITE(stand->first, CREATE("epoch", "0"));
    before = done_count;
    coordinator_write(stand->first, &one);
    coordinator_write(stand->second, &two);
    wait_for_calls(before + 2);
    assert_true((one.status == COORD_OK) != (two.status == COORD_OK));
    assert_status(one.status == COORD_OK ? two : one, BAD_VERSION);
    assert_int_equal(
        read_of(stand->first, at("leader")).owner,
        (one.status == COORD_OK ? stand->first : stand->second)->credentials.session);
}

/* ---- order ---- */

static void answers_come_in_the_order_of_the_calls(void **state)
{
    const struct coord_change changes[] = {CREATE("a", ""), SET("a", "2", 0)};
    struct coord_call calls[] = {
        {.changes = &changes[0], .change_count = 1, .on_done = on_done},
        {.path = at("a"), .watches = true, .on_done = on_done},
        {.path = at("nothing"), .watches = true, .on_done = on_done},
        {.changes = &changes[1], .change_count = 1, .on_done = on_done},
        {.path = stand->root, .on_done = on_done},
        {.path = at("a"), .on_done = on_done},
    };
    unsigned before = done_count;

    is_submitting = true;
    coordinator_write(stand->first, &calls[0]);
    coordinator_read(stand->first, &calls[1]);
    coordinator_read(stand->first, &calls[2]);
    coordinator_write(stand->first, &calls[3]);
    coordinator_list(stand->first, &calls[4]);
    coordinator_read(stand->first, &calls[5]);
    is_submitting = false;
    wait_for_calls(before + 6);
    for (unsigned i = 0; i < 6; i++)
        assert_ptr_equal(done_calls[before + i], &calls[i]);
    assert_int_equal(calls[1].version, 0);
    assert_status(calls[2], NO_NODE);
    assert_int_equal(calls[5].version, 1);
}

const struct CMUnitTest coordinator_contract[] = {
    cmocka_unit_test(an_open_session_has_what_it_was_granted),
    cmocka_unit_test(closing_removes_ephemerals_and_tells_nobody),
    cmocka_unit_test(closing_ends_calls_in_flight_but_not_from_inside),
    cmocka_unit_test(a_call_without_a_connection_is_unavailable),
    cmocka_unit_test(what_is_closed_can_be_opened_again),
    cmocka_unit_test(a_session_can_be_ended_by_another),
    cmocka_unit_test(it_takes_the_password_to_end_a_session),
    cmocka_unit_test(a_lost_connection_leaves_calls_unknown_and_the_session_alive),
    cmocka_unit_test(watches_work_after_a_lost_connection),
    cmocka_unit_test(what_is_written_is_read),
    cmocka_unit_test(an_ephemeral_tells_its_owner),
    cmocka_unit_test(large_data_come_back_whole),
    cmocka_unit_test(names_are_listed_whole_and_watched),
    cmocka_unit_test(a_list_has_a_number_that_grows_when_a_name_comes_or_goes),
    cmocka_unit_test(a_lists_number_does_not_grow_with_anything_else),
    cmocka_unit_test(the_end_of_a_session_gives_the_list_a_number),
    cmocka_unit_test(a_watch_tells_of_each_kind_of_change_once),
    cmocka_unit_test(ones_own_changes_are_told_too),
    cmocka_unit_test(a_write_happens_as_a_whole_or_not_at_all),
    cmocka_unit_test(a_refused_write_says_which_change_and_why),
    cmocka_unit_test(some_writes_are_wrong_in_themselves),
    cmocka_unit_test(of_two_that_stand_one_is_elected),
    cmocka_unit_test(answers_come_in_the_order_of_the_calls),
};

const size_t coordinator_contract_count =
    sizeof(coordinator_contract) / sizeof(coordinator_contract[0]);
