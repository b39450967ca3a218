#include "itests/bench/load/bulk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "itests/bench/load/die.h"
#include "itests/bench/load/redis.h"
#include "itests/bench/load/report.h"
#include "itests/bench/load/supply.h"
#include "node/store/job.h"

#define BODY_BYTES_MAX 1024 /* larger ones are stored in another way */
#define WORDS_MAX      (2 + 2 * BULK_JOBS_MAX)
#define ID_ROOM        24
#define IN_FLIGHT      8 /* batches */

struct command {
    int argc;
    const char *argv[WORDS_MAX];
    size_t lens[WORDS_MAX];
};

static struct {
    const struct options *o;
    struct command jobs, delayed;
    char ids[BULK_JOBS_MAX][ID_ROOM];
    struct buf value; /* all jobs of a batch have the same */
    char due[ID_ROOM];
} bulk;

static void add(struct command *c, struct bytes word)
{
    c->argv[c->argc] = word.at;
    c->lens[c->argc++] = word.len;
}

static void begin(struct command *c, struct bytes name, struct bytes key)
{
    c->argc = 0;
    add(c, name);
    add(c, key);
}

static void make_value(void)
{
    int64_t now_ms = clock_wall_ms(), delay_ms = bulk.o->delay_s * 1000;
    struct job job = {.state = JOB_DELAYED, .ttr_ms = bulk.o->ttr_s * 1000};

    job.due_ms = bulk.o->at_ms ? bulk.o->at_ms : now_ms + delay_ms;
    job.delay_ms = job.due_ms - now_ms;
    if (job.delay_ms <= 0)
        die("--bulk fills in delayed jobs only");
    snprintf(bulk.due, sizeof(bulk.due), "%" PRId64, job.due_ms);
    buf_clear(&bulk.value);
    job_pack_header(&job, buf_reserve(&bulk.value, JOB_HEADER_BYTES));
    bulk.value.len = JOB_HEADER_BYTES;
    buf_add_bytes(&bulk.value, supply_body());
}

static void send(unsigned bucket, struct bytes topic)
{
    redis_append_command(bulk.jobs.argc, bulk.jobs.argv, bulk.jobs.lens);
    redis_append_command(bulk.delayed.argc, bulk.delayed.argv, bulk.delayed.lens);
    redis_append_text("ZADD dq:{%u}:t LT %s %b", bucket, bulk.due, topic.at, topic.len);
    redis_append_text("ZADD dq:{%u}:a 0 %b", bucket, topic.at, topic.len);
}

static void take_answers(void)
{
    for (int i = 0; i < 4; i++)
        redis_take_plain();
}

/* So many jobs of one topic. */
static void send_batch(unsigned number, int64_t first_id, int64_t count)
{
    struct bytes topic = supply_topic(number);
    unsigned bucket = redis_bucket_of(number);
    char jobs_key[64], delayed_key[64];

    make_value();
    snprintf(jobs_key, sizeof(jobs_key), "dq:{%u}:j:%.*s", bucket, BYTES_ARG(topic));
    snprintf(delayed_key, sizeof(delayed_key), "dq:{%u}:d:%.*s", bucket, BYTES_ARG(topic));
    begin(&bulk.jobs, BYTES("HSET"), bytes_of_text(jobs_key));
    begin(&bulk.delayed, BYTES("ZADD"), bytes_of_text(delayed_key));
    for (int64_t i = 0; i < count; i++) {
        int len = snprintf(bulk.ids[i], ID_ROOM, "%" PRId64, first_id + i);
        struct bytes id = bytes_of(bulk.ids[i], (size_t)len);

        add(&bulk.jobs, id);
        add(&bulk.jobs, buf_bytes(&bulk.value));
        add(&bulk.delayed, bytes_of_text(bulk.due));
        add(&bulk.delayed, id);
    }
    send(bucket, topic);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The topics of the buckets that this Redis has; how many. */
static int64_t choose_topics(unsigned *chosen)
{
    const char *signs = bulk.o->only_buckets;
    int64_t count = 0;

    if (*signs && strlen(signs) != (size_t)bulk.o->buckets)
        die("--only-buckets takes a sign for each of %d buckets", (int)bulk.o->buckets);
    for (unsigned topic = 0; topic < bulk.o->topics; topic++) {
        if (!*signs || signs[redis_bucket_of(topic)] == '+')
            chosen[count++] = topic;
    }
    if (!count)
        die("no topic is in these buckets");
    return count;
}

void bulk_fill(const struct options *o)
{
    unsigned *chosen = must_calloc(o->topics, sizeof(*chosen));
    int64_t sent = 0, taken = 0, topics, each;
    struct progress progress;

    if (o->body_bytes > BODY_BYTES_MAX)
        die("--bulk takes bodies of up to %d bytes", BODY_BYTES_MAX);
    bulk.o = o;
    topics = choose_topics(chosen);
    /* No topic goes without while another gets a whole batch. */
    each = smaller(o->bulk, (o->count + topics - 1) / topics);
    progress_init(&progress, o->count);
    for (int64_t batch = 0; taken < o->count; batch++) {
        int64_t count = smaller(each, o->count - sent);

        if (count > 0)
            send_batch(chosen[batch % topics], o->first_id + sent, count);
        sent += count;
        if (batch < IN_FLIGHT)
            continue;
        take_answers();
        taken = smaller(taken + each, o->count);
        progress_at(&progress, taken);
    }
    buf_fini(&bulk.value);
    free(chosen);
}
