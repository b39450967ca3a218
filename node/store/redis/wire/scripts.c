#include "node/store/redis/wire/scripts.h"

#include <assert.h>
#include <string.h>

#include "node/store/packed.h"
#include "node/store/redis/wire/encode.h"

#define LINE_BYTES 23 /* a mark, twenty digits, the end */

static char *put(char *at, const char *bytes, size_t len)
{
    memcpy(at, bytes, len);
    return at + len;
}

static unsigned count_digits(size_t number)
{
    unsigned count = 1;

    while ((number /= 10))
        count++;
    return count;
}

static char *put_line(char *at, char mark, size_t number)
{
    char *end = at + 1 + count_digits(number), *digit = end;

    *at = mark;
    do
        *--digit = (char)('0' + number % 10);
    while ((number /= 10));
    return put(end, "\r\n", 2);
}

void redis_command_write(struct buf *out, int argc, const char *const *argv, const size_t *lens)
{
    size_t room = LINE_BYTES;
    char *at;

    for (int i = 0; i < argc; i++)
        room += LINE_BYTES + lens[i] + 2;
    at = put_line(buf_reserve(out, room), '*', (size_t)argc);
    for (int i = 0; i < argc; i++) {
        at = put_line(at, '$', lens[i]);
        at = put(at, argv[i], lens[i]);
        at = put(at, "\r\n", 2);
    }
    out->len = (size_t)(at - out->at);
}

/* ---- scripts and their keys ---- */

#define VIEW_LEN   16
#define LOCK_UNTIL (VIEW_LEN + SHARE_OWNER_LEN)
#define LOCK_TOKEN (LOCK_UNTIL + 6)
#define LOCK_NODE  (LOCK_TOKEN + 7)

/* Digits of fixed width, so that a script orders views by their bytes. */
static void put_view(char *to, uint64_t view)
{
    for (unsigned i = VIEW_LEN; i-- > 0; view >>= 4)
        to[i] = "0123456789abcdef"[view & 15];
}

static bool get_view(const char *from, uint64_t *view)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < VIEW_LEN; i++) {
        if (from[i] >= '0' && from[i] <= '9')
            value = value << 4 | (uint64_t)(from[i] - '0');
        else if (from[i] >= 'a' && from[i] <= 'f')
            value = value << 4 | (uint64_t)(from[i] - 'a' + 10);
        else
            return false;
    }
    *view = value;
    return true;
}

void share_pack(const struct scan_share *share, char *to)
{
    assert(share->owner.len == SHARE_OWNER_LEN && share->marks.len == SHARES);
    put_view(to, share->view);
    memcpy(to + VIEW_LEN, share->owner.at, SHARE_OWNER_LEN);
    packed_put(to + LOCK_UNTIL, 6, share->lock_ms);
    packed_put(to + LOCK_UNTIL + 6, 6, share->late_ms);
    memcpy(to + LOCK_UNTIL + 12, share->marks.at, SHARES);
}

struct topic_lock lock_unpack(struct bytes packed, int64_t now_ms)
{
    struct topic_lock lock = {0};

    if (packed.len < LOCK_NODE || packed.len > LOCK_NODE + OP_NODE_MAX)
        return lock;
    lock.left_ms = packed_get(packed.at + LOCK_UNTIL, 6) - now_ms;
    if (lock.left_ms <= 0 || !get_view(packed.at, &lock.view))
        return (struct topic_lock){0};
    lock.token = packed_get(packed.at + LOCK_TOKEN, 7);
    lock.node = bytes_of(packed.at + LOCK_NODE, packed.len - LOCK_NODE);
    return lock;
}

/* To add an operation: its line in op.h, its script in lua/ (and in CMakeLists.txt), its row
 * in encode.c and in reply_outputs.c, its row in doc/store.md.
 */

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

/* ---- the plain commands ---- */

static void encode_owner(struct script_call *call, const struct script_keys *keys,
                         const struct op *op)
{
    call_add(call, "HGET", 4);
    call_add_keys(call, keys, op, "o");
    call_add_bytes(call, op->id);
}

static void encode_places(struct script_call *call, const struct script_keys *keys,
                          const struct op *op)
{
    struct bytes after = op->in.places.after;

    call_add(call, "SCAN", 4);
    call_add_bytes(call, after.len ? after : BYTES("0"));
    call_add(call, "MATCH", 5);
    call_add_format(call, "%s:{*}:*", keys->prefix);
    call_add(call, "COUNT", 5);
    call_add_number(call, OP_ROWS_MAX / 2); /* it may answer some more */
}

/* ---- the scripts ---- */

static void begin(struct script_call *call, const char *text, const char *sha, size_t key_count)
{
    call_init(call);
    if (sha) {
        call_add(call, "EVALSHA", 7);
        call_add(call, sha, SCRIPT_SHA_CHARS);
    } else {
        call_add(call, "EVAL", 4);
        call_add_text(call, text);
    }
    call_add_number(call, (int64_t)key_count);
}

void script_encode(struct script_call *call, const struct script_keys *keys,
                   const struct op *op, const char *sha)
{
    const struct script_args *args = &script_args[op->verb];

    assert(op->topic.len <= SCRIPT_TOPIC_MAX && op->bucket < keys->buckets);
    call_init(call);
    if (op->verb == OP_OWNER) {
        encode_owner(call, keys, op);
    } else if (op->verb == OP_PLACES) {
        encode_places(call, keys, op);
    } else {
        begin(call, sha ? NULL : script_text(op->verb), sha, strlen(args->keys));
        call_add_keys(call, keys, op, args->keys);
        args->add(call, keys, op);
        if (op_leads(op))
            call_add_bytes(call, op->token); /* last: `fenced` in lua/lib */
    }
}

void script_encode_push(struct script_call *call, const struct script_keys *keys,
                        const struct op *op, const struct push_note *note, const char *sha)
{
    const char *letters = script_args[OP_PUSH].keys;

    assert(op->topic.len <= SCRIPT_TOPIC_MAX && op->bucket < keys->buckets);
    begin(call, sha ? NULL : script_text(OP_PUSH), sha, strlen(letters) + 1);
    call_add_keys(call, keys, op, letters);
    call_add_ring(call, keys, op->bucket, note->worker);
    script_args_add_push(call, keys, op, note);
}

void script_encode_meta(struct script_call *call, const struct script_keys *keys)
{
    begin(call, script_text_by_name("meta"), NULL, 1);
    call_add_format(call, "%s:meta", keys->prefix);
    call_add_number(call, SCRIPT_SCHEMA);
    call_add_number(call, keys->buckets);
}

void script_encode_raise(struct script_call *call, const struct script_keys *keys,
                         unsigned bucket, const struct script_raise *raise)
{
    begin(call, script_text_by_name("raise"), NULL, 3);
    call_add_format(call, "%s:{%u}:n", keys->prefix, bucket);
    call_add_ring(call, keys, bucket, raise->last.worker);
    call_add_format(call, "%s:{%u}:l", keys->prefix, bucket);
    call_add_number(call, raise->seen);
    call_add_number(call, (int64_t)raise->last.number);
    script_args_add_place(call, &raise->last);
    call_add_number(call, PUSH_LEDGER_KEEP_MS);
    call_add_format(call, "%s", raise->incarnation);
    call_add_number(call, raise->is_known);
    call_add_format(call, "%s", raise->goes_on);
}

/* ---- how much it is ---- */

static size_t bytes_of_records(const struct op *op)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < op->in.record.count; i++) {
        const struct history_item *item = &op->in.record.items[i];

        bytes += 32 + item->topic.len + item->id.len + item->node.len + item->client.len;
    }
    return bytes;
}

size_t script_bytes(const struct op *op)
{
    size_t bytes = op->topic.len + op->id.len;

    if (op->verb == OP_PUSH)
        bytes += op->in.push.body.len;
    else if (op_has(op->verb, OP_OF_LEASES))
        bytes += (size_t)op->in.leases.count * 32;
    else if (op->verb == OP_RECORD)
        bytes += bytes_of_records(op);
    else if (op->verb == OP_SCAN)
        bytes += (size_t)op->in.scan.rule_count * 64 + (op->in.scan.share ? SHARE_BYTES : 0);
    return bytes;
}
