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
#include "protocol/http/api_decode_topic.h"
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

static int64_t number_of(const json_t *object, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(object, name);

    return value ? json_integer_value(value) : fallback;
}

static bool is_one_of(const json_t *value, const char *a, const char *b, const char *c)
{
    struct bytes text = json_is_string(value) ? text_of(value) : BYTES("");

    return bytes_equal(text, bytes_of_text(a)) || bytes_equal(text, bytes_of_text(b)) ||
           bytes_equal(text, bytes_of_text(c));
}

static bool is_good_backoff(const json_t *backoff)
{
    const json_t *kind = json_object_get(backoff, "kind");
    const json_t *base = json_object_get(backoff, "base_ms");
    const json_t *cap = json_object_get(backoff, "cap_ms");
    const json_t *jitter = json_object_get(backoff, "jitter_percent");
    size_t known = 1 + (base != NULL) + (cap != NULL) + (jitter != NULL);

    if (!json_is_object(backoff) || json_object_size(backoff) != known ||
        !is_one_of(kind, "none", "fixed", "exponential"))
        return false;
    if (is_one_of(kind, "none", "none", "none"))
        return known == 1;
    return base && is_number(base, RULES_BACKOFF_MAX_MS) && json_integer_value(base) > 0 &&
           (!cap || is_number(cap, RULES_BACKOFF_MAX_MS)) &&
           (!jitter || is_number(jitter, 100));
}

static const struct {
    const char *name;
    int64_t max; /* of a number */
} rules[] = {
    {"ttr_ms", QUEUE_TTR_MAX_MS},
    {"ttl_ms", QUEUE_DELAY_MAX_MS},
    {"priority", RULES_PRIORITY_MAX},
    {"max_tries", RULES_TRIES_MAX},
    {"backoff", -1},
};

static bool is_rule(const char *name)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (strcmp(name, rules[i].name) == 0)
            return true;
    return false;
}

static bool is_good_rule(const char *name, const json_t *value)
{
    if (strcmp(name, "backoff") == 0)
        return is_good_backoff(value);
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (strcmp(name, rules[i].name) == 0)
            return is_number(value, rules[i].max);
    return false;
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
    if (strcmp(name, "mode") == 0)
        return is_one_of(value, "reject", "replace", "ignore");
    return is_good_rule(name, value);
}

static bool is_good_push(json_t *job)
{
    const char *name;
    json_t *value;

    json_object_foreach(job, name, value) if (!is_good_member(name, value)) return false;
    return json_is_object(job) &&
           !json_object_get(job, "body") != !json_object_get(job, "body_base64") &&
           !(json_object_get(job, "delay_ms") && json_object_get(job, "at_ms")) &&
           (number_of(job, "ttl_ms", 0) == 0 ||
            number_of(job, "ttl_ms", 0) > number_of(job, "delay_ms", 0));
}

static bool is_good_setting(const char *name, const json_t *value)
{
    if (strcmp(name, "dead_max") == 0)
        return json_is_null(value) || is_number(value, UINT32_MAX);
    if (strcmp(name, "dead_age_ms") == 0)
        return json_is_null(value) || is_number(value, QUEUE_DELAY_MAX_MS);
    if (strcmp(name, "history") == 0)
        return json_is_null(value) || json_is_boolean(value);
    return is_rule(name) && (json_is_null(value) || is_good_rule(name, value));
}

static bool are_good_settings(json_t *object)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value) if (!is_good_setting(name, value)) return false;
    return json_object_size(object) > 0;
}

static bool is_good_time(json_t *object, const char *of_now, const char *fixed, int64_t min,
                         int64_t fixed_max, size_t members)
{
    const json_t *delay = json_object_get(object, of_now), *at = json_object_get(object, fixed);

    return json_is_object(object) && !(delay && at) &&
           json_object_size(object) == (size_t)(delay || at) &&
           json_object_size(object) >= members &&
           (!delay ||
            (is_number(delay, QUEUE_DELAY_MAX_MS) && json_integer_value(delay) >= min)) &&
           (!at || (is_number(at, fixed_max) && json_integer_value(at) >= min));
}

/* 0: they are wrong. */
static unsigned states_of(const json_t *list)
{
    static const char *const words[] = {"", "delayed", "ready", "reserved", "dead"};
    unsigned states = 0, state;
    const json_t *word;
    size_t i;

    json_array_foreach(list, i, word)
    {
        for (state = 4;
             state > 0 && !(json_is_string(word) &&
                            bytes_equal(text_of(word), bytes_of_text(words[state])));)
            state--;
        if (state == 0 || states & 1u << state)
            return 0;
        states |= 1u << state;
    }
    return states;
}

static bool is_good_sweep(json_t *object, enum op_verb verb)
{
    const json_t *limit = json_object_get(object, "limit"), *since, *before, *list;
    bool has_times;

    since = json_object_get(object, "since_ms");
    before = json_object_get(object, "before_ms");
    list = json_object_get(object, "states");
    has_times = since || before;
    if (verb == OP_PURGE && (!json_is_array(list) || !states_of(list)))
        return false;
    if (verb == OP_PURGE && has_times && states_of(list) != 1u << JOB_DEAD)
        return false;
    return json_is_object(object) &&
           json_object_size(object) == (size_t)(limit != NULL) + (since != NULL) +
                                           (before != NULL) + (verb == OP_PURGE) &&
           (!limit || (is_number(limit, 1000000000) && json_integer_value(limit) > 0)) &&
           (!since || is_number(since, QUEUE_AT_MAX_MS)) &&
           (!before || (is_number(before, QUEUE_AT_MAX_MS) && json_integer_value(before) > 0));
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

/* As it was given, and shown again. */
static void check_backoff(const struct backoff *backoff, const json_t *given)
{
    struct buf reply = BUF_INIT;
    json_t *tree;

    assert(backoff->base_ms == number_of(given, "base_ms", 0));
    assert(backoff->cap_ms == number_of(given, "cap_ms", 0));
    assert(backoff->jitter_percent == number_of(given, "jitter_percent", 0));
    api_add_backoff(&reply, backoff);
    tree = json_loadb(reply.at, reply.len, FLAGS | JSON_REJECT_DUPLICATES, NULL);
    assert(is_good_backoff(tree));
    assert(!given || json_equal(json_object_get(tree, "kind"), json_object_get(given, "kind")));
    json_decref(tree);
    buf_fini(&reply);
}

static void check_push(const struct api_push *push, const json_t *job)
{
    const json_t *id = json_object_get(job, "id"), *body = json_object_get(job, "body");
    struct buf base64 = BUF_INIT;

    assert(bytes_equal(push->id, id ? text_of(id) : BYTES("")));
    assert(push->delay_ms == number_of(job, "delay_ms", 0));
    assert(push->at_ms == number_of(job, "at_ms", 0));
    assert(push->ttr_ms == number_of(job, "ttr_ms", 0));
    assert(push->ttl_ms == number_of(job, "ttl_ms", 0));
    assert(push->rules.priority == number_of(job, "priority", 0));
    assert(push->rules.max_tries == number_of(job, "max_tries", 0));
    assert(!(push->given & SETTING_BIT(TTR)) == !json_object_get(job, "ttr_ms"));
    assert(!(push->given & SETTING_BIT(TTL)) == !json_object_get(job, "ttl_ms"));
    assert(!(push->given & SETTING_BIT(PRIORITY)) == !json_object_get(job, "priority"));
    assert(!(push->given & SETTING_BIT(MAX_TRIES)) == !json_object_get(job, "max_tries"));
    assert(!(push->given & SETTING_BIT(BACKOFF)) == !json_object_get(job, "backoff"));
    check_backoff(&push->rules.backoff, json_object_get(job, "backoff"));
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
        assert(expected < 1 || expected > API_ITEMS_MAX);
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
        assert(lease.delay_ms == (verb == OP_RELEASE ? number_of(object, number, -1) : 0));
        assert(lease.ttr_ms == (verb == OP_TOUCH ? number_of(object, number, 0) : 0));
    } else {
        assert(has_twins || !is_good_lease(object, number, max));
        check_why(&why);
    }
}

static void try_leases(struct bytes value, json_t *object, bool has_twins)
{
    const json_t *list = json_object_get(object, "leases");
    struct api_lease lease;
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
        bool is_good = api_decode_one_lease(item, &lease, &why) == STATUS_OK;

        assert(!is_good || has_twins ||
               (json_object_size(one) == 2 &&
                bytes_equal(lease.id, text_of(json_object_get(one, "id")))));
    }
}

static void try_move(struct bytes value, json_t *object, bool has_twins)
{
    struct api_move move;
    struct api_why why;
    bool is_good = is_good_time(object, "delay_ms", "at_ms", 0, QUEUE_AT_MAX_MS, 1);

    if (api_decode_move(value, &move, &why)) {
        assert(has_twins || !is_good);
        return;
    }
    assert(!has_twins && is_good);
    assert(move.delay_ms == number_of(object, "delay_ms", 0));
    assert(move.at_ms == number_of(object, "at_ms", 0));
}

static void try_pause(struct bytes value, json_t *object, bool has_twins)
{
    struct api_pause pause;
    struct api_why why;
    bool is_good = is_good_time(object, "for_ms", "until_ms", 1, SETTINGS_FOREVER - 1, 0);

    if (api_decode_pause(value, &pause, &why)) {
        assert(has_twins || !is_good);
        return;
    }
    assert(!has_twins && is_good);
    assert(pause.for_ms == number_of(object, "for_ms", 0));
    assert(pause.until_ms == number_of(object, "until_ms", SETTINGS_FOREVER));
}

static void try_sweep(struct bytes value, enum op_verb verb, json_t *object, bool has_twins)
{
    struct api_sweep sweep;
    struct api_why why;

    if (api_decode_sweep(value, verb, &sweep, &why)) {
        assert(has_twins || !is_good_sweep(object, verb));
        return;
    }
    assert(!has_twins && is_good_sweep(object, verb));
    assert(sweep.limit == (uint64_t)number_of(object, "limit", 0));
    assert(sweep.since_ms == number_of(object, "since_ms", 0));
    assert(sweep.before_ms == number_of(object, "before_ms", 0));
    assert(verb == OP_KICK || sweep.states == states_of(json_object_get(object, "states")));
}

/* What is set is shown again as it was. */
static void check_settings(const struct api_settings *settings, json_t *object)
{
    const struct settings_row row = {.topic = BYTES("t"), .settings = settings->settings};
    struct buf reply = BUF_INIT;
    const char *name;
    json_t *tree, *own, *value;

    api_add_settings(&reply, &row, NULL, 0);
    tree = json_loadb(reply.at, reply.len, FLAGS | JSON_REJECT_DUPLICATES, NULL);
    own = json_object_get(tree, "own");
    json_object_foreach(object, name, value)
    {
        if (strcmp(name, "backoff") != 0)
            assert(json_is_null(value) ? !json_object_get(own, name)
                                       : json_equal(value, json_object_get(own, name)));
    }
    assert((size_t)__builtin_popcount(settings->mask) == json_object_size(object));
    assert((size_t)__builtin_popcount(settings->settings.set) == json_object_size(own));
    json_decref(tree);
    buf_fini(&reply);
}

static void try_settings(struct bytes value, json_t *object, bool has_twins)
{
    struct api_settings settings;
    struct api_why why;

    if (api_decode_settings(value, &settings, &why)) {
        assert(has_twins || !are_good_settings(object));
        return;
    }
    assert(!has_twins && are_good_settings(object));
    check_settings(&settings, object);
}

static void try_value(struct bytes value, enum op_verb verb, json_t *tree, bool has_twins)
{
    if (verb == OP_KICK || verb == OP_PURGE)
        try_sweep(value, verb, tree, has_twins);
    else if (verb == OP_DELIVERED) /* of several leases: it stands for the acks of a list */
        try_leases(value, tree, has_twins);
    else if (verb == OP_MOVE)
        try_move(value, tree, has_twins);
    else if (verb == OP_CONFIGURE)
        try_settings(value, tree, has_twins);
    else if (verb == OP_SETTINGS) /* stands for the pause */
        try_pause(value, tree, has_twins);
    else if (verb != OP_PUSH)
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
    static const enum op_verb verbs[] = {OP_PUSH,  OP_ACK,       OP_RELEASE, OP_TOUCH,
                                         OP_BURY,  OP_DELIVERED, OP_MOVE,    OP_KICK,
                                         OP_PURGE, OP_CONFIGURE, OP_SETTINGS};
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
