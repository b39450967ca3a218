/* Any bytes as the body of a request.
 *
 * What the decoders take and refuse, and what they see in what they take, is judged by jansson
 * and by the rules of api_fuzz_rules.h. What they have taken is written
 * as a reply, which must be JSON and say the same again.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/api/decode.h"
#include "protocol/api/encode.h"
#include "protocol/api/tests/api_fuzz_rules.h"
#include "protocol/json/read.h"
#include "protocol/json/write.h"

#define FLAGS (JSON_DECODE_ANY | JSON_ALLOW_NUL)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* ---- pushes ---- */

/* A job as it is handed out has the bytes that were pushed. */
static void check_round_trip(const struct op *push)
{
    struct job job = {
        .id = push->id, .body = push->in.push.body, .ttr_ms = push->in.push.ttr_ms};
    struct buf reply = BUF_INIT, base64 = BUF_INIT;
    const json_t *shown, *body;
    json_t *tree;

    api_add_popped(&reply, BYTES("t"), &job, 1, NULL);
    assert(json_check(buf_bytes(&reply)) == JSON_FAULT_NONE);
    tree = json_loadb(reply.at, reply.len, FLAGS | JSON_REJECT_DUPLICATES, NULL);
    shown = json_array_get(json_object_get(tree, "jobs"), 0);
    assert(bytes_equal(fuzz_text_of(json_object_get(shown, "id")), push->id));
    body = json_object_get(shown, "body");
    if (body) {
        assert(bytes_equal(fuzz_text_of(body), push->in.push.body));
    } else {
        json_add_base64(&base64, push->in.push.body);
        assert(bytes_equal(fuzz_text_of(json_object_get(shown, "body_base64")),
                           bytes_of(base64.at + 1, base64.len - 2)));
    }
    json_decref(tree);
    buf_fini(&reply);
    buf_fini(&base64);
}

/* As it was given, and shown again. */
static void check_backoff(const struct backoff *backoff, const json_t *given)
{
    struct buf reply = BUF_INIT;
    json_t *tree;

    assert(backoff->base_ms == fuzz_number_of(given, "base_ms", 0));
    assert(backoff->cap_ms == fuzz_number_of(given, "cap_ms", 0));
    assert(backoff->jitter_percent == fuzz_number_of(given, "jitter_percent", 0));
    api_add_backoff(&reply, backoff);
    tree = json_loadb(reply.at, reply.len, FLAGS | JSON_REJECT_DUPLICATES, NULL);
    assert(fuzz_is_good_backoff(tree));
    assert(!given || json_equal(json_object_get(tree, "kind"), json_object_get(given, "kind")));
    json_decref(tree);
    buf_fini(&reply);
}

static void check_push(const struct op *push, const json_t *job)
{
    const json_t *id = json_object_get(job, "id"), *body = json_object_get(job, "body");
    struct buf base64 = BUF_INIT;

    assert(bytes_equal(push->id, id ? fuzz_text_of(id) : BYTES("")));
    assert(push->in.push.delay_ms == fuzz_number_of(job, "delay_ms", 0));
    assert(push->in.push.at_ms == fuzz_number_of(job, "at_ms", 0));
    assert(push->in.push.ttr_ms == fuzz_number_of(job, "ttr_ms", 0));
    assert(push->in.push.ttl_ms == fuzz_number_of(job, "ttl_ms", 0));
    assert(push->in.push.rules.priority == fuzz_number_of(job, "priority", 0));
    assert(push->in.push.rules.max_tries == fuzz_number_of(job, "max_tries", 0));
    assert(!(push->in.push.given & SETTING_BIT(TTR)) == !json_object_get(job, "ttr_ms"));
    assert(!(push->in.push.given & SETTING_BIT(TTL)) == !json_object_get(job, "ttl_ms"));
    assert(!(push->in.push.given & SETTING_BIT(PRIORITY)) == !json_object_get(job, "priority"));
    assert(!(push->in.push.given & SETTING_BIT(MAX_TRIES)) ==
           !json_object_get(job, "max_tries"));
    assert(!(push->in.push.given & SETTING_BIT(BACKOFF)) == !json_object_get(job, "backoff"));
    check_backoff(&push->in.push.rules.backoff, json_object_get(job, "backoff"));
    if (body) {
        assert(bytes_equal(push->in.push.body, fuzz_text_of(body)));
    } else {
        json_add_base64(&base64, push->in.push.body);
        assert(bytes_equal(fuzz_text_of(json_object_get(job, "body_base64")),
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
    struct op push = {.verb = OP_PUSH};
    struct api_why why;

    if (api_decode_push(value, &push, &why) == STATUS_OK) {
        assert(!has_twins && fuzz_is_good_push(job));
        check_push(&push, job);
    } else {
        assert(has_twins || !fuzz_is_good_push(job));
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

    if (api_count(value, "jobs", &count, &why)) {
        assert(expected < 1 || expected > API_ITEMS_MAX);
        return;
    }
    assert(count == expected);
    for (size_t i = 0; json_walk_element(&walk, &item); i++)
        if (!has_twins)
            try_push(item, json_array_get(jobs, i), false);
}

/* As a pop writes it: the same, but for a few zeros in front of the number. */
static void check_lease(const struct op *op, const json_t *lease)
{
    struct job job = {.stamp = op->in.lease.stamp};
    struct bytes given = fuzz_text_of(lease), shown;
    struct buf reply = BUF_INIT;
    json_t *tree;

    api_add_popped(&reply, BYTES("t"), &job, 1,
                   op->in.lease.has_check ? &op->in.lease.check : NULL);
    tree = json_loadb(reply.at, reply.len, FLAGS | JSON_REJECT_DUPLICATES, NULL);
    shown = fuzz_text_of(
        json_object_get(json_array_get(json_object_get(tree, "jobs"), 0), "lease"));
    assert(given.len >= shown.len);
    assert(bytes_equal(bytes_of(given.at + given.len - shown.len, shown.len), shown));
    json_decref(tree);
    buf_fini(&reply);
}

static void try_lease(struct bytes value, enum op_verb verb, json_t *object, bool has_twins)
{
    const char *number = verb == OP_RELEASE ? "delay_ms" : verb == OP_TOUCH ? "ttr_ms" : NULL;
    int64_t max = verb == OP_RELEASE ? QUEUE_DELAY_MAX_MS : QUEUE_TTR_MAX_MS;
    struct op op = {.verb = verb};
    struct api_why why;

    if (api_decode_lease(value, &op, &why) == STATUS_OK) {
        assert(!has_twins && fuzz_is_good_lease(object, number, max));
        assert(op.in.lease.stamp ==
               strtoll(json_string_value(json_object_get(object, "lease")), NULL, 10));
        check_lease(&op, json_object_get(object, "lease"));
        assert(op.in.lease.delay_ms ==
               (verb == OP_RELEASE ? fuzz_number_of(object, number, -1) : 0));
        assert(op.in.lease.ttr_ms ==
               (verb == OP_TOUCH ? fuzz_number_of(object, number, 0) : 0));
    } else {
        assert(has_twins || !fuzz_is_good_lease(object, number, max));
        check_why(&why);
    }
}

/* ---- other bodies ---- */

static void try_leases(struct bytes value, json_t *object, bool has_twins)
{
    const json_t *list = json_object_get(object, "leases");
    struct op op = {.verb = OP_ACK};
    struct json_walk walk;
    struct api_why why;
    struct bytes item;
    unsigned count = 0;
    enum status status = api_decode_leases(value, &item, &count, &why);

    assert(has_twins ||
           (status == STATUS_OK) ==
               (json_is_array(list) && json_array_size(list) >= 1 &&
                json_array_size(list) <= API_ITEMS_MAX && json_object_size(object) == 1));
    if (status != STATUS_OK)
        return;
    walk = json_walk_into(item);
    for (size_t i = 0; json_walk_element(&walk, &item); i++) {
        const json_t *one = json_array_get(list, i);
        bool is_good = api_decode_one_lease(item, &op, &why) == STATUS_OK;

        assert(!is_good || has_twins ||
               (json_object_size(one) == 2 &&
                bytes_equal(op.id, fuzz_text_of(json_object_get(one, "id")))));
    }
}

static void try_move(struct bytes value, json_t *object, bool has_twins)
{
    struct op op = {.verb = OP_MOVE};
    struct api_why why;
    bool is_good = fuzz_is_good_time(object, "delay_ms", "at_ms", 0, OBJECT_MOMENT_MIN,
                                     QUEUE_AT_MAX_MS, 1);

    if (api_decode_move(value, &op, &why)) {
        assert(has_twins || !is_good);
        return;
    }
    assert(!has_twins && is_good);
    assert(op.in.move.delay_ms == fuzz_number_of(object, "delay_ms", 0));
    assert(op.in.move.at_ms == fuzz_number_of(object, "at_ms", 0));
}

static void try_pause(struct bytes value, json_t *object, bool has_twins)
{
    struct op op = {.verb = OP_CONFIGURE};
    struct api_why why;
    bool is_good = fuzz_is_good_time(object, "for_ms", "until_ms", 1, OBJECT_MOMENT_MIN,
                                     SETTINGS_FOREVER - 1, 0);

    if (api_decode_pause(value, &op, &why)) {
        assert(has_twins || !is_good);
        return;
    }
    assert(!has_twins && is_good);
    assert(op.in.configure.pause_ms == fuzz_number_of(object, "for_ms", 0));
    assert(op.in.configure.settings.paused_until_ms ==
           fuzz_number_of(object, "until_ms", SETTINGS_FOREVER));
}

static void try_sweep(struct bytes value, enum op_verb verb, json_t *object, bool has_twins)
{
    struct sweep sweep = {.verb = verb};
    struct api_why why;

    if (api_decode_sweep(value, &sweep, &why)) {
        assert(has_twins || !fuzz_is_good_sweep(object, verb));
        return;
    }
    assert(!has_twins && fuzz_is_good_sweep(object, verb));
    assert(sweep.limit == (uint64_t)fuzz_number_of(object, "limit", 0));
    assert(sweep.since_ms == fuzz_number_of(object, "since_ms", 0));
    assert(sweep.before_ms == fuzz_number_of(object, "before_ms", 0));
    assert(verb == OP_KICK ||
           sweep.states == fuzz_states_of(json_object_get(object, "states")));
}

/* What is set is shown again as it was. */
static void check_settings(const struct op *op, json_t *object)
{
    const struct settings_row row = {.topic = BYTES("t"),
                                     .settings = op->in.configure.settings};
    struct buf reply = BUF_INIT;
    const char *name;
    json_t *tree, *own, *value;

    api_add_own_settings(&reply, &row, 0);
    tree = json_loadb(reply.at, reply.len, FLAGS | JSON_REJECT_DUPLICATES, NULL);
    own = json_object_get(tree, "own");
    json_object_foreach(object, name, value)
    {
        if (strcmp(name, "backoff") != 0)
            assert(json_is_null(value) ? !json_object_get(own, name)
                                       : json_equal(value, json_object_get(own, name)));
    }
    assert((size_t)__builtin_popcount(op->in.configure.mask) == json_object_size(object));
    assert((size_t)__builtin_popcount(op->in.configure.settings.set) == json_object_size(own));
    json_decref(tree);
    buf_fini(&reply);
}

static void try_settings(struct bytes value, json_t *object, bool has_twins)
{
    struct op op = {.verb = OP_CONFIGURE};
    struct api_why why;

    if (api_decode_settings(value, &op, &why)) {
        assert(has_twins || !fuzz_are_good_settings(object));
        return;
    }
    assert(!has_twins && fuzz_are_good_settings(object));
    check_settings(&op, object);
}

static void try_push_or_list(struct bytes value, json_t *tree, bool has_twins)
{
    if (json_is_array(tree))
        try_list(value, tree, has_twins);
    else
        try_push(value, tree, has_twins);
}

static void try_ack(struct bytes value, json_t *tree, bool has_twins)
{
    try_lease(value, OP_ACK, tree, has_twins);
}

static void try_release(struct bytes value, json_t *tree, bool has_twins)
{
    try_lease(value, OP_RELEASE, tree, has_twins);
}

static void try_touch(struct bytes value, json_t *tree, bool has_twins)
{
    try_lease(value, OP_TOUCH, tree, has_twins);
}

static void try_bury(struct bytes value, json_t *tree, bool has_twins)
{
    try_lease(value, OP_BURY, tree, has_twins);
}

static void try_kick(struct bytes value, json_t *tree, bool has_twins)
{
    try_sweep(value, OP_KICK, tree, has_twins);
}

static void try_purge(struct bytes value, json_t *tree, bool has_twins)
{
    try_sweep(value, OP_PURGE, tree, has_twins);
}

/* ---- any body, as each of them ---- */

static void (*const tries[])(struct bytes value, json_t *tree, bool has_twins) = {
    try_push_or_list, try_ack,  try_release, try_touch, try_bury,     try_leases,
    try_move,         try_kick, try_purge,   try_pause, try_settings,
};

/* On a copy of exactly these bytes, because they are changed. `tree` is NULL where the bytes
 * are no JSON that jansson can hold; `has_twins`: two members of an object have the same name.
 */
static void try_body(struct bytes body, size_t kind, json_t *tree, bool has_twins)
{
    char *copy = malloc(body.len ? body.len : 1);
    struct bytes value;
    struct api_why why;

    assert(copy);
    memcpy(copy, body.at, body.len);
    if (api_decode(bytes_of(copy, body.len), &value, &why))
        check_why(&why);
    else if (tree)
        tries[kind](value, tree, has_twins);
    free(copy);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct bytes body = bytes_of((const char *)data, size);
    json_t *tree, *strict;

    if (memchr(data, 0, size))
        return 0; /* jansson takes it for the end of the text */
    tree = json_loadb(body.at, body.len, FLAGS, NULL);
    strict = json_loadb(body.at, body.len, FLAGS | JSON_REJECT_DUPLICATES, NULL);
    for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++)
        try_body(body, i, tree, !strict);
    json_decref(tree);
    json_decref(strict);
    return 0;
}
