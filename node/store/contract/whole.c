#include "node/store/contract/whole.h"

/* ---- sweeps ---- */

static struct op sweep(enum op_verb verb, enum job_state state, unsigned limit,
                       int64_t since_ms, int64_t before_ms)
{
    struct op op = {.verb = verb, .topic = TOPIC};

    op.in.chunk.state = state;
    op.in.chunk.limit = limit;
    op.in.chunk.since_ms = since_ms;
    op.in.chunk.before_ms = before_ms;
    return run_well(op);
}

struct op kick(unsigned limit)
{
    return sweep(OP_KICK, JOB_DEAD, limit, 0, 0);
}

struct op kick_of(int64_t since_ms, int64_t before_ms)
{
    return sweep(OP_KICK, JOB_DEAD, OP_CHUNK_MAX, since_ms, before_ms);
}

struct op purge(enum job_state state, unsigned limit)
{
    return sweep(OP_PURGE, state, limit, 0, 0);
}

struct op purge_dead_of(int64_t since_ms, int64_t before_ms)
{
    return sweep(OP_PURGE, JOB_DEAD, OP_CHUNK_MAX, since_ms, before_ms);
}

/* ---- lists ---- */

struct op list(enum job_state state, struct bytes after, unsigned limit)
{
    struct op op = {.verb = OP_LIST, .topic = TOPIC};

    op.in.list.state = state;
    op.in.list.after = after;
    op.in.list.limit = limit;
    return run_well(op);
}

static void assert_pages(enum job_state state, unsigned limit, unsigned count,
                         const char *const *ids)
{
    struct bytes after = BYTES("");
    unsigned told = 0;

    do {
        struct op op = list(state, after, limit);

        assert_in_range(op.out.list.count, 0, limit);
        for (unsigned i = 0; i < op.out.list.count; i++, told++) {
            assert_true(told < count);
            assert_bytes(op.out.list.rows[i].job.id, bytes_of_text(ids[told]));
            assert_int_equal(op.out.list.rows[i].job.state, state);
        }
        after = op.out.list.next;
    } while (after.len);
    assert_int_equal(told, count);
}

void assert_list(enum job_state state, unsigned count, const char *const *ids)
{
    assert_pages(state, OP_LIST_MAX, count, ids);
    assert_pages(state, 1, count, ids);
}

/* ---- settings ---- */

struct op configure(struct topic_settings settings, unsigned mask)
{
    return run_well((struct op){.verb = OP_CONFIGURE,
                                .topic = TOPIC,
                                .in.configure = {.settings = settings, .mask = mask}});
}

struct op pause_op(struct bytes topic, int64_t until_ms, int64_t ms)
{
    struct op op = {.verb = OP_CONFIGURE, .topic = topic};

    op.in.configure.has_pause = true;
    op.in.configure.settings.paused_until_ms = until_ms;
    op.in.configure.pause_ms = ms;
    return op;
}

struct op pause_until(int64_t until_ms)
{
    return run_well(pause_op(TOPIC, until_ms, 0));
}

struct op pause_for(int64_t ms)
{
    return run_well(pause_op(TOPIC, 0, ms));
}

struct op set_dead_max(int64_t dead_max)
{
    struct topic_settings settings = {.set = SETTING_BIT(DEAD_MAX), .dead_max = dead_max};

    return configure(settings, SETTING_BIT(DEAD_MAX));
}

struct op set_dead_age(int64_t dead_age_ms)
{
    struct topic_settings settings = {.set = SETTING_BIT(DEAD_AGE), .dead_age_ms = dead_age_ms};

    return configure(settings, SETTING_BIT(DEAD_AGE));
}

struct topic_settings settings_of(struct bytes topic)
{
    struct op op = run_well((struct op){.verb = OP_SETTINGS, .topic = topic});

    assert_int_equal(op.out.settings.count, 1);
    assert_bytes(op.out.settings.rows[0].topic, topic);
    assert_int_equal(op.out.settings.next.len, 0);
    return op.out.settings.rows[0].settings;
}

struct op scan_all(void)
{
    struct op all = scan(1000), op = all;

    while (op.out.scan.next_ms == 0) {
        op = scan(1000);
        all.out.scan.moved += op.out.scan.moved;
        all.out.scan.pruned += op.out.scan.pruned;
        all.out.scan.expired += op.out.scan.expired;
    }
    all.now_ms = op.now_ms;
    all.out.scan.next_ms = op.out.scan.next_ms;
    return all;
}

/* ---- deaths ---- */

void make_dead_apart(unsigned count, const char *const *ids, int64_t *died_ms)
{
    for (unsigned i = 0; i < count; i++) {
        make_dead(ids[i]);
        died_ms[i] = look(ids[i]).place_ms;
        wait_until(died_ms[i] + 1);
    }
}
