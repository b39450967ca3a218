#include "protocol/mykit/mykit.h"

#include <sys/random.h>

#include "base/clock.h"
#include "node/queue/queue.h"
#include "protocol/access/identity.h"
#include "protocol/access/role.h"
#include "protocol/http/exchange.h"
#include "protocol/http/jobs.h"
#include "protocol/mykit/codec.h"

/* mykit-delay's own words. */
#define BAD_TOPIC    "参数topic错误"
#define BAD_ARGUMENT "非法参数"
#define BAD_STATUS   "任务%.*s状态异常"
#define IS_FINISHED  "任务 %.*s 已经完成"
#define NO_JOB       "Job不存在!"

#define NOT_YOURS                                                                              \
    "not_owner: no consumer has the job now, or another one has it: the time to run (TTR) is " \
    "over; the job stays"

static const struct mykit_options *options_of(const struct exchange *x)
{
    return x->arg;
}

/* ---- replies ---- */

static void reply_ok(struct exchange *x)
{
    struct buf json = BUF_INIT;

    mykit_add_ok(&json);
    exchange_reply_buf(x, 200, &json);
}

static void reply_text(struct exchange *x, struct bytes text)
{
    struct buf json = BUF_INIT;

    mykit_add_text(&json, text);
    exchange_reply_buf(x, 200, &json);
}

static void reply_failure(struct exchange *x, enum status status)
{
    if (status == STATUS_BAD_TOPIC)
        exchange_reply_error_text(x, HTTP_ERROR_BAD_TOPIC, "%s: %s", BAD_TOPIC,
                                  http_error_row(HTTP_ERROR_BAD_TOPIC)->text);
    else
        exchange_reply_status_error(x, status);
}

static bool is_for_topic(struct exchange *x, struct bytes topic)
{
    if (exchange_has_topic(x, topic))
        return true;
    exchange_reply_error_text(x, HTTP_ERROR_FORBIDDEN, "%.*s is not for this topic",
                              BYTES_ARG(x->who->name));
    return false;
}

static bool is_for_found(const struct exchange *x, struct bytes topic)
{
    return exchange_may_go_on(x) && exchange_has_topic(x, topic);
}

/* ---- what goes by an id: push and delete ---- */

struct work {
    struct exchange *x;
    struct bytes id;
    struct id_find find;
    struct op op;               /* the cancel; of a push, the push behind it */
    char topic[NAME_MAX_BYTES]; /* where the id was found */

    /* Of a push: */
    struct mykit_job job;
    struct attributes attributes;
    unsigned draws;   /* of ids; 0: the client gave one */
    bool is_replaced; /* the job of another topic is gone */
    char drawn[NAME_MAX_BYTES];
};

static bool is_find_for(const struct id_find *find, struct bytes topic)
{
    return is_for_found(CONTAINER_OF(find, struct work, find)->x, topic);
}

/* A stopping node finishes what it has taken. */
static void on_cancel_work(struct exchange *x)
{
    struct work *w = x->handler;

    if (!exchange_is_stopping(x))
        queue_abandon(exchange_queue(x), &w->op);
}

static void submit(struct work *w, const struct op *op)
{
    w->op = *op;
    w->op.id = w->id;
    w->op.is_alone = true;
    w->op.client = exchange_client(w->x);
    queue_submit(exchange_queue(w->x), &w->op);
}

static void cancel(struct work *w, struct bytes topic, void (*on_done)(struct op *op))
{
    char *room = w->topic;
    struct op op = {.verb = OP_CANCEL, .on_done = on_done, .topic = text_put(&room, topic)};

    submit(w, &op);
}

static void find(struct work *w, void (*on_done)(struct id_find *find))
{
    w->find = (struct id_find){.id = w->id, .is_for = is_find_for, .on_done = on_done};
    queue_find(exchange_queue(w->x), &w->find);
}

/* ---- push ---- */

#define DRAWS_MAX 8 /* of a number for an id */

static void on_pushed(struct op *op);

/* In its own topic an id is replaced in one step. */
static void push_job(struct work *w)
{
    struct op op = {.verb = OP_PUSH,
                    .on_done = on_pushed,
                    .topic = w->job.topic,
                    .in.push = {.body = w->job.body,
                                .mode = w->draws ? PUSH_REJECT : PUSH_REPLACE,
                                .is_indexed = true,
                                .has_extra = true,
                                .attributes = attributes_packed(&w->attributes)}};

    (void)mykit_job_due(&w->job, &op.in.push.at_ms, &op.in.push.delay_ms);
    submit(w, &op);
}

/* The client's address without its port: "mykit 10.0.0.7:40712", "mykit [fd00::7]:40712". */
static struct bytes address_of(struct exchange *x)
{
    struct bytes name = exchange_client(x);

    (void)bytes_cut(&name, ' ');
    while (name.len && name.at[name.len - 1] != ':')
        name.len--;
    name.len -= name.len > 0;
    return name;
}

/* Of the kind that mykit-delay gives, which grows with time. Should another node draw the same
 * one in a millisecond, the store says so, and the number is drawn again. */
static uint64_t draw_number(void)
{
    uint32_t random;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        random = (uint32_t)clock_mono_us();
    return (uint64_t)clock_wall_ms() << 20 | (random & 0xfffff);
}

static void draw_id(struct work *w)
{
    struct buf id = BUF_INIT;
    char *room = w->drawn;

    mykit_id_add(&id, &w->job, address_of(w->x), draw_number());
    w->id = text_put(&room, buf_bytes(&id));
    buf_fini(&id);
    w->draws++;
}

static void reply_not_pushed(const struct work *w, enum status status)
{
    const struct http_error_row *row = http_error_row(http_error_of(status));

    if (w->is_replaced && !status_is_unknown(status))
        exchange_reply_error_text(w->x, http_error_of(status),
                                  "%s: the id's job in another topic is gone, and this one is "
                                  "not pushed: %s; push it again",
                                  row->word, row->text);
    else
        reply_failure(w->x, status);
}

static void on_pushed(struct op *op)
{
    struct work *w = CONTAINER_OF(op, struct work, op);

    if (op->status == STATUS_DUPLICATE && w->draws && w->draws < DRAWS_MAX) {
        draw_id(w);
        push_job(w);
    } else if (op->status != STATUS_OK) {
        reply_not_pushed(w, op->status);
    } else {
        reply_text(w->x, w->id);
    }
}

static void on_cancelled_elsewhere(struct op *op)
{
    struct work *w = CONTAINER_OF(op, struct work, op);

    w->is_replaced = op->status == STATUS_OK;
    if (op->status == STATUS_OK || op->status == STATUS_NOT_FOUND)
        push_job(w);
    else
        reply_failure(w->x, op->status);
}

static void on_found_for_push(struct id_find *find)
{
    struct work *w = CONTAINER_OF(find, struct work, find);

    if (find->status == STATUS_OK && !bytes_equal(find->topic, w->job.topic))
        cancel(w, find->topic, on_cancelled_elsewhere);
    else if (find->status == STATUS_OK || find->status == STATUS_NOT_FOUND)
        push_job(w);
    else
        reply_failure(w->x, find->status);
}

/* False: answered. */
static bool passes(struct work *w)
{
    struct exchange *x = w->x;
    int64_t at_ms, delay_ms;

    if (!w->job.topic.at)
        exchange_reply_error_text(x, HTTP_ERROR_BAD_TOPIC, BAD_TOPIC);
    else if (!topic_name_is_valid(w->job.topic))
        reply_failure(x, STATUS_BAD_TOPIC);
    else if (w->job.status != 0 && w->job.status != 5)
        exchange_reply_error_text(x, HTTP_ERROR_WRONG_STATE, BAD_STATUS, BYTES_ARG(w->id));
    else if (!mykit_job_due(&w->job, &at_ms, &delay_ms))
        exchange_reply_error_text(
            x, HTTP_ERROR_OUT_OF_RANGE,
            "out_of_range: delay: it would be due in more than 3650 days");
    else if (!mykit_job_pack(&w->job, &w->attributes))
        exchange_reply_error_text(x, HTTP_ERROR_JOB_TOO_LARGE,
                                  "too_large: subtopic and bizKey together have more than %d "
                                  "bytes",
                                  ATTRIBUTES_MAX_BYTES);
    else
        return is_for_topic(x, w->job.topic);
    return false;
}

static void push(struct exchange *x)
{
    struct mykit_job job;
    const char *why;
    struct work *w;

    if (!mykit_job_read(x->body, &job, &why)) {
        exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "bad_request: %s", why);
        return;
    }
    w = exchange_keep(x, sizeof(*w));
    *w = (struct work){.x = x, .id = job.id, .job = job};
    if (!job.id.len)
        draw_id(w);
    if (!passes(w))
        return;
    x->on_cancel_wait = on_cancel_work;
    if (w->draws)
        push_job(w);
    else
        find(w, on_found_for_push);
}

/* ---- delete ---- */

/* What was there a moment ago, and is not: its consumer was faster. */
static void on_deleted(struct op *op)
{
    struct exchange *x = CONTAINER_OF(op, struct work, op)->x;

    if (op->status == STATUS_OK)
        reply_ok(x);
    else if (op->status == STATUS_NOT_FOUND)
        exchange_reply_error_text(x, HTTP_ERROR_WRONG_STATE, IS_FINISHED, BYTES_ARG(op->id));
    else
        reply_failure(x, op->status);
}

static void on_found_for_delete(struct id_find *find)
{
    struct work *w = CONTAINER_OF(find, struct work, find);

    if (find->status == STATUS_OK)
        cancel(w, find->topic, on_deleted);
    else if (find->status == STATUS_NOT_FOUND)
        reply_ok(w->x);
    else
        reply_failure(w->x, find->status);
}

/* The id that the query names. False: it names none; that was answered. */
static bool take_id(struct exchange *x, struct bytes *id)
{
    *id = exchange_query_text(x, "jobId");
    if (!id->at)
        exchange_reply_error_text(x, HTTP_ERROR_BAD_ID, BAD_ARGUMENT);
    return id->at != NULL;
}

static void delete_job(struct exchange *x)
{
    struct bytes id;
    struct work *w;

    if (!take_id(x, &id))
        return;
    if (!job_id_is_valid(id)) { /* nobody has it */
        reply_ok(x);
        return;
    }
    w = exchange_keep(x, sizeof(*w));
    *w = (struct work){.x = x, .id = id};
    x->on_cancel_wait = on_cancel_work;
    find(w, on_found_for_delete);
}

/* ---- a pop, and finish ---- */

static void on_popped(struct exchange *x, struct pop *pop)
{
    struct buf json = BUF_INIT;

    if (pop->status == STATUS_OK) {
        mykit_add_job(&json, pop->topic, &pop->jobs[0]);
        exchange_reply_buf(x, 200, &json);
    } else if (pop->status == STATUS_NOT_FOUND || pop->status == STATUS_CANCELLED) {
        reply_ok(x);
    } else {
        reply_failure(x, pop->status);
    }
}

static void pop_job(struct exchange *x)
{
    struct bytes topics = exchange_query_text(x, "topic"), rest = topics;
    struct pop ask = {.count = 1, .wait_ms = options_of(x)->pop_wait_ms, .id_only = true};
    enum status status;

    if (!topics.at) {
        exchange_reply_error_text(x, HTTP_ERROR_BAD_TOPIC, BAD_TOPIC);
        return;
    }
    while (rest.len)
        if (!is_for_topic(x, bytes_cut(&rest, ',')))
            return;
    status = http_pop(x, topics, &ask, on_popped);
    if (status)
        reply_failure(x, status);
}

struct finishing {
    struct exchange *x;
    struct id_ack ack;
};

static bool is_finish_for(const struct id_ack *ack, struct bytes topic)
{
    return is_for_found(CONTAINER_OF(ack, struct finishing, ack)->x, topic);
}

static void on_finished(struct id_ack *ack)
{
    struct exchange *x = CONTAINER_OF(ack, struct finishing, ack)->x;

    if (ack->status == STATUS_OK)
        reply_ok(x);
    else if (ack->status == STATUS_NOT_FOUND)
        exchange_reply_error_text(x, HTTP_ERROR_NOT_FOUND, NO_JOB);
    else if (ack->status == STATUS_NOT_OWNER)
        exchange_reply_error_text(x, HTTP_ERROR_NOT_OWNER, NOT_YOURS);
    else
        reply_failure(x, ack->status);
}

static void finish(struct exchange *x)
{
    struct finishing *f;
    struct bytes id;

    if (!take_id(x, &id))
        return;
    f = exchange_keep(x, sizeof(*f));
    *f = (struct finishing){.x = x,
                            .ack = {.id = id,
                                    .holder = exchange_holder(x),
                                    .group = exchange_group(x),
                                    .is_alone = true,
                                    .client = exchange_client(x),
                                    .is_for = is_finish_for,
                                    .on_done = on_finished}};
    queue_ack_by_id(exchange_queue(x), &f->ack);
}

/* ---- the rest ---- */

static void restore(struct exchange *x)
{
    exchange_reply_error_text(x, HTTP_ERROR_CODING,
                              "not_implemented: %.*s needs an archive of jobs, which dueq does "
                              "not have; nothing was done",
                              BYTES_ARG(x->head.path));
}

static void tell_health(struct exchange *x)
{
    const struct mykit_options *options = options_of(x);
    bool is_up = !options->why_not_ready || !options->why_not_ready(options->arg);
    struct mykit_health health = {
        .is_up = is_up && !exchange_is_stopping(x),
        .is_master = !options->is_master || options->is_master(options->arg),
        .is_cluster = options->is_cluster,
        .bucket_count = queue_buckets(exchange_queue(x)),
        .prefix = bytes_of_text(options->prefix ? options->prefix : "")};
    struct buf json = BUF_INIT;

    mykit_add_health(&json, &health);
    exchange_reply_buf(x, health.is_up ? 200 : 503, &json);
}

/* ---- the table ---- */

/* clang-format off */
static const struct route routes[] = {
    {"POST", BYTES("/push"), push, .body = ROUTE_JOBS_BODY,
        .operation = "mykit.push", .roles = ACCESS_PRODUCE},
    {"GET", BYTES("/delete"), delete_job, .query = {"jobId"},
        .operation = "mykit.delete", .roles = ACCESS_PRODUCE},
    {"GET", BYTES("/get/topic"), pop_job, .query = {"topic"},
        .operation = "mykit.getTopic", .roles = ACCESS_CONSUME},
    {"GET", BYTES("/finish"), finish, .query = {"jobId"},
        .operation = "mykit.finish", .roles = ACCESS_CONSUME},
    {"GET", BYTES("/reStoreJob"), restore, .query = {"jobId"},
        .operation = "mykit.reStoreJob", .roles = ACCESS_OPERATE},
    {"GET", BYTES("/reStore"), restore, .query = {"expire"},
        .operation = "mykit.reStore", .roles = ACCESS_OPERATE},
    {"GET", BYTES("/clearAll"), mykit_clear,
        .operation = "mykit.clearAll", .roles = ACCESS_OPERATE},
    {"GET", BYTES("/health"), tell_health, .is_for_monitors = true,
        .roles = ACCESS_EVERYBODY},
};
/* clang-format on */

/* mykit-delay catches whatever goes wrong with jobs and with Redis, and answers it with 200;
 * what the server refuses before has its own code. */
static int code_of(const struct exchange *x, enum http_error error)
{
    bool is_restore = x->route && x->route->handle == restore;

    return http_error_is_of_jobs(error) || (is_restore && error == HTTP_ERROR_CODING)
               ? 200
               : http_error_row(error)->code;
}

/* The rows' texts get their word in front, which tells what is refused from what may have
 * happened. */
static int write_error(struct exchange *x, struct buf *out, enum http_error error,
                       struct bytes message, int64_t count)
{
    const struct http_error_row *row = http_error_row(error);
    struct buf text = BUF_INIT;

    if (bytes_equal(message, bytes_of_text(row->text)))
        buf_printf(&text, "%s: ", row->word);
    buf_add_bytes(&text, message);
    mykit_add_error(out, buf_bytes(&text));
    buf_fini(&text);
    return code_of(x, error);
}

const struct http_app mykit_app = {
    .name = "mykit",
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(*routes),
    .write_error = write_error,
    .content_type = "application/json;charset=UTF-8",
    .ignores_unknown_query = true,
    .guards_reads = true,
};
