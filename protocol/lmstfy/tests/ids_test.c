/* Ids, and the names of namespaces and queues. */
#include "base/tests/unit.h"

#include <stdio.h>
#include <string.h>

#include "protocol/lmstfy/codec.h"

#define BUCKETS 16
#define NUMBER  "13370158208" /* n = 835634888, 26113590 ms after 2026 began */

static const char *id_for(const char *id, unsigned buckets)
{
    static char text[256];
    struct buf to = BUF_INIT;

    lmstfy_add_id(&to, bytes_of_text(id), buckets);
    assert_true(to.len < sizeof(text));
    snprintf(text, sizeof(text), "%.*s", (int)to.len, to.at);
    buf_fini(&to);
    return text;
}

static const char *id_from(const char *given, unsigned buckets)
{
    static char text[256];
    char room[LMSTFY_ID_ROOM];
    struct bytes id = lmstfy_read_id(bytes_of_text(given), buckets, room);

    snprintf(text, sizeof(text), "%.*s", (int)id.len, id.at);
    return text;
}

static void a_number_becomes_a_ulid_and_comes_back(void **state)
{
    static const char *const numbers[] = {"1", "16", NUMBER, "9007199254740991",
                                          "143000000000000000"};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        const char *ulid = id_for(numbers[i], BUCKETS);

        assert_int_equal(strlen(ulid), LMSTFY_ULID_CHARS);
        assert_int_equal(strspn(ulid, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), LMSTFY_ULID_CHARS);
        assert_string_equal(id_from(ulid, BUCKETS), numbers[i]);
    }
}

/* 01KDVDNA00 is what a ULID of 2026-01-01T00:00:00Z begins with. */
static void a_ulid_begins_with_the_time_of_its_number(void **state)
{
    (void)state;
    assert_memory_equal(id_for("1", BUCKETS), "01KDVDNA00", 10);
    assert_memory_equal(id_for("512", BUCKETS), "01KDVDNA01", 10);
    assert_memory_equal(id_for("511", BUCKETS), "01KDVDNA00", 10);
    assert_memory_equal(id_for("32", 1), "01KDVDNA01", 10);
    assert_int_equal(lmstfy_id_time_ms(BYTES(NUMBER), BUCKETS),
                     JOB_ID_EPOCH_MS + INT64_C(13370158208) / 16 / 32);
}

static void ids_are_in_the_order_of_their_numbers(void **state)
{
    char before[32];

    (void)state;
    snprintf(before, sizeof(before), "%s", id_for("9999999999", BUCKETS));
    assert_true(strcmp(before, id_for("10000000000", BUCKETS)) < 0);
}

static void a_ulid_in_lower_case_is_the_same(void **state)
{
    char ulid[32];

    (void)state;
    snprintf(ulid, sizeof(ulid), "%s", id_for(NUMBER, BUCKETS));
    for (char *at = ulid; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
    assert_string_equal(id_from(ulid, BUCKETS), NUMBER);
}

static void an_id_that_is_no_number_stays_as_it_is(void **state)
{
    static const char *const ids[] = {"order-17",
                                      "0",
                                      "007",
                                      "1e3",
                                      "99999999999999999999",
                                      "9223372036854775807", /* no ULID has its time */
                                      "01KDVDNA000000000000000000",
                                      "zzzzzzzzzzzzzzzzzzzzzzzzzz",
                                      "01KDVDNA00IIIIIIIIIIIIIIII"};

    (void)state;
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        assert_string_equal(id_from(ids[i], BUCKETS), ids[i]);
    assert_string_equal(id_for("order-17", BUCKETS), "order-17");
    assert_string_equal(id_for("007", BUCKETS), "007");
    assert_string_equal(id_for("9223372036854775807", 1), "9223372036854775807");
    assert_int_equal(lmstfy_id_time_ms(BYTES("order-17"), BUCKETS), -1);
}

/* One bit elsewhere is another ULID: nobody guesses the number of another job by it. */
static void a_ulid_of_somebody_else_is_refused(void **state)
{
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    char ulid[32], foreign[32];

    (void)state;
    snprintf(ulid, sizeof(ulid), "%s", id_for(NUMBER, BUCKETS));
    for (unsigned i = 0; i < LMSTFY_ULID_CHARS; i++)
        for (unsigned bit = 0; bit < 5; bit++) {
            unsigned digit = (unsigned)(strchr(alphabet, ulid[i]) - alphabet);

            snprintf(foreign, sizeof(foreign), "%s", ulid);
            foreign[i] = alphabet[digit ^ 1u << bit];
            assert_string_equal(id_from(foreign, BUCKETS), foreign);
        }
    assert_string_equal(id_from(ulid, BUCKETS * 2), ulid); /* of another cluster */
    assert_string_equal(id_from("01ARZ3NDEKTSV4RRFFQ69G5FAV", BUCKETS),
                        "01ARZ3NDEKTSV4RRFFQ69G5FAV");
}

/* ---- names ---- */

static void assert_names(const char *space, const char *queue, bool is_list, const char *why)
{
    const char *found = lmstfy_check_names(bytes_of_text(space), bytes_of_text(queue), is_list);

    if (why)
        assert_string_equal(found, why);
    else
        assert_null(found);
}

static void names_are_lmstfys(void **state)
{
    static const char bad_queue[] = "queue name contains forbidden characters";
    static const char bad_space[] = "namespace name contains forbidden characters";
    char longest[258];

    (void)state;
    memset(longest, 'a', sizeof(longest));
    longest[256] = '\0';
    assert_names("ns", "q", false, NULL);
    assert_names("N_s-1", "Q_-9", false, NULL);
    assert_names("ns", "_q", false, bad_queue);
    assert_names("_ns", "q", false, NULL);
    assert_names("ns", "q,r", false, bad_queue);
    assert_names("ns", "q,_r", true, NULL);
    assert_names("ns", "q.r", true, bad_queue);
    assert_names("n,s", "q", true, bad_space);
    assert_names("n/s", "q", false, bad_space);
    assert_names("", "q", false, bad_space);
    assert_names("ns", "", false, bad_queue);
    assert_names("ns", longest, false, "namespace or queue name too long");
    assert_names(longest, "q", false, "namespace or queue name too long");
    longest[255] = '\0';
    assert_names(longest, longest, false, NULL);
}

static void a_list_of_queues_is_read_one_by_one(void **state)
{
    struct bytes rest = BYTES(",b,,a,"), queue;

    (void)state;
    assert_true(lmstfy_next_queue(&rest, &queue));
    assert_true(bytes_equal(queue, BYTES("b")));
    assert_true(lmstfy_next_queue(&rest, &queue));
    assert_true(bytes_equal(queue, BYTES("a")));
    assert_false(lmstfy_next_queue(&rest, &queue));
    rest = BYTES(",,");
    assert_false(lmstfy_next_queue(&rest, &queue));
}

static void namespace_and_queue_are_a_topic(void **state)
{
    struct buf topic = BUF_INIT;
    char longest[201];

    (void)state;
    memset(longest, 'a', sizeof(longest));
    assert_true(lmstfy_add_topic(&topic, BYTES("ns"), BYTES("q")));
    assert_string_equal(buf_text(&topic), "ns/q");
    assert_true(bytes_equal(lmstfy_space_of(buf_bytes(&topic)), BYTES("ns")));
    assert_true(bytes_equal(lmstfy_queue_of(buf_bytes(&topic)), BYTES("q")));
    assert_true(bytes_equal(lmstfy_space_of(BYTES("mail")), BYTES("")));
    assert_true(bytes_equal(lmstfy_queue_of(BYTES("mail")), BYTES("mail")));
    assert_true(lmstfy_add_topic(&topic, BYTES("ns"), bytes_of(longest, 197)));
    assert_false(lmstfy_add_topic(&topic, BYTES("ns"), bytes_of(longest, 198)));
    assert_false(lmstfy_add_topic(&topic, BYTES("-ns"), BYTES("q")));
    buf_fini(&topic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_becomes_a_ulid_and_comes_back),
        cmocka_unit_test(a_ulid_begins_with_the_time_of_its_number),
        cmocka_unit_test(ids_are_in_the_order_of_their_numbers),
        cmocka_unit_test(a_ulid_in_lower_case_is_the_same),
        cmocka_unit_test(an_id_that_is_no_number_stays_as_it_is),
        cmocka_unit_test(a_ulid_of_somebody_else_is_refused),
        cmocka_unit_test(names_are_lmstfys),
        cmocka_unit_test(a_list_of_queues_is_read_one_by_one),
        cmocka_unit_test(namespace_and_queue_are_a_topic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
