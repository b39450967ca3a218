/* What gmq's web monitor shows. It only looks on.
 *
 * The stats come from a census, which all who ask within some seconds share: a page that is
 * reloaded costs Redis nothing. It has the topics with the most jobs; where there are more than
 * those, the answer's msg says so.
 */
#include "base/clock.h"
#include "base/encoding.h"
#include "node/queue/queue.h"
#include "protocol/gmq_web/codec.h"
#include "protocol/gmq_web/gmq_web.h"
#include "protocol/http/exchange.h"
#include "protocol/http/jobs.h"

#define CENSUS_WAIT_MS 10000
#define FIRSTS_AT_ONCE 64
#define LIMIT_DEFAULT  20
#define LIMIT_MAX      1000

/* ---- stats ---- */

/* A topic of the answer. */
struct stat {
    struct stats *of;
    struct op first; /* its first reservation to end */
    int64_t job_count;
    int64_t next_ms;
    size_t len;
    char name[NAME_MAX_BYTES];
};

struct stats {
    struct exchange *x;
    enum gmq_web_kind kind;
    struct census_call call;
    struct stat *rows;
    unsigned count;
    unsigned asked;      /* rows whose `first` was sent */
    unsigned unanswered; /* those of them that are on their way */
    enum status status;  /* not OK: why there is no answer, and no more rows are asked for */
    const char *msg;     /* static */
    bool is_asking;      /* the census is on its way */
};

static void answer(struct stats *s)
{
    struct exchange *x = s->x;
    struct buf json = BUF_INIT;

    gmq_web_open(&json);
    for (unsigned i = 0; i < s->count; i++)
        gmq_web_add_stat(&json, i + 1, s->kind, bytes_of(s->rows[i].name, s->rows[i].len),
                         s->rows[i].job_count, s->rows[i].next_ms);
    gmq_web_close(&json, s->count, s->msg);
    free(s->rows);
    exchange_reply_buf(x, 200, &json);
}

static void refuse(struct stats *s, enum status status)
{
    free(s->rows);
    exchange_reply_status_error(s->x, status);
}

static void find_firsts(struct stats *s);

/* Reserved jobs are listed in the order in which their time ends. One that has just been
 * acknowledged leaves none. */
static void on_first(struct op *op)
{
    struct stat *row = CONTAINER_OF(op, struct stat, first);
    struct stats *s = row->of;

    if (op->status == STATUS_OK)
        row->next_ms = op->out.list.count ? op->out.list.rows[0].place_ms : clock_wall_ms();
    else if (s->status == STATUS_OK)
        s->status = op->status;
    s->unanswered--;
    find_firsts(s);
}

/* Questions of one turn travel together. Ends where none is open. */
static void find_firsts(struct stats *s)
{
    while (s->status == STATUS_OK && s->asked < s->count && s->unanswered < FIRSTS_AT_ONCE) {
        struct stat *row = &s->rows[s->asked++];

        row->of = s;
        row->first = (struct op){.verb = OP_LIST,
                                 .on_done = on_first,
                                 .topic = bytes_of(row->name, row->len),
                                 .in.list = {.state = JOB_RESERVED, .limit = 1}};
        s->unanswered++;
        queue_submit(exchange_queue(s->x), &row->first);
    }
    if (s->unanswered)
        return;
    if (s->status)
        refuse(s, s->status);
    else
        answer(s);
}

static void add_row(struct stats *s, const struct topic_count *topic, int64_t counted_ms)
{
    int64_t job_count = gmq_web_count(s->kind, &topic->stats);
    int64_t wait_ms = topic->stats.next_due_ms > 0 ? topic->stats.next_due_ms : 0;
    struct stat *row = &s->rows[s->count];

    if (!job_count || topic->topic.len > NAME_MAX_BYTES ||
        !exchange_has_topic(s->x, topic->topic))
        return;
    *row = (struct stat){
        .job_count = job_count, .next_ms = counted_ms + wait_ms, .len = topic->topic.len};
    memcpy(row->name, topic->topic.at, topic->topic.len);
    s->count++;
}

static void on_counted(struct census_call *call)
{
    struct stats *s = CONTAINER_OF(call, struct stats, call);
    const struct census *census = call->last;

    s->is_asking = false;
    if (call->status) {
        refuse(s, call->status);
        return;
    }
    s->rows = must(calloc(census->top_count + 1, sizeof(*s->rows)));
    for (unsigned i = 0; i < census->top_count; i++)
        add_row(s, &census->top[i], clock_wall_ms() - census->age_ms);
    if (!census->is_whole || census->looked_at > census->top_count)
        s->msg = "there are more topics: these are those with the most jobs";
    if (s->kind == GMQ_WEB_RESERVED)
        find_firsts(s);
    else
        answer(s);
}

static void on_cancel_stats(struct exchange *x)
{
    struct stats *s = x->handler;

    if (s->is_asking) {
        queue_census_cancel(&s->call);
        return;
    }
    s->status = STATUS_CANCELLED;
    for (unsigned i = 0; i < s->asked && !exchange_is_stopping(x); i++)
        queue_abandon(exchange_queue(x), &s->rows[i].first);
}

void gmq_web_stats(struct exchange *x)
{
    struct stats *s = exchange_keep(x, sizeof(*s));

    *s = (struct stats){.x = x,
                        .kind = (enum gmq_web_kind)x->route->what,
                        .call = {.wait_ms = CENSUS_WAIT_MS, .on_done = on_counted},
                        .msg = "",
                        .is_asking = true};
    x->on_cancel_wait = on_cancel_stats;
    queue_census(exchange_queue(x), &s->call);
}

/* ---- the jobs of one ---- */

struct listing {
    struct exchange *x;
    struct op op;
    struct bytes topic;
    enum gmq_web_kind kind;
    struct buf after; /* the last page's end */
    struct buf json;
    unsigned left; /* rows that are wanted still */
    unsigned count;
    bool is_left;
};

static void list_more(struct listing *l);

static void end(struct listing *l, enum status status)
{
    struct exchange *x = l->x;
    struct buf json = l->json;

    buf_fini(&l->after);
    if (status) {
        buf_fini(&json);
        exchange_reply_status_error(x, status);
        return;
    }
    gmq_web_close(&json, l->count, "");
    exchange_reply_buf(x, 200, &json);
}

static void on_listed(struct op *op)
{
    struct listing *l = CONTAINER_OF(op, struct listing, op);

    if (op->status) {
        end(l, op->status);
        return;
    }
    for (unsigned i = 0; i < op->out.list.count; i++)
        gmq_web_add_listed(&l->json, l->topic, &op->out.list.rows[i]);
    l->count += op->out.list.count;
    l->left -= op->out.list.count < l->left ? op->out.list.count : l->left;
    buf_clear(&l->after);
    buf_add_bytes(&l->after, op->out.list.next);
    if (l->after.len && l->left)
        list_more(l);
    else
        end(l, STATUS_OK);
}

static void list_more(struct listing *l)
{
    if (l->is_left) {
        end(l, STATUS_CANCELLED);
        return;
    }
    l->op = (struct op){.verb = OP_LIST,
                        .on_done = on_listed,
                        .topic = l->topic,
                        .in.list = {.state = gmq_web_states[l->kind],
                                    .after = buf_bytes(&l->after),
                                    .limit = l->left < OP_LIST_MAX ? l->left : OP_LIST_MAX}};
    queue_submit(exchange_queue(l->x), &l->op);
}

static void on_cancel_listing(struct exchange *x)
{
    struct listing *l = x->handler;

    l->is_left = true;
    if (!exchange_is_stopping(x))
        queue_abandon(exchange_queue(x), &l->op);
}

/* A negative limit: all, as of Redis's ZRANGE. False: it is no number. */
static bool read_limit(struct bytes text, unsigned *limit)
{
    int64_t number = LIMIT_DEFAULT;

    if (text.at && !number_read(text, &number))
        return false;
    *limit = number < 0 || number > LIMIT_MAX ? LIMIT_MAX : (unsigned)number;
    return true;
}

void gmq_web_jobs(struct exchange *x)
{
    struct bytes key = exchange_query_text(x, "bucketKey"), topic;
    enum gmq_web_kind kind;
    struct listing *l;
    unsigned limit;
    bool is_key;

    if (!key.len) {
        exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "bucketKey不能为空");
        return;
    }
    if (!read_limit(exchange_query_text(x, "limit"), &limit)) {
        exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "limit: not a whole number");
        return;
    }
    is_key = gmq_web_key_read(key, &kind, &topic) && topic_name_is_valid(topic);
    if (is_key && !exchange_is_for_topics(x, topic))
        return;
    l = exchange_keep(x, sizeof(*l));
    *l = (struct listing){.x = x, .topic = topic, .kind = kind, .left = limit};
    gmq_web_open(&l->json);
    x->on_cancel_wait = on_cancel_listing;
    if (is_key && limit)
        list_more(l);
    else
        end(l, STATUS_OK);
}
