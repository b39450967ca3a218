#include "node/store/redis/wire/reply.h"
#include "base/tests/unit.h"

#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis.h>

struct fixture {
    struct redis_replies *replies;
    redisReader *reader;
};

static int set_up(void **state)
{
    static struct fixture f;

    f.replies = redis_replies_new();
    f.reader = redisReaderCreate();
    redis_replies_attach(f.replies, f.reader);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    redisReaderFree(f->reader);
    redis_replies_free(f->replies);
    return 0;
}

static redisReply *read_bytes(struct fixture *f, const char *bytes, size_t len)
{
    void *reply;

    assert_int_equal(redisReaderFeed(f->reader, bytes, len), REDIS_OK);
    assert_int_equal(redisReaderGetReply(f->reader, &reply), REDIS_OK);
    return reply;
}

static redisReply *read_text(struct fixture *f, const char *text)
{
    return read_bytes(f, text, strlen(text));
}

static void give_back(struct fixture *f, redisReply *reply)
{
    f->reader->fn->freeObject(reply);
}

static void all_kinds_of_answers_are_made(void **state)
{
    redisReply *r =
        read_text(*state, "*6\r\n:-7\r\n$3\r\na\r\n\r\n$-1\r\n*0\r\n+OK\r\n-ERR no\r\n");

    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->elements, 6);
    assert_int_equal(r->element[0]->type, REDIS_REPLY_INTEGER);
    assert_int_equal(r->element[0]->integer, -7);
    assert_int_equal(r->element[1]->type, REDIS_REPLY_STRING);
    assert_int_equal(r->element[1]->len, 3);
    assert_string_equal(r->element[1]->str, "a\r\n");
    assert_int_equal(r->element[2]->type, REDIS_REPLY_NIL);
    assert_int_equal(r->element[3]->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->element[3]->elements, 0);
    assert_int_equal(r->element[4]->type, REDIS_REPLY_STATUS);
    assert_string_equal(r->element[4]->str, "OK");
    assert_int_equal(r->element[5]->type, REDIS_REPLY_ERROR);
    assert_string_equal(r->element[5]->str, "ERR no");
    give_back(*state, r);
}

static void lists_in_lists_are_made(void **state)
{
    redisReply *r = read_text(*state, "*2\r\n*1\r\n*1\r\n:5\r\n$1\r\nx\r\n");

    assert_int_equal(r->element[0]->element[0]->element[0]->integer, 5);
    assert_string_equal(r->element[1]->str, "x");
    give_back(*state, r);
}

/* The sanitizers see what is not given back, and what overlaps shows in the texts. */
static void an_answer_may_be_larger_than_a_block(void **state)
{
    static char body[100000], bytes[400000];
    size_t len = (size_t)sprintf(bytes, "*3\r\n");
    redisReply *r;

    for (unsigned i = 0; i < 3; i++) {
        memset(body, (int)('a' + i), sizeof(body));
        len += (size_t)sprintf(bytes + len, "$%zu\r\n", sizeof(body));
        memcpy(bytes + len, body, sizeof(body));
        len += sizeof(body);
        len += (size_t)sprintf(bytes + len, "\r\n");
    }
    r = read_bytes(*state, bytes, len);
    for (unsigned i = 0; i < 3; i++) {
        memset(body, (int)('a' + i), sizeof(body));
        assert_int_equal(r->element[i]->len, sizeof(body));
        assert_memory_equal(r->element[i]->str, body, sizeof(body));
    }
    give_back(*state, r);
}

static void the_memory_of_an_answer_is_used_for_the_next_one(void **state)
{
    redisReply *first = read_text(*state, "*1\r\n:1\r\n"), *second;

    give_back(*state, first);
    second = read_text(*state, "*1\r\n:2\r\n");
    assert_ptr_equal(second, first);
    give_back(*state, second);
}

static void half_an_answer_is_given_back_with_its_reader(void **state)
{
    assert_null(read_text(*state, "*3\r\n:1\r\n$3\r\nabc\r\n"));
}

static void a_broken_answer_is_given_back(void **state)
{
    struct fixture *f = *state;
    void *reply;

    assert_int_equal(redisReaderFeed(f->reader, "*2\r\n:1\r\n?\r\n", 11), REDIS_OK);
    assert_int_equal(redisReaderGetReply(f->reader, &reply), REDIS_ERR);
}

/* ---- what is no answer to wait for ---- */

static const char *excess_after(struct fixture *f, const char *bytes, size_t len)
{
    void *reply;

    assert_int_equal(redisReaderFeed(f->reader, bytes, len), REDIS_OK);
    while (redisReaderGetReply(f->reader, &reply) == REDIS_OK && reply)
        give_back(f, reply);
    return redis_replies_excess(f->replies, f->reader);
}

static void assert_excess(struct fixture *f, const char *text, const char *why)
{
    const char *found = excess_after(f, text, strlen(text));

    if (why)
        assert_string_equal(found, why);
    else
        assert_null(found);
}

static void an_array_that_is_as_long_as_any_may_be_is_waited_for(void **state)
{
    assert_excess(*state, "*1048576\r\n:1\r\n", NULL);
}

static void no_memory_is_taken_for_too_many_elements(void **state)
{
    assert_excess(*state, "*2\r\n*1048577\r\n", "an answer with too many elements");
}

static void a_string_is_waited_for_by_its_length(void **state)
{
    assert_excess(*state, "*2\r\n$134217728\r\nabc", NULL);
}

static void a_string_that_nobody_has_is_not_waited_for(void **state)
{
    assert_excess(*state, "*2\r\n$134217729\r\n", "a string that is too long");
}

/* A string has its own length, and what it holds may look like anything. */
static void a_line_has_an_end(void **state)
{
    static char text[65536 + 16];
    struct fixture *f = *state;

    memset(text, 'x', sizeof(text));
    assert_null(excess_after(f, "$99999\r\n", 8));
    assert_null(excess_after(f, text, sizeof(text)));
    redisReaderFree(f->reader);
    f->reader = redisReaderCreate();
    redis_replies_attach(f->replies, f->reader);
    text[0] = '-';
    text[1] = '\n'; /* which alone ends none */
    assert_null(excess_after(f, text, 65536));
    assert_string_equal(excess_after(f, text + 65536, 1), "a line that is too long");
}

/* No string is longer than it may be, but they are so many that the memory is used up. */
static void an_answer_has_an_end(void **state)
{
    static char text[10 + (1 << 20) + 2] = "$1048576\r\n";
    const char *why = excess_after(*state, "*1000\r\n", 7);
    unsigned fed = 0;

    memcpy(text + sizeof(text) - 2, "\r\n", 2);
    for (; !why; fed++)
        why = excess_after(*state, text, sizeof(text));
    assert_string_equal(why, "an answer that is too large");
    assert_int_equal(fed, 160);
}

static void the_memory_of_an_answer_counts_for_that_one(void **state)
{
    static char text[10 + (1 << 20) + 2] = "$1048576\r\n";

    memcpy(text + sizeof(text) - 2, "\r\n", 2);
    for (unsigned fed = 0; fed < 200; fed++)
        assert_null(excess_after(*state, text, sizeof(text)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_kinds_of_answers_are_made),
        TEST(lists_in_lists_are_made),
        TEST(an_answer_may_be_larger_than_a_block),
        TEST(the_memory_of_an_answer_is_used_for_the_next_one),
        TEST(half_an_answer_is_given_back_with_its_reader),
        TEST(a_broken_answer_is_given_back),
        TEST(an_array_that_is_as_long_as_any_may_be_is_waited_for),
        TEST(no_memory_is_taken_for_too_many_elements),
        TEST(a_string_is_waited_for_by_its_length),
        TEST(a_string_that_nobody_has_is_not_waited_for),
        TEST(a_line_has_an_end),
        TEST(an_answer_has_an_end),
        TEST(the_memory_of_an_answer_counts_for_that_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
