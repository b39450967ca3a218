/* How late jobs come: --rate pushes a second at steady times, whatever the node does (open
 * loop), while --connections consumers wait. Lateness is the moment a consumer has the reply
 * in its hands minus the due time that stands in the job's header in Redis; both are the
 * machine's one real-time clock. */
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/crc16.h"
#include "base/list.h"
#include "itests/bench/load/gmq.h"
#include "itests/bench/load/modes.h"
#include "itests/bench/load/report.h"

#define DUE_AT    7 /* offset in the header, see node/store/job.h */
#define DUE_BYTES 6

#define PATIENCE_US 30000000

enum step { STEP_POP, STEP_ACK };

static struct {
    const struct options *o;
    struct clients clients; /* number 0 pushes, the others consume */
    struct report report;
    int64_t begin_us;
    int64_t total;
    int64_t pushed, asked_count, known, handed, acked;
    int64_t *due_ms; /* by job; 0: not known yet */
    int64_t *asked;  /* the jobs whose due times were asked for, in the order of asking */
    struct watch redis_watch;
    redisContext *redis;
} run;

static int64_t real_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- due times ---- */

static void ask_for_due(int64_t n)
{
    char topic[32];
    unsigned bucket;
    int done;

    run.asked[run.asked_count++] = n;
    snprintf(topic, sizeof(topic), "bench-%" PRId64, n % run.o->topics);
    bucket = crc16(bytes_of_text(topic)) % (unsigned)run.o->buckets;
    redisAppendCommand(run.redis, "HGET dq:{%u}:j:%s %lld", bucket, topic,
                       (long long)(run.o->first_id + n));
    do {
        if (redisBufferWrite(run.redis, &done) != REDIS_OK)
            die("Redis: %s", run.redis->errstr);
    } while (!done);
}

static void take_due(const redisReply *reply)
{
    int64_t due_ms = 0;

    if (reply->type == REDIS_REPLY_STRING && reply->len >= DUE_AT + DUE_BYTES) {
        for (int i = DUE_AT; i < DUE_AT + DUE_BYTES; i++)
            due_ms = due_ms << 8 | (unsigned char)reply->str[i];
    }
    run.due_ms[run.asked[run.known++]] = due_ms;
}

static void on_redis_readable(struct watch *w)
{
    void *reply;

    if (redisBufferRead(run.redis) != REDIS_OK)
        die("Redis: %s", run.redis->errstr);
    while (redisReaderGetReply(run.redis->reader, &reply) == REDIS_OK && reply) {
        take_due(reply);
        freeReplyObject(reply);
    }
}

/* ---- pushing ---- */

static void on_push_reply(struct client *c, struct bytes line)
{
    gmq_expect_success(line);
    ask_for_due(gmq_reply_number(line) - run.o->first_id);
}

static void push_what_is_time_for(void)
{
    int64_t target = (run.clients.now_us - run.begin_us) * run.o->rate / 1000000;

    while (run.pushed < target && run.pushed < run.total) {
        int64_t n = run.pushed++;

        gmq_push(&run.clients.all[0], run.o->first_id + n, (unsigned)(n % run.o->topics),
                 run.o->delay_s);
    }
}

/* ---- consuming ---- */

static void count(const char *id, int64_t now_us)
{
    int64_t n = strtoll(id, NULL, 10) - run.o->first_id, late_us;

    run.handed++;
    if (n < 0 || n >= run.total || run.due_ms[n] == 0) {
        run.report.unmatched++;
        return;
    }
    late_us = now_us - run.due_ms[n] * 1000;
    if (late_us < 0)
        run.report.early++;
    run.report.operations++;
    histogram_add(&run.report.latency_us, late_us);
}

static void on_consumer_reply(struct client *c, struct bytes line)
{
    int64_t now_us = real_us();

    if (c->step == STEP_POP && !gmq_is_empty(line)) {
        gmq_popped_id(line, c->id, sizeof(c->id));
        count(c->id, now_us);
        c->step = STEP_ACK;
        gmq_ack(c, c->id);
        return;
    }
    if (c->step == STEP_ACK) {
        gmq_expect_success(line);
        run.acked++;
    }
    c->step = STEP_POP;
    gmq_pop_any(c);
}

/* ---- the run ---- */

static void open_all(const struct options *o)
{
    run.o = o;
    run.total = o->rate * o->seconds;
    run.due_ms = calloc((size_t)run.total, sizeof(*run.due_ms));
    run.asked = calloc((size_t)run.total, sizeof(*run.asked));
    run.redis = redisConnectUnix(o->redis);
    if (!run.due_ms || !run.asked || !run.redis || run.redis->err)
        die("%s: %s", o->redis, run.redis ? run.redis->errstr : "no memory");
    fcntl(run.redis->fd, F_SETFL, O_NONBLOCK);
    run.redis->flags &= ~REDIS_BLOCK;
    gmq_init(o);
    clients_open(&run.clients, o->port, 1 + (unsigned)o->connections);
    run.redis_watch = (struct watch){.fd = run.redis->fd, .on_readable = on_redis_readable};
    clients_watch(&run.clients, &run.redis_watch);
}

void mode_lateness(const struct options *o)
{
    int64_t give_up_us;

    open_all(o);
    report_init(&run.report, "lateness", o->seconds);
    run.clients.all[0].on_reply = on_push_reply;
    for (unsigned i = 1; i < run.clients.count; i++) {
        run.clients.all[i].on_reply = on_consumer_reply;
        gmq_pop_any(&run.clients.all[i]);
    }
    run.begin_us = run.clients.now_us;
    give_up_us = run.begin_us + (o->seconds + o->delay_s) * 1000000 + PATIENCE_US;
    while (run.acked < run.total) {
        clients_turn(&run.clients, 1);
        push_what_is_time_for();
        if (run.clients.now_us > give_up_us)
            die("%" PRId64 " jobs of %" PRId64 " never came", run.total - run.acked, run.total);
    }
    report_print(&run.report);
    redisFree(run.redis);
    free(run.due_ms);
    free(run.asked);
    clients_close(&run.clients);
}
