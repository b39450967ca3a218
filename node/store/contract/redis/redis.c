/* The hand on Redis: keys by their letters, what they hold, keys of a wrong type, a Redis that
 * is full or may not publish.
 */
#include "node/store/contract/redis/redis.h"

#include <stdio.h>

#include <hiredis/hiredis.h>

static struct redis_fixture *redis;
static const char *prefix;

void contract_redis_begin(struct redis_fixture *fixture, const char *key_prefix)
{
    redis = fixture;
    prefix = key_prefix;
}

struct redis_fixture *contract_redis_fixture(void)
{
    return redis;
}

void contract_fill(void)
{
    redis_fixture_command(redis, "CONFIG SET maxmemory 1");
}

void contract_make_room(void)
{
    redis_fixture_command(redis, "CONFIG SET maxmemory 0");
}

void contract_redis_end(void)
{
    contract_make_room();
    redis_fixture_command(redis, "CONFIG SET min-replicas-to-write 0");
    redis_fixture_command(redis, "ACL SETUSER default allchannels");
}

static const char *key(char letter)
{
    static char names[8][64];
    static unsigned turn;
    char *name = names[turn++ % 8];
    bool is_bucket = strchr("tnoacwhfim", letter);

    if (letter == 'z') {
        snprintf(name, sizeof(names[0]), "%s:{%u}:z:%016llx", prefix, bucket_of(TOPIC),
                 (unsigned long long)own_worker());
        return name;
    }
    snprintf(name, sizeof(names[0]), "%s:{%u}:%c%s%.*s", prefix, bucket_of(TOPIC), letter,
             is_bucket ? "" : ":", is_bucket ? 0 : (int)TOPIC.len, TOPIC.at);
    return name;
}

const char *contract_key(char letter)
{
    return key(letter);
}

const char *contract_prefix(void)
{
    return prefix;
}

struct job contract_pop_indexed(void)
{
    struct op op =
        run_well((struct op){.verb = OP_POP,
                             .topic = TOPIC,
                             .in.pop = {.count = 1, .id_only = true, .is_owned = true}});
    return op.out.pop.jobs[0];
}

struct op contract_push_sized(const char *id, size_t body_bytes, int64_t delay_ms,
                              int64_t ttr_ms)
{
    static char body[4096];
    struct op op = push_op(TOPIC, id);

    op.in.push.body = bytes_of(body, body_bytes);
    op.in.push.delay_ms = delay_ms;
    op.in.push.ttr_ms = ttr_ms;
    op.in.push.bytes_max = CONTRACT_BYTES_MAX;
    op = run_well(op);
    return op;
}

struct contract_scene contract_set_the_scene(void)
{
    struct contract_scene scene;

    contract_push_sized("small", 100, 0, TTR_MS);
    contract_push_sized("big", 4000, 0, TTR_MS);
    contract_push_sized("done", 4000, 0, 0);
    scene.small = contract_pop_indexed();
    scene.big = contract_pop_indexed();
    scene.done = contract_pop_indexed();
    contract_push_sized("ready", 4000, 0, TTR_MS);
    contract_push_sized("later", 100, FAR_MS, TTR_MS);
    wait_until(contract_push_sized("due", 4000, 1, TTR_MS).out.push.due_ms);
    return scene;
}

void contract_digests(char except, char digests[CONTRACT_DIGESTS])
{
    size_t used = 0;

    for (const char *letter = "jpdrqvxeltoacwizm"; *letter; letter++) {
        redisReply *reply;

        if (*letter == except)
            continue;
        reply = redisCommand(redis->control, "DEBUG DIGEST-VALUE %s", key(*letter));
        assert_non_null(reply);
        assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
        used += (size_t)snprintf(digests + used, CONTRACT_DIGESTS - used, "%c %s\n", *letter,
                                 reply->element[0]->str);
        freeReplyObject(reply);
    }
}

/* They go in one call, where there are several. */
static void refused(const struct op *asked, unsigned count, char except)
{
    char before[CONTRACT_DIGESTS] = "", after[CONTRACT_DIGESTS] = "";
    struct op ops[2];

    assert_in_range(count, 1, 2);
    memcpy(ops, asked, count * sizeof(*ops));
    contract_digests(except, before);
    run_all(ops, count);
    contract_digests(except, after);
    for (unsigned i = 0; i < count; i++)
        if (ops[i].status != STATUS_STORE_ERROR || strcmp(before, after) != 0)
            fail_msg("%u %s (all but %c) ended as %s\nbefore\n%safter\n%s", count,
                     op_word(ops[i].verb), except, status_word(ops[i].status), before, after);
}

void contract_refused(struct op op, char except)
{
    refused(&op, 1, except);
}

const char *contract_spoil(char letter)
{
    const char *wrong = strchr("nf", letter) ? "list" : "string";

    redis_fixture_command(redis, "COPY %s saved", key(letter));
    redis_fixture_command(redis, "DEL %s", key(letter));
    redis_fixture_command(redis, *wrong == 'l' ? "LPUSH %s wrong" : "SET %s wrong",
                          key(letter));
    return wrong;
}

void contract_restore(char letter)
{
    redis_fixture_command(redis, "DEL %s", key(letter));
    redis_fixture_command(redis, "COPY saved %s", key(letter));
    redis_fixture_command(redis, "DEL saved");
}

void contract_all_or_nothing_together(const struct op *ops, unsigned count, const char *letters)
{
    for (; *letters; letters++) {
        contract_spoil(*letters);
        refused(ops, count, *letters);
        contract_restore(*letters);
    }
}

void contract_all_or_nothing(struct op op, const char *letters)
{
    contract_all_or_nothing_together(&op, 1, letters);
}

void contract_call_scan(void)
{
    redis_fixture_command(redis, "ZADD %s 1 %b", key('t'), TOPIC.at, TOPIC.len);
}

/* Drops a key's line from the digests: a scan also writes its next event, and the locks. */
static void forget_line(char *digests, char letter)
{
    char *line = strchr(digests, letter);

    while (line && line > digests && line[-1] != '\n')
        line = strchr(line + 1, letter);
    if (line)
        memset(line, '-', strcspn(line, "\n"));
}

static void assert_stops_its_topic(struct op op, char letter, unsigned moved)
{
    char before[CONTRACT_DIGESTS] = "", after[CONTRACT_DIGESTS] = "", wrong[128];

    if (moved > 0)
        wait_until(push_delayed_in(OTHER, "", 1).out.push.due_ms);
    contract_spoil(letter);
    contract_call_scan();
    contract_digests(letter, before);
    op = run(op);
    contract_digests(letter, after);
    for (const char *scan = "tl"; *scan; scan++) {
        forget_line(before, *scan);
        forget_line(after, *scan);
    }
    assert_string_equal(before, after);
    assert_status(op, OK);
    assert_int_equal(op.out.scan.stuck, 1);
    assert_int_equal(op.out.scan.moved, moved);
    snprintf(wrong, sizeof(wrong), "%s is a string", key(letter));
    assert_in_range(op.out.scan.wrong.len, strlen(wrong), 1000);
    assert_memory_equal(op.out.scan.wrong.at, wrong, strlen(wrong));
    assert_in_range(op.out.scan.next_ms, 1, 1000);
    contract_restore(letter);
    contract_call_scan();
}

void contract_stops_its_topic(struct op scan, const char *letters, unsigned moved)
{
    for (; *letters; letters++)
        assert_stops_its_topic(scan, *letters, moved);
}

void contract_refused_unheard_together(const struct op *ops, unsigned count)
{
    redis_fixture_command(redis, "ACL SETUSER default resetchannels");
    refused(ops, count, 'n');
    redis_fixture_command(redis, "ACL SETUSER default allchannels");
}

void contract_refused_unheard(struct op op)
{
    contract_refused_unheard_together(&op, 1);
}
