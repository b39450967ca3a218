#include "node/store/redis/wire/encode.h"

#include <assert.h>
#include <string.h>

/* ---- the scripts' texts ---- */

const char *script_text_by_name(const char *name)
{
    for (const struct script_text *row = script_texts; row->name; row++) {
        if (!strcmp(row->name, name))
            return row->text;
    }
    return NULL;
}

unsigned script_of_many(enum op_verb verb)
{
    switch (verb) {
    case OP_PUSH:
        return SCRIPT_PUSH_MANY;
    case OP_ACK:
        return SCRIPT_ACK_MANY;
    case OP_RELEASE:
        return OP_RELEASE;
    default:
        return SCRIPT_COUNT;
    }
}

const char *script_word(unsigned script)
{
    static const char *const words[] = {
        [SCRIPT_PUSH_MANY - OP_COUNT] = "push_many",
        [SCRIPT_ACK_MANY - OP_COUNT] = "ack_many",
    };

    return script < OP_COUNT ? op_word((enum op_verb)script) : words[script - OP_COUNT];
}

const char *script_text(unsigned script)
{
    return script_text_by_name(script_word(script));
}

/* ---- the plain commands ---- */

static void encode_owner(struct script_call *call, const struct script_keys *keys,
                         const struct op *op)
{
    call_add(call, "HGET", 4);
    call_add_keys(call, keys, op, op->topic.len ? "j" : "o");
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
        call_add(call, text, strlen(text));
    }
    call_add_number(call, (int64_t)key_count);
}

void script_encode(struct script_call *call, const struct script_keys *keys,
                   const struct op *op, const char *sha)
{
    const char *letters = args_keys(op->verb);

    assert(op->topic.len <= SCRIPT_TOPIC_MAX && op->bucket < keys->buckets);
    call_init(call);
    if (op->verb == OP_OWNER) {
        encode_owner(call, keys, op);
    } else if (op->verb == OP_PLACES) {
        encode_places(call, keys, op);
    } else {
        uint64_t worker = args_worker(keys, op);

        begin(call, sha ? NULL : script_text(op->verb), sha, strlen(letters) + (worker != 0));
        call_add_keys(call, keys, op, letters);
        if (worker)
            call_add_worker_key(call, keys, op->bucket, 'z', worker);
        args_add(call, keys, op);
        if (op_leads(op))
            call_add_bytes(call, op->token); /* last: `fenced` in lua/lib */
    }
}

void script_encode_push(struct script_call *call, const struct script_keys *keys,
                        const struct op *op, const struct push_note *note, const char *sha)
{
    const char *letters = args_keys(OP_PUSH);

    assert(op->topic.len <= SCRIPT_TOPIC_MAX && op->bucket < keys->buckets);
    begin(call, sha ? NULL : script_text(OP_PUSH), sha, strlen(letters) + 1);
    call_add_keys(call, keys, op, letters);
    call_add_worker_key(call, keys, op->bucket, 'u', note->worker);
    args_add_push(call, keys, op, note);
}

/* ---- several of a turn ---- */

void script_encode_many(struct script_call *call, const struct script_keys *keys,
                        const struct op *const *ops, unsigned count,
                        const struct push_note *note, const char *sha)
{
    bool is_push = ops[0]->verb == OP_PUSH;
    unsigned script = script_of_many(ops[0]->verb);
    uint64_t worker = args_worker(keys, ops[0]);
    const char *letters = args_keys(ops[0]->verb);

    assert(script < SCRIPT_COUNT && ops[0]->bucket < keys->buckets);
    assert(count >= 2 && count <= SCRIPT_MANY_MAX);
    begin(call, sha ? NULL : script_text(script), sha,
          strlen(letters) + (is_push || worker != 0));
    call_add_keys(call, keys, ops[0], letters);
    if (worker)
        call_add_worker_key(call, keys, ops[0]->bucket, 'z', worker);
    if (is_push)
        call_add_worker_key(call, keys, ops[0]->bucket, 'u', note->worker);
    call_add_bytes(call, ops[0]->topic);
    args_add_many(call, keys, ops, count, note);
}

void script_encode_meta(struct script_call *call, const struct script_keys *keys,
                        struct bytes lease_key, bool has_bare)
{
    begin(call, script_text_by_name("meta"), NULL, 1);
    call_add_format(call, "%s:meta", keys->prefix);
    call_add_number(call, SCRIPT_SCHEMA);
    call_add_number(call, keys->buckets);
    call_add_bytes(call, lease_key);
    call_add_number(call, has_bare);
}

void script_encode_raise(struct script_call *call, const struct script_keys *keys,
                         unsigned bucket, const struct script_raise *raise)
{
    begin(call, script_text_by_name("raise"), NULL, 3);
    call_add_format(call, "%s:{%u}:n", keys->prefix, bucket);
    call_add_worker_key(call, keys, bucket, 'u', raise->last.worker);
    call_add_format(call, "%s:{%u}:l", keys->prefix, bucket);
    call_add_number(call, raise->seen);
    call_add_number(call, (int64_t)raise->last.number);
    args_add_entries(call, &raise->last, 1);
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
        bytes += op->in.push.body.len + op->in.push.attributes.len;
    else if (op_has(op->verb, TRAIT_OF_LEASES))
        bytes += (size_t)op->in.leases.count * 32;
    else if (op->verb == OP_RECORD)
        bytes += bytes_of_records(op);
    else if (op->verb == OP_IDENTIFY)
        bytes += op->in.identify.line.len;
    else if (op->verb == OP_SCAN)
        bytes += (size_t)op->in.scan.rule_count * 64 + (op->in.scan.share ? SHARE_BYTES : 0);
    return bytes;
}
