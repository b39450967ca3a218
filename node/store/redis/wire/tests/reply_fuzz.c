/* Replies grown from bytes, given to every verb's decoder.
 *
 *   byte 0   verb
 *   byte 1   items asked for, less 1, in the low 6 bits; 0x80: the op names a topic and an id;
 *            0x40: a scan has a share and brings pops, topics are asked with their owners
 *   then elements, each a tag and its data:
 *     0 n        an integer of one byte, less 128
 *     1 n8       an integer of eight bytes
 *     2 l text   a string of l bytes
 *     3 l text   a job's value: its state made valid
 *     4          nil
 *     5 l text   an error
 *     6 n        an array of the next n elements; within one, an empty one
 *
 * A leading tag 7 sends the first element alone instead of the array of all.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "node/store/redis/wire/decode.h"
#include "node/store/redis/wire/encode.h"

#define ELEMENTS_MAX 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

static uint8_t take(struct input *in)
{
    if (!in->left)
        return 0;
    in->left--;
    return *in->at++;
}

static void take_text(struct input *in, redisReply *reply)
{
    size_t len = take(in);

    reply->len = len < in->left ? len : in->left;
    reply->str = calloc(1, reply->len + 1);
    memcpy(reply->str, in->at, reply->len);
    in->at += reply->len;
    in->left -= reply->len;
}

static redisReply *take_element(struct input *in, unsigned depth);

static void take_elements(struct input *in, redisReply *reply, size_t count, unsigned depth)
{
    reply->type = REDIS_REPLY_ARRAY;
    reply->element = calloc(ELEMENTS_MAX, sizeof(*reply->element));
    while (in->left && reply->elements < count)
        reply->element[reply->elements++] = take_element(in, depth + 1);
}

static redisReply *take_element(struct input *in, unsigned depth)
{
    redisReply *reply = calloc(1, sizeof(*reply));

    switch (take(in) % 7) {
    case 0:
        reply->type = REDIS_REPLY_INTEGER;
        reply->integer = take(in) - 128LL;
        break;
    case 1:
        reply->type = REDIS_REPLY_INTEGER;
        for (unsigned i = 0; i < 8; i++)
            reply->integer = (long long)((unsigned long long)reply->integer << 8 | take(in));
        break;
    case 2:
        reply->type = REDIS_REPLY_STRING;
        take_text(in, reply);
        break;
    case 3:
        reply->type = REDIS_REPLY_STRING;
        take_text(in, reply);
        if (reply->len)
            reply->str[0] = (char)((reply->str[0] & ~JOB_STATE_MASK) | JOB_RESERVED);
        break;
    case 4:
        reply->type = REDIS_REPLY_NIL;
        break;
    case 5:
        reply->type = REDIS_REPLY_ERROR;
        take_text(in, reply);
        break;
    default:
        take_elements(in, reply, depth < 2 ? take(in) : 0, depth);
        break;
    }
    return reply;
}

static redisReply *take_array(struct input *in)
{
    redisReply *reply = calloc(1, sizeof(*reply));

    take_elements(in, reply, ELEMENTS_MAX, 0);
    return reply;
}

/* Where it is not readable, the sanitizer says so. */
static void read_all(struct bytes bytes)
{
    char *copy = malloc(bytes.len + 1);

    if (bytes.len)
        memcpy(copy, bytes.at, bytes.len);
    free(copy);
}

/* ---- every byte that the op now points to must be readable ---- */

static void touch_attributes(struct bytes packed)
{
    bool are_valid = attributes_are_valid(packed);
    struct attribute attribute;

    while (attributes_next(&packed, &attribute)) {
        read_all(attribute.name);
        read_all(attribute.value);
    }
    assert(!are_valid || packed.len == 0);
}

static void touch_job(const struct job *job)
{
    read_all(job->id);
    read_all(job->body);
    read_all(job->holder);
    read_all(job->extra.attributes);
    touch_attributes(job->extra.attributes);
    assert(job->extra.attributes.len <= ATTRIBUTES_MAX_BYTES);
    assert(job->state >= JOB_DELAYED && job->state <= JOB_DEAD);
    assert((job->state == JOB_DEAD) == (job->death != DEATH_NONE));
    assert(job->death < DEATH_COUNT && job->holder.len <= JOB_HOLDER_MAX);
    assert(job->rules.backoff.jitter_percent <= 100);
}

static void touch_jobs(const struct op *op)
{
    assert(op->out.pop.count <= op->in.pop.count);
    for (unsigned i = 0; i < op->out.pop.count; i++)
        touch_job(&op->out.pop.jobs[i]);
}

static void touch_row(const struct op *op)
{
    touch_job(&op->out.row.job);
    assert(op->out.row.body_bytes == (int64_t)op->out.row.job.body.len);
}

static void touch_list(const struct op *op)
{
    assert(op->out.list.count <= op->in.list.limit);
    for (unsigned i = 0; i < op->out.list.count; i++) {
        touch_job(&op->out.list.rows[i].job);
        assert(op->out.list.rows[i].job.body.len == 0);
    }
    read_all(op->out.list.next);
}

static void touch_leases(const struct op *op)
{
    assert(op->out.leases.stale <= op->in.leases.count);
}

static void touch_change(const struct op *op)
{
    assert((op->out.change.due_ms == 0) == (op->out.change.death != DEATH_NONE));
    assert(op->out.change.tries <= JOB_TRIES_MAX);
}

static void touch_chunk(const struct op *op)
{
    assert(op->out.chunk.count <= op->in.chunk.limit);
}

static void touch_scan(const struct op *op)
{
    assert(op->out.scan.lateness_count + op->out.scan.expired +
               op->out.scan.died[DEATH_EXPIRED] + op->out.scan.pruned ==
           op->out.scan.moved);
    for (unsigned i = 0; i < op->out.scan.lateness_count; i++)
        assert(op->out.scan.lateness_ms[i] >= 0);
    assert(op->out.scan.stolen <= op->out.scan.taken);
    for (unsigned i = 0; i < op->in.scan.pop_count; i++)
        touch_jobs(op->in.scan.pops[i]);
    read_all(op->out.scan.wrong);
}

static void touch_topics(const struct op *op)
{
    assert(op->out.topics.count <= op->in.topics.limit);
    for (unsigned i = 0; i < op->out.topics.count; i++) {
        read_all(op->out.topics.rows[i].topic);
        read_all(op->out.topics.rows[i].lock.node);
        assert(op->out.topics.rows[i].lock.node.len <= OP_NODE_MAX);
        assert(op->out.topics.rows[i].lock.left_ms >= 0);
    }
    read_all(op->out.topics.next);
}

static void touch_settings(const struct op *op)
{
    assert(op->out.settings.count <= OP_ROWS_MAX);
    assert(op->topic.len == 0 || op->out.settings.count == 1);
    for (unsigned i = 0; i < op->out.settings.count; i++) {
        read_all(op->out.settings.rows[i].topic);
        assert(op->out.settings.rows[i].settings.set <= SETTINGS_ALL);
    }
    read_all(op->out.settings.next);
}

static void touch_trace(const struct op *op)
{
    assert(op->out.trace.count <= op->in.trace.limit);
    for (unsigned i = 0; i < op->out.trace.count; i++) {
        const struct history_item *item = &op->out.trace.items[i];

        assert(item->event < EVENT_COUNT && item->death < DEATH_COUNT);
        read_all(item->topic);
        read_all(item->id);
        read_all(item->node);
        read_all(item->client);
    }
    read_all(op->out.trace.next);
}

static void touch_places(const struct op *op)
{
    for (unsigned i = 0; i < op->out.places.count; i++)
        read_all(op->out.places.rows[i].topic);
    read_all(op->out.places.next);
}

static void touch_audit(const struct op *op)
{
    assert(op->out.audit.count <= OP_LIST_MAX);
    for (unsigned i = 0; i < op->out.audit.count; i++) {
        read_all(op->out.audit.items[i].id);
        assert(op->out.audit.items[i].damage > DAMAGE_NONE);
        assert(op->out.audit.items[i].damage < DAMAGE_COUNT);
    }
    read_all(op->out.audit.next);
}

static void touch_identities(const struct op *op)
{
    assert(op->out.identities.count <= OP_IDENTITY_ROWS_MAX);
    assert(!op->out.identities.is_same || op->out.identities.count == 0);
    for (unsigned i = 0; i < op->out.identities.count; i++) {
        read_all(op->out.identities.rows[i].name);
        read_all(op->out.identities.rows[i].line);
        assert(op->out.identities.rows[i].version >= 0);
    }
    read_all(op->out.identities.id);
}

static void touch_notes(const struct op *op)
{
    assert(op->out.notes.count <= OP_NOTES_MAX);
    for (unsigned i = 0; i < op->out.notes.count; i++) {
        read_all(op->out.notes.items[i].topic);
        read_all(op->out.notes.items[i].id);
        assert(op->out.notes.items[i].stamp >= 0);
    }
}

static void touch_beats(const struct op *op)
{
    assert(op->out.beat.count <= OP_BEATS_MAX);
    for (unsigned i = 0; i < op->out.beat.count; i++)
        assert(op->out.beat.silent[i].worker != 0 && op->out.beat.silent[i].last_ms >= 0);
}

static void (*const touches[OP_COUNT])(const struct op *op) = {
    [OP_POP] = touch_jobs,
    [OP_TAKE] = touch_jobs,
    [OP_DELIVERED] = touch_leases,
    [OP_KEEP] = touch_leases,
    [OP_RETURN] = touch_leases,
    [OP_RELEASE] = touch_change,
    [OP_KICK] = touch_chunk,
    [OP_PURGE] = touch_chunk,
    [OP_GET] = touch_row,
    [OP_LIST] = touch_list,
    [OP_NOTES] = touch_notes,
    [OP_BEAT] = touch_beats,
    [OP_SCAN] = touch_scan,
    [OP_TOPICS] = touch_topics,
    [OP_CONFIGURE] = touch_settings,
    [OP_SETTINGS] = touch_settings,
    [OP_TRACE] = touch_trace,
    [OP_PLACES] = touch_places,
    [OP_AUDIT] = touch_audit,
    [OP_IDENTITIES] = touch_identities,
};

/* ---- what was asked ---- */

static void ask(struct op *op, uint8_t how)
{
    static const struct scan_share share;
    static struct op pops[2], *const list[] = {&pops[0], &pops[1]};
    unsigned count = 1 + how % OP_ITEMS_MAX;

    if (how & 0x80 || op->verb == OP_CONFIGURE)
        op->topic = BYTES("topic");
    if (how & 0x80)
        op->id = BYTES("id");
    if (op->verb == OP_SCAN && how & 0x40) {
        op->in.scan.share = &share;
        op->in.scan.pops = list;
        op->in.scan.pop_count = 2;
        for (unsigned i = 0; i < 2; i++)
            pops[i] = (struct op){.verb = OP_POP, .in.pop.count = OP_ITEMS_MAX / 2};
    }
    if (op->verb == OP_TOPICS)
        op->in.topics.owners = how & 0x40;
    if (op->verb == OP_POP)
        op->in.pop.count = count;
    else if (op->verb == OP_TAKE)
        op->in.pop.count = 1;
    else if (op_has(op->verb, TRAIT_OF_LEASES))
        op->in.leases.count = count;
    else if (op->verb == OP_NOTES)
        op->in.notes.limit = count;
    else if (op->verb == OP_TOPICS)
        op->in.topics.limit = count;
    else if (op->verb == OP_LIST)
        op->in.list.limit = count;
    else if (op->verb == OP_TRACE)
        op->in.trace.limit = count;
    else if (op->verb == OP_KICK || op->verb == OP_PURGE)
        op->in.chunk.limit = count;
}

/* The same answer, to three that travelled together. */
static void decode_part(const redisReply *reply, struct op op)
{
    for (unsigned i = 0; i < 3; i++) {
        enum reply_meaning meaning = reply_decode_one(reply, i, 3, &op);

        assert(meaning == REPLY_DONE || meaning == REPLY_REFUSED ||
               meaning == REPLY_MALFORMED || meaning == REPLY_NO_SCRIPT);
        if (meaning == REPLY_DONE && op.status == STATUS_OK && op.verb == OP_PUSH)
            read_all(op.out.push.id);
        if (meaning == REPLY_DONE && op.status == STATUS_OK && op.verb == OP_RELEASE)
            touch_change(&op);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct reply_room room;
    struct input in = {data, size};
    struct op op = {.verb = take(&in) % OP_COUNT, .status = STATUS_COUNT};
    enum reply_meaning meaning;
    redisReply *reply;

    ask(&op, take(&in));
    reply = in.left && *in.at == 7 ? (take(&in), take_element(&in, 0)) : take_array(&in);
    meaning = reply_decode(reply, &op, &room);
    assert((meaning == REPLY_DONE || meaning == REPLY_REFUSED || meaning == REPLY_MALFORMED) ==
           (op.status != STATUS_COUNT));
    if (script_of_many(op.verb) < SCRIPT_COUNT)
        decode_part(reply, op);
    if (op.status == STATUS_OK && touches[op.verb])
        touches[op.verb](&op);
    if (meaning == REPLY_DONE)
        assert(reply_counter(&op, 64) >= 0);
    freeReplyObject(reply);
    return 0;
}
