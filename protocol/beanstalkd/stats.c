/* What beanstalkd tells of a job, of a tube, and of itself, in its YAML.
 *
 * Jobs are counted in the store, so over all nodes; commands, connections and what clients use
 * or watch are this process's. For `stats` and `list-tubes` all topics with a job are walked,
 * page by page; a tube without a job exists as long as a client of this node refers to it.
 */
#include "protocol/beanstalkd/server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#define VERSION      "1.13"            /* whose protocol this is: clients look at it */
#define BINLOG_BYTES 10485760          /* beanstalkd's default; there is no binlog here */
#define NAMES_MAX    ((size_t)4 << 20) /* of tubes, together */
#define SECOND_MS    1000
#define JOBS_OF(s)   ((s)->delayed + (s)->ready + (s)->reserved + (s)->dead)

static struct beanstalkd *server_of(const struct request *r)
{
    return r->client->server;
}

/* An empty page, for this reply. */
static struct buf *yaml_of(const struct request *r)
{
    struct buf *yaml = &server_of(r)->yaml;

    buf_reuse(yaml);
    beanstalkd_yaml_begin(yaml);
    return yaml;
}

static void answer_yaml(struct request *r)
{
    struct beanstalkd *s = server_of(r);

    beanstalkd_reply_data(&s->reply, buf_bytes(&s->yaml));
    command_answer(r, NULL);
}

static struct request *request_of(struct op *op)
{
    return CONTAINER_OF(op, struct request, asked.op);
}

static int64_t at_least_0(int64_t ms)
{
    return ms > 0 ? ms : 0;
}

/* ---- a job ---- */

static const char *state_word(enum job_state state)
{
    return state == JOB_DEAD ? "buried" : job_state_word(state);
}

/* A job that has just been handed over: its consumer has it, but the store learns so only when
 * the consumer's kernel has acknowledged the reply. NULL: the store knows best. */
static const struct held *held_here(struct request *r, const struct job *job)
{
    const struct held *held = held_of_any(&server_of(r)->held, r->command.id);

    return held && job->state == JOB_RESERVED && held->stamp == job->stamp ? held : NULL;
}

static int64_t left_ms(const struct request *r, const struct op *op, const struct held *held)
{
    const struct job_row *row = &op->out.row;
    bool has_time = row->job.state == JOB_RESERVED || row->job.state == JOB_DELAYED;

    if (held)
        return at_least_0(held->end_mono_ms - timers_now(&server_of(r)->port.loop->timers));
    return has_time ? at_least_0(row->place_ms - op->now_ms) : 0;
}

static int64_t made_ms(const struct job *job)
{
    return job->extra.is_there ? job->extra.created_ms : job->due_ms - job->delay_ms;
}

/* Jobs of other dialects are not counted, but for their tries. */
static unsigned reserves(const struct job *job, const struct held *held)
{
    unsigned told = job->extra.is_there ? job->extra.reserves : job->tries;

    return held && held->reserves > told ? held->reserves : told;
}

static void print_job(struct buf *yaml, struct request *r, const struct op *op)
{
    const struct job *job = &op->out.row.job;
    const struct job_extra *extra = &job->extra;
    const struct held *held = held_here(r, job);

    beanstalkd_yaml_word(yaml, "state", state_word(job->state));
    beanstalkd_yaml_number(yaml, "pri", job->rules.priority);
    beanstalkd_yaml_number(yaml, "age", at_least_0(op->now_ms - made_ms(job)) / SECOND_MS);
    beanstalkd_yaml_number(yaml, "delay", job->delay_ms / SECOND_MS);
    beanstalkd_yaml_number(yaml, "ttr", job->ttr_ms / SECOND_MS);
    beanstalkd_yaml_number(yaml, "time-left", left_ms(r, op, held) / SECOND_MS);
    beanstalkd_yaml_number(yaml, "file", 0);
    beanstalkd_yaml_number(yaml, "reserves", reserves(job, held));
    beanstalkd_yaml_number(yaml, "timeouts", extra->timeouts);
    beanstalkd_yaml_number(yaml, "releases", extra->releases);
    beanstalkd_yaml_number(yaml, "buries", extra->buries);
    beanstalkd_yaml_number(yaml, "kicks", extra->kicks);
}

static void on_job_got(struct op *op)
{
    struct request *r = request_of(op);
    struct buf *yaml;

    if (op->status != STATUS_OK) {
        command_fail(r, op->status);
        return;
    }
    yaml = yaml_of(r);
    beanstalkd_yaml_number(yaml, "id",
                           (int64_t)numbers_of(&server_of(r)->numbers, r->topic, r->id));
    beanstalkd_yaml_text(yaml, "tube", r->topic);
    print_job(yaml, r, op);
    answer_yaml(r);
}

static void get(struct request *r)
{
    r->asked.op =
        (struct op){.verb = OP_GET, .on_done = on_job_got, .topic = r->topic, .id = r->id};
    queue_submit(server_of(r)->port.queue, &r->asked.op);
}

void stats_job_begin(struct request *r)
{
    command_find(r, get);
}

/* ---- a tube ---- */

static void print_counts(struct buf *yaml, const struct topic_stats *stats)
{
    beanstalkd_yaml_number(yaml, "current-jobs-urgent", stats->urgent);
    beanstalkd_yaml_number(yaml, "current-jobs-ready", stats->ready);
    beanstalkd_yaml_number(yaml, "current-jobs-reserved", stats->reserved);
    beanstalkd_yaml_number(yaml, "current-jobs-delayed", stats->delayed);
    beanstalkd_yaml_number(yaml, "current-jobs-buried", stats->dead);
}

static void print_tube(struct buf *yaml, const struct tube *tube,
                       const struct topic_stats *stats, int64_t pause_left_ms)
{
    int64_t left_s = pause_left_ms / SECOND_MS;

    beanstalkd_yaml_text(yaml, "name", tube->name);
    print_counts(yaml, stats);
    beanstalkd_yaml_number(yaml, "total-jobs", (int64_t)tube->total_jobs);
    beanstalkd_yaml_number(yaml, "current-using", tube->using);
    beanstalkd_yaml_number(yaml, "current-watching", tube->watching);
    beanstalkd_yaml_number(yaml, "current-waiting", tube->waiting);
    beanstalkd_yaml_number(yaml, "cmd-delete", (int64_t)tube->deletes);
    beanstalkd_yaml_number(yaml, "cmd-pause-tube", (int64_t)tube->pauses);
    beanstalkd_yaml_number(yaml, "pause", tube->pause_s > left_s ? tube->pause_s : left_s);
    beanstalkd_yaml_number(yaml, "pause-time-left", left_s);
}

/* A tube that has vanished begins anew. */
static void forget_counts(struct tube *tube)
{
    tube->total_jobs = tube->deletes = tube->pauses = 0;
    tube->pause_s = 0;
}

static void on_tube_counted(struct op *op)
{
    struct request *r = request_of(op);
    struct beanstalkd *s = server_of(r);
    int64_t pause_left_ms;
    bool exists;
    struct tube *tube;

    if (op->status != STATUS_OK) {
        command_fail(r, op->status);
        return;
    }
    tube = tubes_use(&s->tubes, r->topic);
    exists = tube->references > 1 || JOBS_OF(&op->out.stats) > 0;
    pause_left_ms =
        at_least_0(queue_paused_until(s->port.queue, r->topic, op->now_ms) - op->now_ms);
    if (!exists)
        forget_counts(tube);
    if (pause_left_ms == 0)
        tube->pause_s = 0;
    if (exists)
        print_tube(yaml_of(r), tube, &op->out.stats, pause_left_ms);
    tubes_drop(&s->tubes, tube);
    if (exists)
        answer_yaml(r);
    else
        command_answer(r, "NOT_FOUND");
}

void stats_tube_begin(struct request *r)
{
    r->topic = r->command.tube;
    if (!command_has_topic(r, r->topic)) {
        command_fail(r, STATUS_FORBIDDEN);
        return;
    }
    r->asked.op = (struct op){.verb = OP_STATS, .on_done = on_tube_counted, .topic = r->topic};
    queue_submit(server_of(r)->port.queue, &r->asked.op);
}

/* ---- all topics, walked ---- */

struct walk {
    struct topic_stats total;
    struct buf names; /* of tubes with a job, each with '\n' behind */
    bool is_cut;      /* there are more */
    uint64_t count;   /* of the tubes with a job */
    unsigned bucket;
    char after[OP_CURSOR_MAX];
    void (*on_done)(struct request *r);
};

static void end_walk(struct request *r)
{
    buf_fini(&r->walk->names);
    free(r->walk);
    r->walk = NULL;
}

static void next_page(struct request *r, size_t after_len);

/* Topics with a ':' are no tubes: no command could name them. */
static void note_tube(struct walk *walk, struct bytes topic)
{
    if (memchr(topic.at, ':', topic.len))
        return;
    walk->count++;
    walk->is_cut |= walk->names.len + topic.len + 1 > NAMES_MAX;
    if (walk->is_cut)
        return;
    buf_add_bytes(&walk->names, topic);
    buf_add_char(&walk->names, '\n');
}

static void note_topic(struct walk *walk, const struct topic_count *row)
{
    walk->total.urgent += row->stats.urgent;
    walk->total.ready += row->stats.ready;
    walk->total.reserved += row->stats.reserved;
    walk->total.delayed += row->stats.delayed;
    walk->total.dead += row->stats.dead;
    note_tube(walk, row->topic);
}

static void on_page(struct op *op)
{
    struct request *r = request_of(op);
    struct walk *walk = r->walk;
    size_t next = op->out.topics.next.len;

    if (op->status != STATUS_OK || r->client->is_closed) {
        end_walk(r);
        command_fail(r, op->status == STATUS_OK ? STATUS_CANCELLED : op->status);
        return;
    }
    for (unsigned i = 0; i < op->out.topics.count; i++)
        if (command_has_topic(r, op->out.topics.rows[i].topic))
            note_topic(walk, &op->out.topics.rows[i]);
    if (next > 0)
        memcpy(walk->after, op->out.topics.next.at, next);
    else
        walk->bucket++;
    if (walk->bucket < queue_buckets(server_of(r)->port.queue))
        next_page(r, next);
    else
        walk->on_done(r);
}

static void next_page(struct request *r, size_t after_len)
{
    struct walk *walk = r->walk;

    r->asked.op = (struct op){
        .verb = OP_TOPICS,
        .on_done = on_page,
        .bucket = walk->bucket,
        .in.topics = {.after = bytes_of(walk->after, after_len), .limit = OP_TOPICS_MAX},
    };
    queue_submit(server_of(r)->port.queue, &r->asked.op);
}

static void walk_topics(struct request *r, void (*on_done)(struct request *r))
{
    r->walk = must(calloc(1, sizeof(*r->walk)));
    r->walk->on_done = on_done;
    next_page(r, 0);
}

/* The names as a sorted array, which is the caller's to free. */
static int compare(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

static struct bytes *sort_names(const struct walk *walk, size_t *count)
{
    struct bytes rest = buf_bytes(&walk->names);
    struct bytes *names = must(malloc((walk->count + 1) * sizeof(*names)));

    for (*count = 0; rest.len; ++*count)
        names[*count] = bytes_cut(&rest, '\n');
    if (*count)
        qsort(names, *count, sizeof(*names), compare);
    return names;
}

static bool is_among(const struct bytes *names, size_t count, struct bytes name)
{
    return count && bsearch(&name, names, count, sizeof(*names), compare);
}

/* The tubes that clients of this node refer to, and that have no job: counted, and listed where
 * there is a list. */
static uint64_t add_referred(struct request *r, struct buf *list)
{
    size_t count;
    struct bytes *names = sort_names(r->walk, &count);
    uint64_t added = 0;

    LIST_EACH (link, &server_of(r)->tubes.referred) {
        struct bytes name = CONTAINER_OF(link, struct tube, place)->name;

        if (is_among(names, count, name) || !command_has_topic(r, name))
            continue;
        added++;
        if (list && !bytes_equal(name, BYTES("default")))
            beanstalkd_yaml_item(list, name);
    }
    free(names);
    return added;
}

/* ---- list-tubes ---- */

static void on_tubes_walked(struct request *r)
{
    struct bytes rest = buf_bytes(&r->walk->names);
    bool is_cut = r->walk->is_cut;
    struct buf *yaml = yaml_of(r);

    beanstalkd_yaml_item(yaml, BYTES("default"));
    while (rest.len) {
        struct bytes name = bytes_cut(&rest, '\n');

        if (!bytes_equal(name, BYTES("default")))
            beanstalkd_yaml_item(yaml, name);
    }
    add_referred(r, yaml);
    end_walk(r);
    if (is_cut)
        command_answer(r, "OUT_OF_MEMORY");
    else
        answer_yaml(r);
}

void list_tubes_begin(struct request *r)
{
    walk_topics(r, on_tubes_walked);
}

void stats_watched(struct beanstalkd_client *client)
{
    struct beanstalkd *s = client->server;

    buf_reuse(&s->yaml);
    beanstalkd_yaml_begin(&s->yaml);
    for (unsigned i = 0; i < client->watch.count; i++)
        beanstalkd_yaml_item(&s->yaml, client->watch.at[i]->name);
    beanstalkd_reply_data(&s->reply, buf_bytes(&s->yaml));
}

/* ---- stats ---- */

/* In beanstalkd's order. */
static const struct {
    const char *key;
    enum beanstalkd_verb verb;
} counted[] = {
    {"cmd-put", BEANSTALKD_PUT},
    {"cmd-peek", BEANSTALKD_PEEK},
    {"cmd-peek-ready", BEANSTALKD_PEEK_READY},
    {"cmd-peek-delayed", BEANSTALKD_PEEK_DELAYED},
    {"cmd-peek-buried", BEANSTALKD_PEEK_BURIED},
    {"cmd-reserve", BEANSTALKD_RESERVE},
    {"cmd-reserve-with-timeout", BEANSTALKD_RESERVE_TIMEOUT},
    {"cmd-delete", BEANSTALKD_DELETE},
    {"cmd-release", BEANSTALKD_RELEASE},
    {"cmd-use", BEANSTALKD_USE},
    {"cmd-watch", BEANSTALKD_WATCH},
    {"cmd-ignore", BEANSTALKD_IGNORE},
    {"cmd-bury", BEANSTALKD_BURY},
    {"cmd-kick", BEANSTALKD_KICK},
    {"cmd-touch", BEANSTALKD_TOUCH},
    {"cmd-stats", BEANSTALKD_STATS},
    {"cmd-stats-job", BEANSTALKD_STATS_JOB},
    {"cmd-stats-tube", BEANSTALKD_STATS_TUBE},
    {"cmd-list-tubes", BEANSTALKD_LIST_TUBES},
    {"cmd-list-tube-used", BEANSTALKD_LIST_TUBE_USED},
    {"cmd-list-tubes-watched", BEANSTALKD_LIST_TUBES_WATCHED},
    {"cmd-pause-tube", BEANSTALKD_PAUSE_TUBE},
};

static void print_commands(struct buf *yaml, const struct counters *counters)
{
    for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++)
        beanstalkd_yaml_number(yaml, counted[i].key,
                               (int64_t)counters->commands[counted[i].verb]);
}

static void print_server(struct buf *yaml, struct beanstalkd *s, uint64_t tubes)
{
    const struct counters *counters = &s->counters;

    beanstalkd_yaml_number(yaml, "job-timeouts",
                           (int64_t)queue_stats(s->port.queue)->expired_jobs);
    beanstalkd_yaml_number(yaml, "total-jobs", (int64_t)counters->jobs);
    beanstalkd_yaml_number(yaml, "max-job-size", (int64_t)s->options.limits.body_max_bytes);
    beanstalkd_yaml_number(yaml, "current-tubes", (int64_t)tubes);
    beanstalkd_yaml_number(yaml, "current-connections", (int64_t)s->port.stats.connections);
    beanstalkd_yaml_number(yaml, "current-producers", counters->producers);
    beanstalkd_yaml_number(yaml, "current-workers", counters->workers);
    beanstalkd_yaml_number(yaml, "current-waiting", counters->waiting);
    beanstalkd_yaml_number(yaml, "total-connections", (int64_t)s->port.stats.accepted);
}

static void print_time(struct buf *yaml, const char *key, const struct timeval *time)
{
    buf_printf(yaml, "%s: %d.%06d\n", key, (int)time->tv_sec, (int)time->tv_usec);
}

static void print_process(struct buf *yaml, struct beanstalkd *s)
{
    struct rusage used = {0};
    int64_t up_ms = timers_now(&s->port.loop->timers) - s->start_mono_ms;

    (void)getrusage(RUSAGE_SELF, &used);
    beanstalkd_yaml_number(yaml, "pid", getpid());
    beanstalkd_yaml_text(yaml, "version", BYTES(VERSION));
    print_time(yaml, "rusage-utime", &used.ru_utime);
    print_time(yaml, "rusage-stime", &used.ru_stime);
    beanstalkd_yaml_number(yaml, "uptime", up_ms / SECOND_MS);
    beanstalkd_yaml_number(yaml, "binlog-oldest-index", 0);
    beanstalkd_yaml_number(yaml, "binlog-current-index", 0);
    beanstalkd_yaml_number(yaml, "binlog-records-migrated", 0);
    beanstalkd_yaml_number(yaml, "binlog-records-written", 0);
    beanstalkd_yaml_number(yaml, "binlog-max-size", BINLOG_BYTES);
}

static void print_machine(struct buf *yaml, const struct beanstalkd *s)
{
    bool is_draining = s->is_draining || s->port.is_stopping;
    struct utsname machine;

    if (uname(&machine))
        abort();
    beanstalkd_yaml_word(yaml, "draining", is_draining ? "true" : "false");
    beanstalkd_yaml_word(yaml, "id", s->id);
    beanstalkd_yaml_text(yaml, "hostname", bytes_of_text(machine.nodename));
    beanstalkd_yaml_text(yaml, "os", bytes_of_text(machine.version));
    beanstalkd_yaml_text(yaml, "platform", bytes_of_text(machine.machine));
}

static void on_all_walked(struct request *r)
{
    struct beanstalkd *s = server_of(r);
    uint64_t tubes = r->walk->count + add_referred(r, NULL);
    struct buf *yaml = yaml_of(r);

    print_counts(yaml, &r->walk->total);
    print_commands(yaml, &s->counters);
    print_server(yaml, s, tubes);
    print_process(yaml, s);
    print_machine(yaml, s);
    end_walk(r);
    answer_yaml(r);
}

void stats_begin(struct request *r)
{
    walk_topics(r, on_all_walked);
}
