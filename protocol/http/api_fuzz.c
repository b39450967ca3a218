/* Any bytes as the body of a request.
 *
 * What the decoders take and refuse, and what they see in what they take, is judged by jansson
 * and by rules written a second time here, in the plainest way. What they have taken is written
 * as a reply, which must be JSON and say the same again.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "node/queue/queue.h"
#include "protocol/http/api_decode.h"
#include "protocol/http/api_encode.h"
#include "protocol/json_check.h"
#include "protocol/json_text.h"
#include "protocol/json_walk.h"

#define FLAGS (JSON_DECODE_ANY | JSON_ALLOW_NUL)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static struct bytes text_of(const json_t *string)
{
    return bytes_of(json_string_value(string), json_string_length(string));
}

/* ---- the rules, a second time ---- */

static bool is_base64(const json_t *string)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct bytes text = text_of(string);
    size_t span = strspn(text.at, digits), padding = text.len - span;
    size_t last;

    if (text.len % 4 != 0 || padding > 2 || strspn(text.at + span, "=") != padding)
        return false;
    if (padding == 0)
        return true;
    last = (size_t)(strchr(digits, text.at[span - 1]) - digits);
    return last % (padding == 1 ? 4 : 16) == 0;
}

static bool is_number(const json_t *value, int64_t max)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= max;
}

static bool is_good_member(const char *name, const json_t *value)
{
    if (strcmp(name, "body") == 0)
        return json_is_string(value);
    if (strcmp(name, "body_base64") == 0)
        return json_is_string(value) && is_base64(value);
    if (strcmp(name, "id") == 0)
        return json_is_string(value) && json_string_length(value) > 0;
    if (strcmp(name, "delay_ms") == 0)
        return is_number(value, QUEUE_DELAY_MAX_MS);
    if (strcmp(name, "at_ms") == 0)
        return is_number(value, QUEUE_AT_MAX_MS);
    return strcmp(name, "ttr_ms") == 0 && is_number(value, QUEUE_TTR_MAX_MS);
}

static bool is_good_push(json_t *job)
{
    const char *name;
    json_t *value;

    json_object_foreach(job, name, value) if (!is_good_member(name, value)) return false;
    return json_is_object(job) &&
           !json_object_get(job, "body") != !json_object_get(job, "body_base64") &&
           !(json_object_get(job, "delay_ms") && json_object_get(job, "at_ms"));
}

static bool is_good_lease(json_t *object, const char *number, int64_t max)
{
    const json_t *lease = json_object_get(object, "lease");
    const char *text = json_is_string(lease) ? json_string_value(lease) : "";
    const json_t *beside = number ? json_object_get(object, number) : NULL;

    return text[0] && strspn(text, "0123456789") == json_string_length(lease) &&
           strtoll(text, NULL, 10) <= JOB_STAMP_MAX && (!beside || is_number(beside, max)) &&
           json_object_size(object) == (beside ? 2 : 1);
}

static int64_t number_of(const json_t *object, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(object, name);

    return value ? json_integer_value(value) : fallback;
}

/* ---- what is decoded, against that ---- */

/* A job as it is handed out has the bytes that were pushed. */
static void check_round_trip(const struct api_push *push)
{
    struct job job = {.id = push->id, .body = push->body, .ttr_ms = push->ttr_ms};
    struct buf reply = BUF_INIT, base64 = BUF_INIT;
    const json_t *shown, *body;
    json_t *tree;

    api_add_popped(&reply, BYTES("t"), &job, 1);
    assert(json_check(buf_bytes(&reply)) == JSON_FAULT_NONE);
    tree = json_loadb(reply.at, reply.len, FLAGS | JSON_REJECT_DUPLICATES, NULL);
    shown = json_array_get(json_object_get(tree, "jobs"), 0);
    assert(bytes_equal(text_of(json_object_get(shown, "id")), push->id));
    body = json_object_get(shown, "body");
    if (body) {
        assert(bytes_equal(text_of(body), push->body));
    } else {
        json_add_base64(&base64, push->body);
        assert(bytes_equal(text_of(json_object_get(shown, "body_base64")),
                           bytes_of(base64.at + 1, base64.len - 2)));
    }
    json_decref(tree);
    buf_fini(&reply);
    buf_fini(&base64);
}

static void check_push(const struct api_push *push, const json_t *job)
{
    const json_t *id = json_object_get(job, "id"), *body = json_object_get(job, "body");
    struct buf base64 = BUF_INIT;

    assert(bytes_equal(push->id, id ? text_of(id) : BYTES("")));
    assert(push->delay_ms == number_of(job, "delay_ms", 0));
    assert(push->at_ms == number_of(job, "at_ms", 0));
    assert(push->ttr_ms == number_of(job, "ttr_ms", API_TTR_DEFAULT_MS));
    if (body) {
        assert(bytes_equal(push->body, text_of(body)));
    } else {
        json_add_base64(&base64, push->body);
        assert(bytes_equal(text_of(json_object_get(job, "body_base64")),
                           bytes_of(base64.at + 1, base64.len - 2)));
    }
    buf_fini(&base64);
    check_round_trip(push);
}

static void check_why(const struct api_why *why)
{
    size_t len = strnlen(why->text, sizeof(why->text));

    assert(len > 0 && len < sizeof(why->text));
}

/* `value` is decoded in place. */
static void try_push(struct bytes value, json_t *job, bool has_twins)
{
    struct api_push push;
    struct api_why why;

    if (api_decode_push(value, &push, &why) == STATUS_OK) {
        assert(!has_twins && is_good_push(job));
        check_push(&push, job);
    } else {
        assert(has_twins || !is_good_push(job));
        check_why(&why);
    }
}

static void try_list(struct bytes value, const json_t *jobs, bool has_twins)
{
    struct json_walk walk = json_walk_into(value);
    size_t expected = json_array_size(jobs);
    struct api_why why;
    struct bytes item;
    unsigned count = 0;

    if (api_count_jobs(value, &count, &why)) {
        assert(expected < 1 || expected > API_JOBS_MAX);
        return;
    }
    assert(count == expected);
    for (size_t i = 0; json_walk_element(&walk, &item); i++)
        if (!has_twins)
            try_push(item, json_array_get(jobs, i), false);
}

static void try_lease(struct bytes value, enum op_verb verb, json_t *object, bool has_twins)
{
    const char *number = verb == OP_RELEASE ? "delay_ms" : verb == OP_TOUCH ? "ttr_ms" : NULL;
    int64_t max = verb == OP_RELEASE ? QUEUE_DELAY_MAX_MS : QUEUE_TTR_MAX_MS;
    struct api_lease lease;
    struct api_why why;

    if (api_decode_lease(value, verb, &lease, &why) == STATUS_OK) {
        assert(!has_twins && is_good_lease(object, number, max));
        assert(lease.stamp ==
               strtoll(json_string_value(json_object_get(object, "lease")), NULL, 10));
        assert(lease.delay_ms == (verb == OP_RELEASE ? number_of(object, number, 0) : 0));
        assert(lease.ttr_ms == (verb == OP_TOUCH ? number_of(object, number, 0) : 0));
    } else {
        assert(has_twins || !is_good_lease(object, number, max));
        check_why(&why);
    }
}

static void try_value(struct bytes value, enum op_verb verb, json_t *tree, bool has_twins)
{
    if (verb != OP_PUSH)
        try_lease(value, verb, tree, has_twins);
    else if (json_is_array(tree))
        try_list(value, tree, has_twins);
    else
        try_push(value, tree, has_twins);
}

/* On a copy of exactly these bytes, because they are changed. `tree` is NULL where the bytes
 * are no JSON that jansson can hold; `has_twins`: two members of an object have the same name.
 */
static void try_body(struct bytes body, enum op_verb verb, json_t *tree, bool has_twins)
{
    char *copy = malloc(body.len ? body.len : 1);
    struct bytes value;
    struct api_why why;

    assert(copy);
    memcpy(copy, body.at, body.len);
    if (api_decode(bytes_of(copy, body.len), &value, &why))
        check_why(&why);
    else if (tree)
        try_value(value, verb, tree, has_twins);
    free(copy);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const enum op_verb verbs[] = {OP_PUSH, OP_ACK, OP_RELEASE, OP_TOUCH};
    struct bytes body = bytes_of((const char *)data, size);
    json_t *tree, *strict;

    if (memchr(data, 0, size))
        return 0; /* jansson takes it for the end of the text */
    tree = json_loadb(body.at, body.len, FLAGS, NULL);
    strict = json_loadb(body.at, body.len, FLAGS | JSON_REJECT_DUPLICATES, NULL);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        try_body(body, verbs[i], tree, !strict);
    json_decref(tree);
    json_decref(strict);
    return 0;
}
