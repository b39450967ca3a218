#include "itests/bench/load/due.h"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <time.h>

#include "base/crc16.h"
#include "itests/bench/load/die.h"
#include "itests/bench/load/supply.h"

#define DUE_AT    7 /* offset in the header, see node/store/job.h */
#define DUE_BYTES 6

static struct {
    const struct options *o;
    int64_t jobs;
    int64_t *due_us;
    int64_t *asked; /* job numbers in the order of asking, which is that of the answers */
    int64_t asked_count, sent_count, answered_count;
    redisContext *redis;
    struct watch watch;
} due;

void due_init(const struct options *o, int64_t jobs)
{
    due.o = o;
    due.jobs = jobs;
    due.due_us = must_calloc(jobs, sizeof(*due.due_us));
    due.asked = must_calloc(jobs, sizeof(*due.asked));
}

void due_fini(void)
{
    free(due.due_us);
    free(due.asked);
    if (due.redis)
        redisFree(due.redis);
}

void due_set(int64_t n, int64_t at_us)
{
    due.due_us[n] = at_us;
}

int64_t due_us(int64_t n)
{
    return n >= 0 && n < due.jobs ? due.due_us[n] : 0;
}

int64_t due_real_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- from the store ---- */

static void take_header(const redisReply *reply)
{
    int64_t due_ms = 0;

    if (reply->type == REDIS_REPLY_STRING && reply->len >= DUE_AT + DUE_BYTES) {
        for (int i = DUE_AT; i < DUE_AT + DUE_BYTES; i++)
            due_ms = due_ms << 8 | (unsigned char)reply->str[i];
    }
    due_set(due.asked[due.answered_count++], due_ms * 1000);
}

static void on_redis_event(struct watch *w, uint32_t events)
{
    void *reply;

    if (redisBufferRead(due.redis) != REDIS_OK)
        die("Redis: %s", due.redis->errstr);
    while (redisReaderGetReply(due.redis->reader, &reply) == REDIS_OK && reply) {
        take_header(reply);
        freeReplyObject(reply);
    }
}

void due_open_store(struct clients *cs)
{
    due.redis = redisConnectUnix(due.o->redis);
    if (!due.redis || due.redis->err)
        die("%s: %s", due.o->redis, due.redis ? due.redis->errstr : "no memory");
    fcntl(due.redis->fd, F_SETFL, O_NONBLOCK);
    due.redis->flags &= ~REDIS_BLOCK;
    due.watch = (struct watch){due.redis->fd, on_redis_event};
    clients_watch(cs, &due.watch);
}

void due_ask(int64_t n)
{
    struct bytes topic = supply_topic((unsigned)(n % due.o->topics));
    unsigned bucket = crc16(topic) % (unsigned)due.o->buckets;

    due.asked[due.asked_count++] = n;
    redisAppendCommand(due.redis, "HGET dq:{%u}:j:%b %lld", bucket, topic.at, topic.len,
                       (long long)(due.o->first_id + n));
}

void due_send_questions(void)
{
    int done = due.sent_count == due.asked_count;

    due.sent_count = due.asked_count;
    while (!done) {
        if (redisBufferWrite(due.redis, &done) != REDIS_OK)
            die("Redis: %s", due.redis->errstr);
    }
}
