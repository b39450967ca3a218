/* To add an operation: its line in op.h, its script in lua/ (and in CMakeLists.txt), its row
 * here and in reply.c, its row in doc/store.md.
 */
#include "node/store/scripts.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *script_text_by_name(const char *name)
{
    for (const struct script_text *row = script_texts; row->name; row++) {
        if (!strcmp(row->name, name))
            return row->text;
    }
    return NULL;
}

const char *script_text(enum op_verb verb)
{
    return script_text_by_name(op_word(verb));
}

/* ---- arguments ---- */

static void add(struct script_call *call, const char *at, size_t len)
{
    assert(call->argc < SCRIPT_ARGS_MAX);
    call->argv[call->argc] = at ? at : "";
    call->lens[call->argc++] = len;
}

static void add_bytes(struct script_call *call, struct bytes bytes)
{
    add(call, bytes.at, bytes.len);
}

static void add_text(struct script_call *call, const char *text)
{
    add(call, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void add_format(struct script_call *call,
                                                             const char *format, ...)
{
    char *at = call->room + call->used;
    size_t left = sizeof(call->room) - call->used;
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(at, left, format, args);
    va_end(args);
    assert(len >= 0 && (size_t)len < left);
    call->used += (size_t)len + 1;
    add(call, at, (size_t)len);
}

/* A call for each connection, request and key: snprintf is what shows in the profile. */
static void add_number(struct script_call *call, int64_t number)
{
    char *end = call->room + call->used + 20, *at = end;
    uint64_t left = (uint64_t)number;

    assert(number >= 0 && call->used + 20 <= sizeof(call->room));
    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10));
    call->used += 20;
    add(call, at, (size_t)(end - at));
}

/* Big-endian, into the room. */
static void pack(struct script_call *call, unsigned bytes, int64_t number)
{
    assert(number >= 0 && number >> (8 * bytes) == 0);
    assert(call->used + bytes <= sizeof(call->room));
    while (bytes-- > 0)
        call->room[call->used++] = (char)(uint8_t)(number >> (8 * bytes));
}

/* As in the job's header, so that scripts compare it without unpacking. */
static void add_stamp(struct script_call *call, int64_t stamp)
{
    char *at = call->room + call->used;

    pack(call, 6, stamp);
    add(call, at, 6);
}

/* ---- keys ---- */

static bool is_of_the_bucket(char letter)
{
    return letter == 't' || letter == 'n' || letter == 'o' || letter == 'a';
}

/* What the keys of a bucket begin with, `dq:{7}:`; returns its length. */
static size_t write_bucket(char *at, const struct script_keys *keys, unsigned bucket)
{
    char *end = stpcpy(at, keys->prefix);

    assert(bucket < 1000);
    *end++ = ':';
    *end++ = '{';
    if (bucket >= 100)
        *end++ = (char)('0' + bucket / 100);
    if (bucket >= 10)
        *end++ = (char)('0' + bucket / 10 % 10);
    *end++ = (char)('0' + bucket % 10);
    *end++ = '}';
    *end++ = ':';
    return (size_t)(end - at);
}

static void add_keys(struct script_call *call, const struct script_keys *keys,
                     const struct op *op, const char *letters)
{
    char bucket[SCRIPT_PREFIX_MAX + 8];
    size_t bucket_len = write_bucket(bucket, keys, op->bucket);

    for (; *letters; letters++) {
        char *at = call->room + call->used;
        size_t len = bucket_len + 1;

        assert(call->used + len + 1 + op->topic.len <= sizeof(call->room));
        memcpy(at, bucket, bucket_len);
        at[bucket_len] = *letters;
        if (!is_of_the_bucket(*letters)) {
            at[len++] = ':';
            memcpy(at + len, op->topic.at, op->topic.len);
            len += op->topic.len;
        }
        call->used += len;
        add(call, at, len);
    }
}

/* ---- the verbs ---- */

static void add_push(struct script_call *call, const struct script_keys *keys,
                     const struct op *op)
{
    const char *at;

    add_bytes(call, op->topic);
    add_bytes(call, op->id);
    add_bytes(call, op->in.push.body);
    at = call->room + call->used;
    pack(call, 5, op->in.push.at_ms ? 0 : op->in.push.delay_ms);
    pack(call, 6, op->in.push.at_ms);
    pack(call, 4, op->in.push.ttr_ms);
    pack(call, 1, keys->buckets);
    pack(call, 1, op->bucket);
    add(call, at, 17);
}

static void add_pop(struct script_call *call, const struct script_keys *keys,
                    const struct op *op)
{
    assert(op->in.pop.count >= 1 && op->in.pop.count <= OP_ITEMS_MAX);
    add_bytes(call, op->topic);
    add_number(call, op->in.pop.count);
    add_number(call, op->in.pop.id_only);
}

static void add_leases(struct script_call *call, const struct script_keys *keys,
                       const struct op *op)
{
    assert(op->in.leases.count >= 1 && op->in.leases.count <= OP_ITEMS_MAX);
    add_bytes(call, op->topic);
    for (unsigned i = 0; i < op->in.leases.count; i++) {
        const struct lease *lease = &op->in.leases.items[i];

        add_bytes(call, lease->id);
        add_stamp(call, lease->stamp);
        if (lease->has_ttr && op->verb == OP_DELIVERED) {
            pack(call, 4, lease->ttr_ms);
            call->lens[call->argc - 1] += 4; /* right behind the stamp */
        }
    }
}

static void add_lease(struct script_call *call, const struct script_keys *keys,
                      const struct op *op)
{
    add_bytes(call, op->topic);
    add_bytes(call, op->id);
    add_stamp(call, op->in.lease.stamp);
}

static void add_release(struct script_call *call, const struct script_keys *keys,
                        const struct op *op)
{
    add_lease(call, keys, op);
    add_number(call, op->in.lease.delay_ms);
}

static void add_touch(struct script_call *call, const struct script_keys *keys,
                      const struct op *op)
{
    add_lease(call, keys, op);
    add_number(call, op->in.lease.ttr_ms);
}

static void add_cancel(struct script_call *call, const struct script_keys *keys,
                       const struct op *op)
{
    add_bytes(call, op->topic);
    add_bytes(call, op->id);
}

static void add_id(struct script_call *call, const struct script_keys *keys,
                   const struct op *op)
{
    add_bytes(call, op->id);
}

static void add_nothing(struct script_call *call, const struct script_keys *keys,
                        const struct op *op)
{
}

static void add_page(struct script_call *call, const struct script_keys *keys,
                     const struct op *op)
{
    assert(op->in.topics.limit >= 1 && op->in.topics.limit <= OP_TOPICS_MAX);
    add_bytes(call, op->in.topics.after);
    add_number(call, op->in.topics.limit);
}

static void add_limit(struct script_call *call, const struct script_keys *keys,
                      const struct op *op)
{
    add_number(call, op->in.scan.limit);
}

static const struct row {
    const char *keys; /* as the script's top says */
    void (*add_args)(struct script_call *, const struct script_keys *, const struct op *);
} rows[OP_COUNT] = {
    [OP_PUSH] = {"jpdrtna", add_push},
    [OP_POP] = {"jprvtno", add_pop},
    [OP_DELIVERED] = {"jpvto", add_leases},
    [OP_KEEP] = {"jvt", add_leases},
    [OP_RETURN] = {"jrvn", add_leases},
    [OP_ACK] = {"jpvo", add_lease},
    [OP_RELEASE] = {"jrdvtno", add_release},
    [OP_TOUCH] = {"jvt", add_touch},
    [OP_CANCEL] = {"jpdvxorta", add_cancel},
    [OP_GET] = {"jp", add_id},
    [OP_STATS] = {"jdrvx", add_nothing},
    [OP_TOPICS] = {"a", add_page},
    [OP_OWNER] = {"o", add_id},
    [OP_SCAN] = {"tna", add_limit},
};

static void begin(struct script_call *call, const char *text, const char *sha, size_t key_count)
{
    call->argc = 0;
    call->used = 0;
    if (sha) {
        add(call, "EVALSHA", 7);
        add(call, sha, SCRIPT_SHA_CHARS);
    } else {
        add(call, "EVAL", 4);
        add_text(call, text);
    }
    add_number(call, (int64_t)key_count);
}

void script_encode(struct script_call *call, const struct script_keys *keys,
                   const struct op *op, const char *sha)
{
    const struct row *row = &rows[op->verb];

    assert(op->topic.len <= SCRIPT_TOPIC_MAX && op->bucket < keys->buckets);
    if (op->verb == OP_OWNER) {
        call->argc = 0;
        call->used = 0;
        add(call, "HGET", 4);
    } else {
        begin(call, sha ? NULL : script_text(op->verb), sha, strlen(row->keys));
    }
    add_keys(call, keys, op, row->keys);
    row->add_args(call, keys, op);
}

void script_encode_meta(struct script_call *call, const struct script_keys *keys)
{
    begin(call, script_text_by_name("meta"), NULL, 1);
    add_format(call, "%s:meta", keys->prefix);
    add_number(call, SCRIPT_SCHEMA);
    add_number(call, keys->buckets);
}

void script_encode_raise(struct script_call *call, const struct script_keys *keys,
                         unsigned bucket, int64_t seen)
{
    begin(call, script_text_by_name("raise"), NULL, 1);
    add_format(call, "%s:{%u}:n", keys->prefix, bucket);
    add_number(call, seen);
}

size_t script_bytes(const struct op *op)
{
    size_t bytes = op->topic.len + op->id.len;

    if (op->verb == OP_PUSH)
        bytes += op->in.push.body.len;
    else if (op_is_of_leases(op->verb))
        bytes += (size_t)op->in.leases.count * 32;
    return bytes;
}
