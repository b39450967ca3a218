/* More steps of the tests: for jobs with rules, their changes, and their places.
 */
#include "node/store/contract/contract.h"

#include <stdio.h>

struct op run_well(struct op op)
{
    op = run(op);
    assert_status(op, OK);
    return op;
}

/* ---- pushing ---- */

struct op push_ruled(const char *id, struct job_rules rules)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.rules = rules;
    return run_well(op);
}

struct op push_ranked(const char *id, uint32_t priority)
{
    struct job_rules rules = rules_default;

    rules.priority = priority;
    return push_ruled(id, rules);
}

struct op push_limited(const char *id, unsigned max_tries)
{
    struct job_rules rules = rules_default;

    rules.max_tries = max_tries;
    return push_ruled(id, rules);
}

struct op push_mortal(const char *id, int64_t delay_ms, int64_t ttl_ms)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.delay_ms = delay_ms;
    op.in.push.ttl_ms = ttl_ms;
    return run_well(op);
}

const char *numbered(unsigned i)
{
    static char names[NUMBERS][8];

    assert_true(i < NUMBERS);
    snprintf(names[i], sizeof(names[i]), "%05u", i);
    return names[i];
}

void push_numbered(struct bytes topic, unsigned first, unsigned count, int64_t delay_ms)
{
    static struct op ops[NUMBERS];

    for (unsigned i = 0; i < count; i++) {
        ops[i] = push_op(topic, numbered(first + i));
        ops[i].in.push.delay_ms = delay_ms;
    }
    run_all(ops, count);
    for (unsigned i = 0; i < count; i++)
        assert_status(ops[i], OK);
}

void cancel_numbered(struct bytes topic, unsigned first, unsigned count)
{
    static struct op ops[NUMBERS];

    for (unsigned i = 0; i < count; i++) {
        ops[i] = id_op(OP_CANCEL, numbered(first + i));
        ops[i].topic = topic;
    }
    run_all(ops, count);
    for (unsigned i = 0; i < count; i++)
        assert_status(ops[i], OK);
}

void push_letters(unsigned count)
{
    static const char *const letters[] = {"a", "b", "c", "d"};

    for (unsigned i = 0; i < count; i++)
        push(letters[i]);
}

const struct job *reserve_letters(unsigned count)
{
    struct op popped = (push_letters(count), pop(count));

    assert_int_equal(popped.out.pop.count, count);
    return popped.out.pop.jobs;
}

struct job reserve(struct op op)
{
    run_well(op);
    return pop_one();
}

struct op large_op(const char *id)
{
    static char body[LARGE_BYTES];
    struct op op = push_op(TOPIC, id);

    op.in.push.body = bytes_of(body, sizeof(body));
    return op;
}

/* ---- changing ---- */

struct op bury(const struct job *job)
{
    return run(lease_op(OP_BURY, job));
}

struct op move(const char *id, int64_t delay_ms, unsigned states)
{
    struct op op = id_op(OP_MOVE, id);

    op.in.move.delay_ms = delay_ms;
    op.in.move.states = states;
    return run(op);
}

void make_dead(const char *id)
{
    struct job job;

    push(id);
    job = pop_one();
    assert_bytes(job.id, bytes_of_text(id));
    assert_status(bury(&job), OK);
}

/* ---- looking ---- */

struct job_row look(const char *id)
{
    return run_well(id_op(OP_GET, id)).out.row;
}

void assert_dead(const char *id, enum death death)
{
    struct job job = look(id).job;

    assert_int_equal(job.state, JOB_DEAD);
    assert_int_equal(job.death, death);
}

void assert_all_counts(int delayed, int ready, int reserved, int dead)
{
    struct op op = run_well((struct op){.verb = OP_STATS, .topic = TOPIC});

    assert_int_equal(op.out.stats.delayed, delayed);
    assert_int_equal(op.out.stats.ready, ready);
    assert_int_equal(op.out.stats.reserved, reserved);
    assert_int_equal(op.out.stats.dead, dead);
}
