#include "node/store/contract/redis/cut.h"

#include <stdio.h>
#include <stdlib.h>

#include <hiredis/hiredis.h>

#include "node/store/redis/wire/encode.h"

#define BODY_BYTES 4096
#define CALLS_MAX  250

const char *const cut_ids[CUT_IDS] = {"dead", "held", "ready", "delayed", "plain", "popped"};

struct cut_scene cut_scene;

struct op cut_rich_op(const char *id)
{
    static char body[BODY_BYTES];
    struct op op = push_op(TOPIC, id);

    op.in.push.body = bytes_of(body, BODY_BYTES);
    op.in.push.rules.priority = 5;
    op.in.push.rules.max_tries = 1;
    op.in.push.ttl_ms = FAR_MS;
    return op;
}

static void set_the_scene(void)
{
    struct op delayed = cut_rich_op("delayed");
    struct job job;

    memset(&cut_scene, 0, sizeof(cut_scene));
    redis_fixture_command(contract_redis_fixture(), "FLUSHDB");
    run_well(cut_rich_op("dead"));
    job = contract_pop_indexed();
    assert_status(bury(&job), OK);
    run_well(cut_rich_op("held"));
    cut_scene.held = contract_pop_indexed();
    push("popped");
    cut_scene.popped = pop_one();
    run_well(cut_rich_op("ready"));
    push("plain");
    delayed.in.push.delay_ms = 1000;
    run_well(delayed);
    cut_scene.leases[0] =
        (struct lease){.id = cut_scene.held.id, .stamp = cut_scene.held.stamp};
    cut_scene.leases[1] =
        (struct lease){.id = cut_scene.popped.id, .stamp = cut_scene.popped.stamp};
}

/* ---- cutting ---- */

static struct script_call call;

/* The script's text, with its call number `at` failing; the key CUT says which that was, by its
 * name and its first argument, because the script may go on. The caller's to free. */
static char *cut_text(unsigned script, unsigned at)
{
    static const char hook[] = "= redis.call,";
    const char *text = script_text(script), *place = strstr(text, hook);
    size_t size = strlen(text) + 512;
    char *cut = malloc(size);

    assert_non_null(place);
    snprintf(cut, size,
             "local made = 0\n"
             "local function cut(...)\n"
             "    made = made + 1\n"
             "    if made == %u then\n"
             "        redis.call('SET', 'CUT', (...) .. ' ' .. tostring((select(2, ...))))\n"
             "        error('CUT', 0)\n"
             "    end\n"
             "    return redis.call(...)\n"
             "end\n"
             "%.*s= cut,%s",
             at, (int)(place - text), text, place + strlen(hook));
    return cut;
}

struct failed {
    char command[32], key[64];
};

/* False: none has. */
static bool take_failed(struct failed *failed)
{
    redisContext *control = contract_redis_fixture()->control;
    redisReply *reply = redisCommand(control, "GETDEL CUT");
    bool has_failed = reply->type == REDIS_REPLY_STRING;

    if (has_failed)
        assert_true(sscanf(reply->str, "%31[A-Z] %63s", failed->command, failed->key) >= 1);
    freeReplyObject(reply);
    return has_failed;
}

/* Runs it with its call number `at` failing. False when it has fewer calls; else `failed` is
 * that call. */
static bool run_cut(struct op op, unsigned at, struct failed *failed)
{
    static const struct push_note note = {.number = 1, .renews = true};
    struct script_keys keys = {
        .prefix = contract_prefix(), .buckets = CONTRACT_BUCKETS, .worker = own_worker()};
    bool is_alone = cut_scene.together.topic.len == 0;
    char *text = cut_text(is_alone ? op.verb : script_of_many(op.verb), at);
    const struct op *ops[] = {&op, &cut_scene.together};
    redisReply *reply;
    bool is_cut;

    op.bucket = bucket_of(TOPIC);
    if (!is_alone)
        script_encode_many(&call, &keys, ops, 2, &note, NULL);
    else if (op.verb == OP_PUSH)
        script_encode_push(&call, &keys, &op, &note, NULL);
    else
        script_encode(&call, &keys, &op, NULL);
    call.argv[1] = text;
    call.lens[1] = strlen(text);
    reply =
        redisCommandArgv(contract_redis_fixture()->control, call.argc, call.argv, call.lens);
    assert_non_null(reply);
    is_cut = take_failed(failed);
    if (reply->type == REDIS_REPLY_ERROR && !is_cut)
        fail_msg("%s: %s", op_word(op.verb), reply->str);
    freeReplyObject(reply);
    free(text);
    return is_cut;
}

/* Is the call of the index or the history, which are not jobs? Scripts read these at the end,
 * too, for their answer (doc/store.md says why a failure there does no harm). */
static bool is_of_bucket(const char *key)
{
    const char *letter = strchr(key, '}');

    return letter &&
           (!strcmp(letter, "}:t") || !strcmp(letter, "}:h") || !strcmp(key, "USAGE"));
}

static bool is_read(const struct failed *failed)
{
    static const char *const reads[] = {
        "TIME",          "EXISTS",  "GET",      "HGET",       "HMGET",   "HLEN",  "GETRANGE",
        "HEXISTS",       "HSTRLEN", "LINDEX",   "LRANGE",     "LLEN",    "ZCARD", "ZCOUNT",
        "ZRANGEBYSCORE", "ZRANGE",  "ZSCORE",   "XLEN",       "ZSCAN",   "LPOS",  "HSCAN",
        "ZMSCORE",       "ZRANK",   "ZREVRANK", "HRANDFIELD", "HGETALL",
    };

    if (is_of_bucket(failed->key))
        return false;

    for (unsigned i = 0; i < sizeof(reads) / sizeof(*reads); i++)
        if (!strcmp(reads[i], failed->command))
            return true;
    return false;
}

/* Jobs and places; t and a may know of more than there is. */
static void take_jobs(char digests[CONTRACT_DIGESTS])
{
    contract_digests('t', digests);
    for (char *line = digests; *line; line = strchr(line, '\n') + 1)
        if (*line == 'a')
            memset(line, ' ', strcspn(line, "\n"));
}

/* ---- judging ---- */

/* Audits and repairs until nothing is found any more. */
static void mend_all(const struct op *op, unsigned at)
{
    for (unsigned round = 0; round < 3; round++) {
        audit();
        if (!found.count)
            return;
        for (unsigned i = 0; i < found.count; i++)
            run_well((struct op){.verb = OP_REPAIR, .topic = TOPIC, .id = found.items[i].id});
    }
    fail_msg("%s cut off at call %u cannot be mended: '%.*s' stays", op_word(op->verb), at,
             BYTES_ARG(found.items[0].id));
}

/* Alive and whole; or gone, where it may be. */
static void assert_survives(const struct op *op, unsigned at, const char *id, bool may_end)
{
    struct op look_at = run(id_op(OP_GET, id));
    struct job *job = &look_at.out.row.job;

    if (may_end && (look_at.status == STATUS_NOT_FOUND || cut_scene.is_damaged))
        return;
    if (look_at.status != STATUS_OK)
        fail_msg("%s cut off at call %u: '%s' is lost", op_word(op->verb), at, id);
    if (job->death == DEATH_DAMAGED ||
        (job->body.len != BODY_BYTES && job->body.len != BODY.len))
        fail_msg("%s cut off at call %u: the body of '%s' is lost", op_word(op->verb), at, id);
}

void assert_survived(struct op (*make)(const char *id), const char *id, const char *ends)
{
    for (unsigned at = 1; at < CALLS_MAX; at++) {
        char before[CONTRACT_DIGESTS] = "", after[CONTRACT_DIGESTS] = "";
        struct failed failed = {"", ""};
        struct op op;
        bool is_cut;

        set_the_scene();
        op = make(id);
        take_jobs(before);
        is_cut = run_cut(op, at, &failed);
        take_jobs(after);
        if (cut_scene.never && !strcmp(cut_scene.never, failed.command))
            fail_msg("%s: call %u is %s", op_word(op.verb), at, failed.command);
        if (is_cut && is_read(&failed) && !cut_scene.pops_behind && strcmp(before, after) != 0)
            fail_msg("%s: call %u, %s, stands behind a write\n%s\n%s", op_word(op.verb), at,
                     failed.command, before, after);
        if (is_cut)
            mend_all(&op, at);
        else
            assert_true(at > 2);
        for (unsigned i = 0; i < CUT_IDS; i++)
            assert_survives(&op, at, cut_ids[i], strstr(ends, cut_ids[i]));
        for (unsigned i = 0; i < CUT_IDS && cut_scene.more[i]; i++)
            assert_survives(&op, at, cut_scene.more[i], false);
        if (!is_cut)
            return;
    }
    fail_msg("it makes more than %d calls", CALLS_MAX);
}
