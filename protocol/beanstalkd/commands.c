/* What each command does: a row in the table at the end, with the roles that it is for. */
#include "protocol/beanstalkd/server.h"

#include <stdio.h>
#include <string.h>

#include "protocol/access/role.h"
#include "protocol/conn/peer.h"

/* beanstalkd forgets a job 2^32 seconds after its reservation; dueq, after 7 days at most. */
#define TTR_MAX_S ((uint32_t)(QUEUE_TTR_MAX_MS / 1000))

#define LOOKS_MAX 3 /* at the first job of a state, while others take it away */

static struct beanstalkd *server_of(const struct request *r)
{
    return r->client->server;
}

static struct queue *queue_of(const struct request *r)
{
    return server_of(r)->port.queue;
}

/* ---- about a job ---- */

static void set_job(struct request *r, struct bytes topic, struct bytes id)
{
    char *room = r->name;

    r->topic = text_put(&room, topic);
    r->id = text_put(&room, id);
}

static bool is_for(const struct id_find *find, struct bytes topic)
{
    return command_has_topic(CONTAINER_OF(find, struct request, asked.find), topic);
}

/* Its connection's reservation of the job; NULL also where the topic is no longer its client's.
 */
static struct held *find_own(struct request *r)
{
    struct held *held = held_find(&r->client->holder, r->command.id);

    return held && command_has_topic(r, held->topic) ? held : NULL;
}

static void on_find_done(struct id_find *find)
{
    struct request *r = CONTAINER_OF(find, struct request, asked.find);
    enum status status = command_may_go_on(r) ? find->status : STATUS_FORBIDDEN;

    if (status != STATUS_OK) {
        command_fail(r, status);
        return;
    }
    memmove(r->name + NAME_MAX_BYTES, find->topic.at, find->topic.len);
    r->topic = bytes_of(r->name + NAME_MAX_BYTES, find->topic.len);
    r->on_found(r);
}

/* The job is one with an id of the store's: which topic has it? */
static void ask_for_topic(struct request *r)
{
    int len = snprintf(r->name, NAME_MAX_BYTES, "%llu", (unsigned long long)r->command.id);

    r->id = bytes_of(r->name, (size_t)len);
    r->asked.find = (struct id_find){.id = r->id, .is_for = is_for, .on_done = on_find_done};
    queue_find(queue_of(r), &r->asked.find);
}

void command_find(struct request *r, void (*on_found)(struct request *r))
{
    uint64_t number = r->command.id;
    struct held *held = find_own(r);
    struct bytes topic, id;

    r->on_found = on_found;
    if (held) {
        set_job(r, held->topic, held->id);
        on_found(r);
    } else if (number && number < NUMBERS_OWN_MAX) {
        ask_for_topic(r);
    } else if (numbers_find(&server_of(r)->numbers, number, &topic, &id) &&
               command_has_topic(r, topic)) {
        set_job(r, topic, id);
        on_found(r);
    } else {
        command_answer(r, "NOT_FOUND");
    }
}

static void submit(struct request *r, enum op_verb verb, void (*on_done)(struct op *op))
{
    struct op *op = &r->asked.op;

    op->verb = verb;
    op->on_done = on_done;
    op->topic = r->topic;
    op->id = r->id;
    op->client = peer_name(&r->client->base.connection);
    queue_submit(queue_of(r), op);
}

static struct request *request_of(struct op *op)
{
    return CONTAINER_OF(op, struct request, asked.op);
}

/* Begins with inputs that are all zero. */
static struct op *fresh_op(struct request *r)
{
    r->asked.op = (struct op){.verb = OP_GET};
    return &r->asked.op;
}

/* ---- put ---- */

static void on_put_done(struct op *op)
{
    struct request *r = request_of(op);
    struct beanstalkd *s = server_of(r);

    if (op->status != STATUS_OK) {
        command_fail(r, op->status);
        return;
    }
    s->counters.jobs++;
    r->client->used->total_jobs++;
    beanstalkd_reply_number(&s->reply, "INSERTED",
                            numbers_of(&s->numbers, op->topic, op->out.push.id));
    command_answer(r, NULL);
}

static uint32_t stored_ttr_s(uint32_t ttr_s)
{
    if (ttr_s == 0)
        return 1;
    return ttr_s < TTR_MAX_S ? ttr_s : TTR_MAX_S;
}

static void begin_put(struct request *r)
{
    const struct beanstalkd_command *command = &r->command;
    struct beanstalkd_client *client = r->client;
    struct op *op = fresh_op(r);

    if (!command_has_topic(r, client->used->name)) {
        command_fail(r, STATUS_FORBIDDEN);
        return;
    }
    if (server_of(r)->is_draining || client->base.port->is_stopping) {
        command_answer(r, "DRAINING");
        return;
    }
    r->topic = client->used->name;
    r->id = bytes_of("", 0);
    op->in.push.body = r->body;
    op->in.push.delay_ms = (int64_t)command->delay_s * 1000;
    op->in.push.ttr_ms = (int64_t)stored_ttr_s(command->ttr_s) * 1000;
    op->in.push.rules.priority = command->priority;
    op->in.push.given = SETTING_BIT(TTR) | SETTING_BIT(PRIORITY);
    op->in.push.has_extra = op->in.push.by_id = op->in.push.is_indexed = true;
    submit(r, OP_PUSH, on_put_done);
}

/* ---- its own reservations ---- */

static bool is_over(enum status status)
{
    return status == STATUS_OK || status == STATUS_NOT_FOUND || status == STATUS_NOT_RESERVED ||
           status == STATUS_NOT_OWNER;
}

/* What the lease was used for has been done, or the lease is over. */
static void drop_held(struct request *r)
{
    held_drop(r->held);
    r->held = NULL;
}

/* NULL: the client does not hold the job. */
static struct op *use_lease(struct request *r)
{
    struct op *op = fresh_op(r);

    r->held = find_own(r);
    if (!r->held)
        return NULL;
    r->held->is_busy = true;
    r->topic = r->held->topic;
    r->id = r->held->id;
    op->in.lease.stamp = r->held->stamp;
    op->in.lease.is_nodes = true;
    op->in.lease.is_owned = true;
    return op;
}

static void on_release_done(struct op *op)
{
    struct request *r = request_of(op);
    bool has_died = op->status == STATUS_OK && op->out.change.death != DEATH_NONE;

    if (is_over(op->status))
        drop_held(r);
    if (op->status == STATUS_OK)
        command_answer(r, has_died ? "BURIED" : "RELEASED");
    else
        command_fail(r, op->status);
}

static void begin_release(struct request *r)
{
    struct op *op = use_lease(r);

    if (!op) {
        command_answer(r, "NOT_FOUND");
        return;
    }
    op->in.lease.delay_ms = (int64_t)r->command.delay_s * 1000;
    op->in.lease.has_priority = true;
    op->in.lease.priority = r->command.priority;
    submit(r, OP_RELEASE, on_release_done);
}

static void on_bury_done(struct op *op)
{
    struct request *r = request_of(op);

    if (is_over(op->status))
        drop_held(r);
    if (op->status == STATUS_OK)
        command_answer(r, "BURIED");
    else
        command_fail(r, op->status);
}

static void begin_bury(struct request *r)
{
    struct op *op = use_lease(r);

    if (!op) {
        command_answer(r, "NOT_FOUND");
        return;
    }
    op->in.lease.has_priority = true;
    op->in.lease.priority = r->command.priority;
    submit(r, OP_BURY, on_bury_done);
}

/* A lease that is over stays held until its time is: only then does its note go. */
static void on_touch_done(struct op *op)
{
    struct request *r = request_of(op);

    if (op->status == STATUS_OK) {
        held_renew(r->held, op->out.change.deadline_ms - op->now_ms);
        command_answer(r, "TOUCHED");
    } else {
        command_fail(r, op->status);
    }
}

static void begin_touch(struct request *r)
{
    struct op *op = use_lease(r);

    if (!op) {
        command_answer(r, "NOT_FOUND");
        return;
    }
    op->in.lease.is_owned = false; /* a touch ends nothing */
    submit(r, OP_TOUCH, on_touch_done);
}

/* ---- delete ---- */

static void count_deleted(struct request *r)
{
    struct tube *tube = tubes_find(&server_of(r)->tubes, r->topic);

    if (tube)
        tube->deletes++;
}

static void on_cancel_done(struct op *op)
{
    struct request *r = request_of(op);

    if (op->status == STATUS_OK) {
        count_deleted(r);
        command_answer(r, "DELETED");
    } else {
        command_fail(r, op->status);
    }
}

/* Anybody may delete what nobody has. */
static void cancel(struct request *r)
{
    struct op *op = fresh_op(r);

    op->in.cancel.states = 1u << JOB_DELAYED | 1u << JOB_READY | 1u << JOB_DEAD;
    submit(r, OP_CANCEL, on_cancel_done);
}

/* Where the time was over the job is ready again, and then it is anybody's; unless another
 * client has it by now. One without a time to run is gone since its delivery. */
static void on_ack_done(struct op *op)
{
    struct request *r = request_of(op);
    bool was_done = r->held->ttr_ms == 0 && op->status == STATUS_NOT_FOUND;

    if (is_over(op->status)) {
        set_job(r, r->held->topic, r->held->id);
        drop_held(r);
    }
    if (op->status == STATUS_OK || was_done) {
        count_deleted(r);
        command_answer(r, "DELETED");
    } else if (is_over(op->status)) {
        cancel(r);
    } else {
        command_fail(r, op->status);
    }
}

static void begin_delete(struct request *r)
{
    if (use_lease(r))
        submit(r, OP_ACK, on_ack_done);
    else
        command_find(r, cancel);
}

/* ---- peek ---- */

static void on_get_done(struct op *op)
{
    struct request *r = request_of(op);
    struct beanstalkd *s = server_of(r);

    if (op->status != STATUS_OK) {
        command_fail(r, op->status);
        return;
    }
    beanstalkd_reply_job(&s->reply, "FOUND", numbers_of(&s->numbers, r->topic, r->id),
                         op->out.row.job.body);
    command_answer(r, NULL);
}

static void get(struct request *r)
{
    (void)fresh_op(r);
    submit(r, OP_GET, on_get_done);
}

static void begin_peek(struct request *r)
{
    command_find(r, get);
}

static void look_at_first(struct request *r);

/* Another client may have taken it between the look and this. */
static void on_first_got(struct op *op)
{
    struct request *r = request_of(op);

    if (op->status == STATUS_NOT_FOUND && ++r->tries < LOOKS_MAX)
        look_at_first(r);
    else
        on_get_done(op);
}

static void on_first_found(struct op *op)
{
    struct request *r = request_of(op);

    if (op->status != STATUS_OK) {
        command_fail(r, op->status);
    } else if (op->out.list.count == 0) {
        command_answer(r, "NOT_FOUND");
    } else {
        set_job(r, r->client->used->name, op->out.list.rows[0].job.id);
        (void)fresh_op(r);
        submit(r, OP_GET, on_first_got);
    }
}

static enum job_state peeked_at(enum beanstalkd_verb verb)
{
    if (verb == BEANSTALKD_PEEK_DELAYED)
        return JOB_DELAYED;
    return verb == BEANSTALKD_PEEK_READY ? JOB_READY : JOB_DEAD;
}

static void look_at_first(struct request *r)
{
    struct op *op = fresh_op(r);

    op->in.list.state = peeked_at(r->command.verb);
    op->in.list.limit = 1;
    r->topic = r->client->used->name;
    r->id = bytes_of("", 0);
    submit(r, OP_LIST, on_first_found);
}

static void begin_peek_first(struct request *r)
{
    if (command_has_topic(r, r->client->used->name))
        look_at_first(r);
    else
        command_fail(r, STATUS_FORBIDDEN);
}

/* ---- kick ---- */

static void kick(struct request *r, enum job_state state);

static void on_kick_done(struct sweep *sweep)
{
    struct request *r = CONTAINER_OF(sweep, struct request, asked.sweep);

    if (sweep->status != STATUS_OK) {
        command_fail(r, sweep->status);
    } else if (sweep->count == 0 && sweep->states == 1u << JOB_DEAD) {
        kick(r, JOB_DELAYED);
    } else {
        r->count = (int64_t)sweep->count;
        beanstalkd_reply_number(&server_of(r)->reply, "KICKED", sweep->count);
        command_answer(r, NULL);
    }
}

static void kick(struct request *r, enum job_state state)
{
    r->asked.sweep = (struct sweep){
        .topic = r->client->used->name,
        .verb = OP_KICK,
        .states = 1u << state,
        .limit = r->command.bound,
        .client = peer_name(&r->client->base.connection),
        .on_done = on_kick_done,
    };
    queue_sweep(queue_of(r), &r->asked.sweep);
}

/* For a sweep, a limit of 0 is none. */
static void begin_kick(struct request *r)
{
    if (!command_has_topic(r, r->client->used->name))
        command_fail(r, STATUS_FORBIDDEN);
    else if (r->command.bound == 0)
        command_answer(r, "KICKED 0");
    else
        kick(r, JOB_DEAD);
}

static void on_move_done(struct op *op)
{
    struct request *r = request_of(op);

    if (op->status == STATUS_OK)
        command_answer(r, "KICKED");
    else
        command_fail(r, op->status);
}

static void move(struct request *r)
{
    struct op *op = fresh_op(r);

    op->in.move.states = 1u << JOB_DEAD | 1u << JOB_DELAYED;
    submit(r, OP_MOVE, on_move_done);
}

static void begin_kick_job(struct request *r)
{
    command_find(r, move);
}

/* ---- pause ---- */

static void on_pause_done(struct op *op)
{
    struct request *r = request_of(op);
    struct tube *tube;

    if (op->status != STATUS_OK) {
        command_fail(r, op->status);
        return;
    }
    tube = tubes_use(&server_of(r)->tubes, r->topic);
    tube->pauses++;
    tube->pause_s = r->command.delay_s;
    tubes_drop(&server_of(r)->tubes, tube);
    command_answer(r, "PAUSED");
}

/* A pause of 0 seconds ends one. */
static void pause_tube(struct request *r)
{
    struct op *op = fresh_op(r);

    op->in.configure.has_pause = true;
    op->in.configure.pause_ms = (int64_t)r->command.delay_s * 1000;
    submit(r, OP_CONFIGURE, on_pause_done);
}

static void on_counted(struct op *op)
{
    const struct topic_stats *stats = &op->out.stats;
    struct request *r = request_of(op);

    if (op->status != STATUS_OK)
        command_fail(r, op->status);
    else if (!command_may_go_on(r))
        command_fail(r, STATUS_FORBIDDEN);
    else if (stats->delayed + stats->ready + stats->reserved + stats->dead == 0)
        command_answer(r, "NOT_FOUND");
    else
        pause_tube(r);
}

/* Only a tube that exists: that somebody refers to, here, or that has a job. */
static void begin_pause(struct request *r)
{
    struct tube *tube = tubes_find(&server_of(r)->tubes, r->command.tube);

    r->topic = r->command.tube;
    r->id = bytes_of("", 0);
    if (!command_has_topic(r, r->topic)) {
        command_fail(r, STATUS_FORBIDDEN);
    } else if (tube && tube->references) {
        pause_tube(r);
    } else {
        (void)fresh_op(r);
        submit(r, OP_STATS, on_counted);
    }
}

/* ---- what is the connection's alone ---- */

static void begin_use(struct request *r)
{
    struct beanstalkd_client *client = r->client;
    struct tubes *tubes = &server_of(r)->tubes;
    struct tube *before = client->used;

    client->used = tubes_use(tubes, r->command.tube);
    client->used->using ++;
    before->using --;
    tubes_drop(tubes, before);
    beanstalkd_reply_tube(&server_of(r)->reply, "USING", client->used->name);
    command_answer(r, NULL);
}

static void tell_used(struct request *r)
{
    beanstalkd_reply_tube(&server_of(r)->reply, "USING", r->client->used->name);
    command_answer(r, NULL);
}

static void tell_watched_count(struct request *r)
{
    beanstalkd_reply_number(&server_of(r)->reply, "WATCHING", r->client->watch.count);
    command_answer(r, NULL);
}

static void begin_watch(struct request *r)
{
    if (watch_add(&r->client->watch, &server_of(r)->tubes, r->command.tube))
        tell_watched_count(r);
    else
        command_answer(r, "OUT_OF_MEMORY");
}

static void begin_ignore(struct request *r)
{
    struct watch *watch = &r->client->watch;

    if (watch->count == 1 && watch_has(watch, r->command.tube)) {
        command_answer(r, "NOT_IGNORED");
        return;
    }
    watch_remove(watch, &server_of(r)->tubes, r->command.tube);
    tell_watched_count(r);
}

static void tell_watched(struct request *r)
{
    stats_watched(r->client);
    command_answer(r, NULL);
}

/* Its jobs are ready before it sees the end, also of a reply that it has not read yet. */
static void quit(struct request *r)
{
    holder_end(&r->client->holder);
    command_lose(r, "it said quit");
}

/* ---- the table ---- */

#define LOOKS (ACCESS_PRODUCE | ACCESS_CONSUME)

static const struct {
    void (*begin)(struct request *r);
    unsigned roles; /* any of them is enough; 0: everybody may */
} rows[BEANSTALKD_VERBS] = {
    [BEANSTALKD_PUT] = {begin_put, ACCESS_PRODUCE},
    [BEANSTALKD_PEEK] = {begin_peek, LOOKS},
    [BEANSTALKD_PEEK_READY] = {begin_peek_first, LOOKS},
    [BEANSTALKD_PEEK_DELAYED] = {begin_peek_first, LOOKS},
    [BEANSTALKD_PEEK_BURIED] = {begin_peek_first, LOOKS},
    [BEANSTALKD_RESERVE_TIMEOUT] = {reserve_begin, ACCESS_CONSUME},
    [BEANSTALKD_RESERVE_JOB] = {reserve_job_begin, ACCESS_CONSUME},
    [BEANSTALKD_RESERVE] = {reserve_begin, ACCESS_CONSUME},
    [BEANSTALKD_DELETE] = {begin_delete, LOOKS},
    [BEANSTALKD_RELEASE] = {begin_release, ACCESS_CONSUME},
    [BEANSTALKD_BURY] = {begin_bury, ACCESS_CONSUME},
    [BEANSTALKD_KICK] = {begin_kick, ACCESS_OPERATE},
    [BEANSTALKD_KICK_JOB] = {begin_kick_job, ACCESS_PRODUCE},
    [BEANSTALKD_TOUCH] = {begin_touch, ACCESS_CONSUME},
    [BEANSTALKD_STATS_JOB] = {stats_job_begin, LOOKS | ACCESS_INSPECT},
    [BEANSTALKD_STATS_TUBE] = {stats_tube_begin, ACCESS_INSPECT},
    [BEANSTALKD_STATS] = {stats_begin, ACCESS_INSPECT},
    [BEANSTALKD_USE] = {begin_use, 0},
    [BEANSTALKD_WATCH] = {begin_watch, 0},
    [BEANSTALKD_IGNORE] = {begin_ignore, 0},
    [BEANSTALKD_LIST_TUBES_WATCHED] = {tell_watched, 0},
    [BEANSTALKD_LIST_TUBE_USED] = {tell_used, 0},
    [BEANSTALKD_LIST_TUBES] = {list_tubes_begin, ACCESS_INSPECT},
    [BEANSTALKD_QUIT] = {quit, 0},
    [BEANSTALKD_PAUSE_TUBE] = {begin_pause, ACCESS_OPERATE},
};

void command_begin(struct request *r)
{
    rows[r->command.verb].begin(r);
}

/* Only what is audited has a word. */
const char *command_word(enum beanstalkd_verb verb)
{
    return verb == BEANSTALKD_KICK ? "kick" : "pause-tube";
}

unsigned command_roles(enum beanstalkd_verb verb)
{
    return rows[verb].roles;
}
