#include "node/store/contract_same.h"

#define SAME(field)                                                               \
    do {                                                                          \
        if (r->field != m->field)                                                 \
            fail_msg("%s: " #field ": redis %lld, memory %lld", op_word(r->verb), \
                     (long long)r->field, (long long)m->field);                   \
    } while (0)

static void check_job(const struct job *r, const struct job *m)
{
    assert_bytes(m->id, r->id);
    assert_bytes(m->body, r->body);
    assert_int_equal(m->state, r->state);
    assert_int_equal(m->due_ms, r->due_ms);
    assert_int_equal(m->delay_ms, r->delay_ms);
    assert_int_equal(m->ttr_ms, r->ttr_ms);
    assert_int_equal(m->stamp, r->stamp);
    assert_int_equal(m->tries, r->tries);
}

static void check_stats(const struct topic_stats *r, const struct topic_stats *m)
{
    assert_int_equal(m->delayed, r->delayed);
    assert_int_equal(m->ready, r->ready);
    assert_int_equal(m->reserved, r->reserved);
    assert_int_equal(m->dead, r->dead);
    assert_int_equal(m->oldest_ready_ms, r->oldest_ready_ms);
    assert_int_equal(m->next_due_ms, r->next_due_ms);
}

static int64_t lateness_sum(const struct op *op)
{
    int64_t sum_ms = 0;

    for (unsigned i = 0; i < op->out.scan.lateness_count; i++)
        sum_ms += op->out.scan.lateness_ms[i];
    return sum_ms;
}

/* Which of them came first is each store's own. */
static void check_scan(const struct op *r, const struct op *m)
{
    SAME(out.scan.moved);
    SAME(out.scan.expired);
    SAME(out.scan.next_ms);
    SAME(out.scan.stuck);
    SAME(out.scan.lateness_count);
    assert_int_equal(lateness_sum(r), lateness_sum(m));
}

static void check_outputs(const struct op *r, const struct op *m)
{
    switch (r->verb) {
    case OP_PUSH:
        assert_bytes(m->out.push.id, r->out.push.id);
        SAME(out.push.due_ms);
        break;
    case OP_POP:
        SAME(out.pop.count);
        SAME(out.pop.has_more);
        for (unsigned i = 0; i < r->out.pop.count; i++)
            check_job(&r->out.pop.jobs[i], &m->out.pop.jobs[i]);
        break;
    case OP_DELIVERED:
    case OP_KEEP:
    case OP_RETURN:
        SAME(out.leases.stale);
        break;
    case OP_GET:
        check_job(&r->out.row.job, &m->out.row.job);
        break;
    case OP_STATS:
        check_stats(&r->out.stats, &m->out.stats);
        break;
    case OP_TOPICS:
        SAME(out.topics.count);
        SAME(out.topics.total);
        assert_bytes(m->out.topics.next, r->out.topics.next);
        for (unsigned i = 0; i < r->out.topics.count; i++) {
            assert_bytes(m->out.topics.rows[i].topic, r->out.topics.rows[i].topic);
            check_stats(&r->out.topics.rows[i].stats, &m->out.topics.rows[i].stats);
        }
        break;
    case OP_OWNER:
        assert_bytes(m->out.owner.topic, r->out.owner.topic);
        SAME(out.owner.stamp);
        break;
    case OP_SCAN:
        check_scan(r, m);
        break;
    default:
        break;
    }
}

void assert_same_answer(const struct op *r, const struct op *m)
{
    SAME(status);
    SAME(now_ms);
    SAME(wait_ms);
    if (r->status == STATUS_OK)
        check_outputs(r, m);
}
