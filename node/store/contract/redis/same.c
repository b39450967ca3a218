#include "node/store/contract/redis/same.h"

#define SAME(field)                                                               \
    do {                                                                          \
        if (r->field != m->field)                                                 \
            fail_msg("%s: " #field ": redis %lld, memory %lld", op_word(r->verb), \
                     (long long)r->field, (long long)m->field);                   \
    } while (0)

static void check_rules(const struct job_rules *r, const struct job_rules *m)
{
    assert_int_equal(m->priority, r->priority);
    assert_int_equal(m->max_tries, r->max_tries);
    assert_int_equal(m->backoff.kind, r->backoff.kind);
    assert_int_equal(m->backoff.jitter_percent, r->backoff.jitter_percent);
    assert_int_equal(m->backoff.base_ms, r->backoff.base_ms);
    assert_int_equal(m->backoff.cap_ms, r->backoff.cap_ms);
    assert_int_equal(m->expires_ms, r->expires_ms);
}

static void check_extra(const struct job_extra *r, const struct job_extra *m)
{
    assert_int_equal(m->is_there, r->is_there);
    assert_int_equal(m->by_id, r->by_id);
    assert_int_equal(m->created_ms, r->created_ms);
    assert_int_equal(m->reserves, r->reserves);
    assert_int_equal(m->timeouts, r->timeouts);
    assert_int_equal(m->releases, r->releases);
    assert_int_equal(m->buries, r->buries);
    assert_int_equal(m->kicks, r->kicks);
    assert_bytes(m->attributes, r->attributes);
}

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
    assert_int_equal(m->death, r->death);
    assert_bytes(m->holder, r->holder);
    check_rules(&r->rules, &m->rules);
    check_extra(&r->extra, &m->extra);
}

static void check_row(const struct job_row *r, const struct job_row *m)
{
    check_job(&r->job, &m->job);
    assert_int_equal(m->body_bytes, r->body_bytes);
    assert_int_equal(m->place_ms, r->place_ms);
}

static void check_stats(const struct topic_stats *r, const struct topic_stats *m)
{
    assert_int_equal(m->delayed, r->delayed);
    assert_int_equal(m->ready, r->ready);
    assert_int_equal(m->reserved, r->reserved);
    assert_int_equal(m->dead, r->dead);
    assert_int_equal(m->oldest_ready_ms, r->oldest_ready_ms);
    assert_int_equal(m->next_due_ms, r->next_due_ms);
    assert_int_equal(m->urgent, r->urgent);
}

static int64_t lateness_sum(const struct op *op)
{
    int64_t sum_ms = 0;

    for (unsigned i = 0; i < op->out.scan.lateness_count; i++)
        sum_ms += op->out.scan.lateness_ms[i];
    return sum_ms;
}

static void check_push(const struct op *r, const struct op *m)
{
    assert_bytes(m->out.push.id, r->out.push.id);
    SAME(out.push.due_ms);
    SAME(out.push.existed);
}

static void check_pop(const struct op *r, const struct op *m)
{
    SAME(out.pop.count);
    SAME(out.pop.has_more);
    for (unsigned i = 0; i < r->out.pop.count; i++)
        check_job(&r->out.pop.jobs[i], &m->out.pop.jobs[i]);
}

/* Which of them came first is each store's own. */
static void check_scan(const struct op *r, const struct op *m)
{
    SAME(out.scan.moved);
    SAME(out.scan.expired);
    SAME(out.scan.next_ms);
    SAME(out.scan.stuck);
    SAME(out.scan.lateness_count);
    SAME(out.scan.died[DEATH_TRIES]);
    SAME(out.scan.died[DEATH_EXPIRED]);
    SAME(out.scan.pruned);
    SAME(out.scan.taken);
    SAME(out.scan.taken_over);
    SAME(out.scan.stolen);
    SAME(out.scan.conflicts);
    assert_int_equal(lateness_sum(r), lateness_sum(m));
    for (unsigned i = 0; i < r->in.scan.pop_count; i++) {
        const struct op *of_r = r->in.scan.pops[i], *of_m = m->in.scan.pops[i];

        assert_int_equal(of_m->now_ms, of_r->now_ms);
        check_pop(of_r, of_m);
    }
}

static void check_leases(const struct op *r, const struct op *m)
{
    SAME(out.leases.stale);
}

static void check_release(const struct op *r, const struct op *m)
{
    SAME(out.change.due_ms);
    SAME(out.change.tries);
    SAME(out.change.death);
}

static void check_touch(const struct op *r, const struct op *m)
{
    SAME(out.change.deadline_ms);
}

static void check_bury(const struct op *r, const struct op *m)
{
    SAME(out.change.tries);
}

static void check_move(const struct op *r, const struct op *m)
{
    SAME(out.change.due_ms);
    SAME(out.change.stays);
}

static void check_chunk(const struct op *r, const struct op *m)
{
    SAME(out.chunk.count);
    SAME(out.chunk.has_more);
}

static void check_get(const struct op *r, const struct op *m)
{
    check_row(&r->out.row, &m->out.row);
}

/* Each store has its own form of cursors. */
static void check_list(const struct op *r, const struct op *m)
{
    SAME(out.list.count);
    assert_int_equal(m->out.list.next.len == 0, r->out.list.next.len == 0);
    for (unsigned i = 0; i < r->out.list.count; i++)
        check_row(&r->out.list.rows[i], &m->out.list.rows[i]);
}

static void check_counts(const struct op *r, const struct op *m)
{
    check_stats(&r->out.stats, &m->out.stats);
}

static void check_topics(const struct op *r, const struct op *m)
{
    SAME(out.topics.count);
    SAME(out.topics.total);
    assert_bytes(m->out.topics.next, r->out.topics.next);
    for (unsigned i = 0; i < r->out.topics.count; i++) {
        assert_bytes(m->out.topics.rows[i].topic, r->out.topics.rows[i].topic);
        check_stats(&r->out.topics.rows[i].stats, &m->out.topics.rows[i].stats);
        assert_bytes(m->out.topics.rows[i].lock.node, r->out.topics.rows[i].lock.node);
        SAME(out.topics.rows[i].lock.view);
        SAME(out.topics.rows[i].lock.token);
        SAME(out.topics.rows[i].lock.left_ms);
    }
}

static void check_owner(const struct op *r, const struct op *m)
{
    assert_bytes(m->out.owner.topic, r->out.owner.topic);
    SAME(out.owner.stamp);
}

static void check_settings(const struct op *r, const struct op *m)
{
    char redis[SETTINGS_BYTES], memory[SETTINGS_BYTES];

    SAME(out.settings.count);
    for (unsigned i = 0; i < r->out.settings.count; i++) {
        settings_pack(&r->out.settings.rows[i].settings, redis);
        settings_pack(&m->out.settings.rows[i].settings, memory);
        assert_memory_equal(memory, redis, SETTINGS_BYTES);
    }
}

/* Where a page ends is each store's own. */
static void check_trace(const struct op *r, const struct op *m)
{
    SAME(out.trace.count);
    for (unsigned i = 0; i < r->out.trace.count; i++) {
        SAME(out.trace.items[i].event);
        SAME(out.trace.items[i].death);
        SAME(out.trace.items[i].time_ms);
        SAME(out.trace.items[i].at_ms);
        SAME(out.trace.items[i].tries);
        assert_bytes(m->out.trace.items[i].node, r->out.trace.items[i].node);
        assert_bytes(m->out.trace.items[i].client, r->out.trace.items[i].client);
    }
}

static const struct identity_row *find(const struct op *op, struct bytes name)
{
    for (unsigned i = 0; i < op->out.identities.count; i++)
        if (bytes_equal(op->out.identities.rows[i].name, name))
            return &op->out.identities.rows[i];
    fail_msg("'%.*s' is missing in memory", BYTES_ARG(name));
    return NULL;
}

/* Notes come in each store's own order; and so, of many, others come. */
static void check_notes(const struct op *r, const struct op *m)
{
    int64_t redis = 0, memory = 0;

    SAME(out.notes.count);
    for (unsigned i = 0; i < r->out.notes.count && r->out.notes.count < OP_NOTES_MAX; i++) {
        redis += r->out.notes.items[i].stamp + r->out.notes.items[i].made_ms;
        memory += m->out.notes.items[i].stamp + m->out.notes.items[i].made_ms;
    }
    assert_int_equal(memory, redis);
}

static void check_identities(const struct op *r, const struct op *m)
{
    SAME(out.identities.is_same);
    SAME(out.identities.version);
    SAME(out.identities.horizon);
    SAME(out.identities.count);
    assert_bytes(m->out.identities.id, r->out.identities.id);
    for (unsigned i = 0; i < r->out.identities.count; i++) {
        const struct identity_row *row = &r->out.identities.rows[i];
        const struct identity_row *other = find(m, row->name);

        assert_int_equal(row->version, other->version);
        assert_bytes(row->line, other->line);
    }
}

static void check_identify(const struct op *r, const struct op *m)
{
    SAME(out.identify.version);
}

static void check_outputs(const struct op *r, const struct op *m)
{
    static void (*const checks[OP_COUNT])(const struct op *, const struct op *) = {
        [OP_PUSH] = check_push,
        [OP_POP] = check_pop,
        [OP_TAKE] = check_pop,
        [OP_DELIVERED] = check_leases,
        [OP_KEEP] = check_leases,
        [OP_RETURN] = check_leases,
        [OP_RELEASE] = check_release,
        [OP_TOUCH] = check_touch,
        [OP_BURY] = check_bury,
        [OP_MOVE] = check_move,
        [OP_KICK] = check_chunk,
        [OP_PURGE] = check_chunk,
        [OP_GET] = check_get,
        [OP_LIST] = check_list,
        [OP_STATS] = check_counts,
        [OP_TOPICS] = check_topics,
        [OP_OWNER] = check_owner,
        [OP_NOTES] = check_notes,
        [OP_SCAN] = check_scan,
        [OP_CONFIGURE] = check_settings,
        [OP_SETTINGS] = check_settings,
        [OP_TRACE] = check_trace,
        [OP_IDENTITIES] = check_identities,
        [OP_IDENTIFY] = check_identify,
    };

    if (checks[r->verb])
        checks[r->verb](r, m);
}

void assert_same_answer(const struct op *r, const struct op *m)
{
    SAME(status);
    SAME(now_ms);
    SAME(wait_ms);
    if (r->status == STATUS_FENCED)
        assert_bytes(m->out.fenced.seen, r->out.fenced.seen);
    if (r->status == STATUS_OK)
        check_outputs(r, m);
}
