#include "protocol/access/registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/log.h"
#include "node/queue/queue.h"
#include "protocol/access/access.h"

#define SAID_MAX_BYTES 2000 /* about, of names in the log */

#define HEALING_BYTE 0xff /* the first of the id of a change behind which more are missing */
#define HEALING_TEXT "ff"

#define NOBODYS_ID "0000000000000000" /* no change has it */

_Static_assert(OP_IDENTITY_NAME_MAX == IDENTITY_NAME_MAX, "the store takes each name");
_Static_assert(OP_IDENTITY_LINE_MAX == IDENTITY_LINE_MAX, "and each line");
_Static_assert(OP_IDENTITY_MARKS_MAX >= REGISTRY_MARKS_MAX, "with all of its marks");
_Static_assert(ACCESS_IDENTITIES_MAX >= OP_IDENTITY_ROWS_MAX, "and all of them are known");

/* Of a change; or, where more of the same node follow, of healing. */
static void make_id(char *id, bool has_more)
{
    unsigned char random[OP_IDENTITY_ID_CHARS / 2];
    struct buf text = BUF_INIT;

    arc4random_buf(random, sizeof(random));
    random[0] = has_more ? HEALING_BYTE : random[0] % HEALING_BYTE;
    hex_add(&text, random, sizeof(random));
    memcpy(id, text.at, OP_IDENTITY_ID_CHARS);
    id[OP_IDENTITY_ID_CHARS] = '\0';
    buf_fini(&text);
}

static void set(struct buf *to, struct bytes text)
{
    buf_clear(to);
    buf_add_bytes(to, text);
}

static bool is_healing(struct bytes id)
{
    return id.len > 1 && !memcmp(id.at, HEALING_TEXT, 2);
}

/* ---- to access ---- */

/* The lines of Redis. `bad` gets the names of those that nobody may act by. */
static void add_lines(const struct registry *r, struct buf *to, struct buf *bad)
{
    for (unsigned i = 0; r->is_in_redis && i < r->copy.count; i++) {
        const struct copy_row *row = &r->copy.rows[i];

        if (copy_is_good(row->name, row->line, row->version)) {
            buf_add_bytes(to, row->line);
            buf_add_char(to, '\n');
        } else if (row->line.len && bad->len < SAID_MAX_BYTES) {
            buf_printf(bad, " %.*s", BYTES_ARG(row->name));
        }
    }
}

/* The file's identities, and of Redis those that do not contradict them, or each other. */
static enum status tell_access(struct registry *r, struct buf *why)
{
    struct buf lines = BUF_INIT, bad = BUF_INIT, said = BUF_INIT;
    enum status status;

    add_lines(r, &lines, &bad);
    status = access_take_both(r->access, buf_bytes(&r->file), buf_bytes(&lines), &said);
    if (status != STATUS_OK)
        buf_add_bytes(why, buf_bytes(&said));
    else if (said.len)
        LOG_ERROR("access", "identities in Redis that are nobody's: %s", buf_text(&said));
    if (bad.len)
        LOG_ERROR("access", "lines in Redis that are no identity's:%s", buf_text(&bad));
    buf_fini(&lines);
    buf_fini(&bad);
    buf_fini(&said);
    return status;
}

/* The file is as it was, and good: nothing of Redis can keep it from being taken. */
static void act_by_copy(struct registry *r)
{
    struct buf why = BUF_INIT;

    if (tell_access(r, &why) != STATUS_OK)
        LOG_ERROR("access", "the identities of before hold: %s", buf_text(&why));
    buf_fini(&why);
}

/* ---- what Redis lacks ---- */

static void tell_redis(struct registry *r);

static void on_told(struct op *op)
{
    struct registry *r = CONTAINER_OF(op, struct registry, tell);

    r->is_telling = false;
    if (!r->is_in_redis)
        return;
    if (op->status == STATUS_OK) {
        copy_put(&r->copy, &(struct identity_row){.name = op->id,
                                                  .line = op->in.identify.line,
                                                  .version = op->in.identify.as});
    } else {
        copy_defer(&r->copy, op->id);
        LOG_DEBUG("access", "Redis does not take the identity %.*s back: %s", BYTES_ARG(op->id),
                  status_text(op->status));
    }
    tell_redis(r);
}

/* One identity after the other. */
static void tell_redis(struct registry *r)
{
    const struct copy_row *row = copy_ahead(&r->copy);

    if (!row || r->is_telling || r->is_closed)
        return;
    buf_clear(&r->told);
    buf_add_bytes(&r->told, row->name);
    buf_add_bytes(&r->told, row->line);
    make_id(r->told_id, copy_ahead_count(&r->copy) > 1);
    r->tell = (struct op){
        .verb = OP_IDENTIFY,
        .id = bytes_of(r->told.at, row->name.len),
        .in.identify = {.line = bytes_of(r->told.at + row->name.len, row->line.len),
                        .as = row->version,
                        .id = bytes_of_text(r->told_id)},
        .on_done = on_told,
    };
    r->is_telling = true;
    queue_submit(r->queue, &r->tell);
}

/* ---- what Redis has ---- */

static void join(struct registry *r, const struct op *op)
{
    copy_join(&r->copy, op->out.identities.rows, op->out.identities.count,
              op->out.identities.horizon);
    set(&r->known, op->out.identities.id);
    act_by_copy(r);
    if (copy_ahead(&r->copy))
        LOG_WARN("access", "Redis lacks changes of identities that this node knows: it is told "
                           "them again");
}

/* Whoever waits for a first reading waits as long as the store has held it; who comes then does
 * not wait. */
static void fail(struct registry *r)
{
    if (r->is_settled || r->has_given_up)
        return;
    r->has_given_up = true;
    access_give_up(r->access);
    r->on_changed(r->arg);
}

/* Has nothing changed since the last reading? Where there never was an identity, there is no
 * id. */
static bool is_known(const struct registry *r, const struct op *op)
{
    return op->out.identities.is_same ||
           (r->is_read && !r->asked.len && !op->out.identities.id.len);
}

/* Has it come to be settled now? */
static bool settle(struct registry *r, bool is_doubtful)
{
    if (!r->is_read)
        r->settles_mono_ms = r->read_mono_ms + (is_doubtful ? REGISTRY_SETTLE_MS : 0);
    r->is_read = true;
    if (r->is_settled || r->read_mono_ms < r->settles_mono_ms)
        return false;
    r->is_settled = true;
    access_complete(r->access);
    return true;
}

static void take(struct registry *r, const struct op *op)
{
    bool has_news = !is_known(r, op), has_settled;

    if (has_news)
        join(r, op);
    r->read_mono_ms = timers_now(r->timers);
    copy_defer_none(&r->copy);
    has_settled = settle(r, !op->out.identities.id.len || is_healing(op->out.identities.id));
    tell_redis(r);
    if (has_news || has_settled)
        r->on_changed(r->arg);
}

static int64_t rest_ms(const struct registry *r, const struct op *op)
{
    if (op->status != STATUS_OK)
        return REGISTRY_AGAIN_MS;
    return r->is_heard_of ? REGISTRY_HEARD_MS : REGISTRY_READ_MS;
}

static void ask(struct registry *r);

/* An answer to what was asked before Redis was turned off and on says nothing. */
static void on_read(struct op *op)
{
    struct registry *r = CONTAINER_OF(op, struct registry, read);

    r->is_asking = false;
    if (r->is_closed || !r->is_in_redis)
        return;
    if (r->is_stale) {
        r->is_stale = false;
        ask(r);
        return;
    }
    if (op->status == STATUS_OK)
        take(r, op);
    else
        fail(r);
    timer_arm(r->timers, &r->again, rest_ms(r, op));
}

/* What this node has noted of its own changes the store may lose before anybody reads it: then
 * nothing has changed since the last reading, and yet all of it has to be read. */
static void ask(struct registry *r)
{
    r->is_heard_of = r->is_asking;
    if (r->is_asking)
        return;
    timer_disarm(r->timers, &r->again);
    set(&r->asked, r->has_noted ? BYTES(NOBODYS_ID) : bytes_of(r->known.at, r->known.len));
    r->has_noted = false;
    r->read = (struct op){.verb = OP_IDENTITIES,
                          .in.identities.known = bytes_of(r->asked.at, r->asked.len),
                          .on_done = on_read};
    r->is_asking = true;
    queue_submit(r->queue, &r->read);
}

static void on_again(struct timer *timer)
{
    ask(CONTAINER_OF(timer, struct registry, again));
}

/* Several changes one after the other are read together, and what this node tells itself is no
 * news. */
static void on_heard(void *arg)
{
    struct registry *r = arg;
    int64_t since_ms = timers_now(r->timers) - r->read_mono_ms;

    if (!r->is_in_redis || r->is_closed || r->is_telling)
        return;
    if (!r->is_read || r->is_asking || since_ms >= REGISTRY_HEARD_MS)
        ask(r);
    else
        timer_arm(r->timers, &r->again, REGISTRY_HEARD_MS - since_ms);
}

/* ---- the owner's calls ---- */

void registry_init(struct registry *r)
{
    timer_init(&r->again, on_again);
    queue_hear_identities(r->queue, on_heard, r);
}

void registry_fini(struct registry *r)
{
    copy_fini(&r->copy);
    buf_fini(&r->file);
    buf_fini(&r->known);
    buf_fini(&r->asked);
    buf_fini(&r->told);
}

void registry_close(struct registry *r)
{
    r->is_closed = true;
    timer_disarm(r->timers, &r->again);
}

enum status registry_take_file(struct registry *r, struct bytes text, struct buf *why)
{
    struct buf before = r->file;

    r->file = (struct buf)BUF_INIT;
    buf_add_bytes(&r->file, text);
    if (tell_access(r, why) != STATUS_OK) {
        buf_fini(&r->file);
        r->file = before;
        return STATUS_BAD_CONFIG;
    }
    buf_fini(&before);
    r->has_file = true;
    return STATUS_OK;
}

static void act_by_less(struct registry *r)
{
    if (r->has_file || r->is_in_redis)
        act_by_copy(r);
    else
        access_turn_off(r->access);
}

void registry_forget_file(struct registry *r)
{
    r->has_file = false;
    buf_fini(&r->file);
    act_by_less(r);
}

static void turn_on(struct registry *r)
{
    r->is_stale = r->is_asking;
    access_await(r->access);
    ask(r);
}

static void turn_off(struct registry *r)
{
    timer_disarm(r->timers, &r->again);
    copy_fini(&r->copy);
    buf_clear(&r->known);
    access_complete(r->access);
    act_by_less(r);
}

void registry_use_redis(struct registry *r, bool is_in_redis)
{
    if (r->is_in_redis == is_in_redis)
        return;
    r->is_in_redis = is_in_redis;
    r->is_read = r->is_settled = r->has_given_up = false;
    if (is_in_redis)
        turn_on(r);
    else
        turn_off(r);
}

const char *registry_trouble(const struct registry *r)
{
    return r->is_in_redis && !r->is_read ? "the identities have not been read from Redis yet"
                                         : NULL;
}

int64_t registry_age_ms(const struct registry *r)
{
    return r->is_read ? timers_now(r->timers) - r->read_mono_ms : -1;
}

/* ---- changes ---- */

const char *registry_why_not(const struct registry *r)
{
    return r->is_in_redis ? NULL : "identities are not kept in Redis here (access.in_redis)";
}

/* What no other identity may have: tokens, and a certificate's name. */
static void add_marks(const struct identity *identity, struct registry_change *change)
{
    for (unsigned i = 0; i < identity->token_count; i++) {
        struct buf *mark = &change->texts[change->mark_count++];

        hex_add(mark, identity->tokens[i], TOKEN_HASH_BYTES);
    }
    if (identity->cert.len)
        buf_printf(&change->texts[change->mark_count++], "cert=%.*s",
                   BYTES_ARG(identity->cert));
    for (unsigned i = 0; i < change->mark_count; i++)
        change->marks[i] = buf_bytes(&change->texts[i]);
}

/* The line as it is kept, and what it has for itself alone. */
static enum status read_line(const struct registry *r, struct bytes name, struct bytes line,
                             struct registry_change *change, struct buf *why)
{
    const char *wrong = NULL;
    struct identity *identity = identity_parse(line, &wrong);
    const struct identity *rival = NULL;

    if (identity && !bytes_equal(identity->name, name))
        wrong = "the line's name is not the path's";
    if (identity && !wrong) {
        identity_print(&change->line, identity);
        add_marks(identity, change);
        rival = access_rival_of(r->access, identity);
    }
    if (change->line.len > IDENTITY_LINE_MAX)
        wrong = "the line is longer than 16 KiB, with its roles one by one";
    if (wrong)
        buf_add_text(why, wrong);
    else if (rival)
        buf_printf(why, "%.*s has this token, or this name of a certificate",
                   BYTES_ARG(rival->name));
    identity_drop(identity);
    return wrong ? STATUS_BAD_REQUEST : rival ? STATUS_DUPLICATE : STATUS_OK;
}

/* Versions are times, too: where a store has lost changes that this node never knew, its next
 * one is newer than these all the same. */
static int64_t floor_of(const struct registry *r)
{
    int64_t known = copy_version(&r->copy), now_ms = clock_wall_ms();

    return known > now_ms ? known : now_ms;
}

/* The version that a living identity has, as far as this node knows. */
static int64_t version_of(const struct registry *r, struct bytes name)
{
    const struct copy_row *row = copy_find(&r->copy, name);

    return row && row->line.len ? row->version : 0;
}

enum status registry_prepare(const struct registry *r, struct bytes name, struct bytes line,
                             int64_t expected, struct registry_change *change, struct op *op,
                             struct buf *why)
{
    enum status status = STATUS_OK;

    if (registry_why_not(r)) {
        buf_add_text(why, registry_why_not(r));
        return STATUS_WRONG_STATE;
    }
    if (!identity_is_name(name)) {
        buf_add_text(why, "a name is 1 to 64 of [A-Za-z0-9_.-]");
        return STATUS_BAD_REQUEST;
    }
    if (line.len)
        status = read_line(r, name, line, change, why);
    make_id(change->id, false);
    op->verb = OP_IDENTIFY;
    op->id = name;
    op->in.identify.line = change->line.len ? buf_bytes(&change->line) : BYTES("");
    op->in.identify.floor = floor_of(r);
    op->in.identify.expected = expected >= 0 ? expected : version_of(r, name);
    op->in.identify.id = bytes_of_text(change->id);
    op->in.identify.marks = change->marks;
    op->in.identify.mark_count = change->mark_count;
    return status;
}

void registry_note(struct registry *r, const struct op *op)
{
    if (!r->is_read || r->is_closed)
        return; /* the first reading is going to tell */
    copy_put(&r->copy, &(struct identity_row){.name = op->id,
                                              .line = op->in.identify.line,
                                              .version = op->out.identify.version});
    r->has_noted = true;
    act_by_copy(r);
    r->on_changed(r->arg);
}

void registry_change_fini(struct registry_change *change)
{
    buf_fini(&change->line);
    for (unsigned i = 0; i < REGISTRY_MARKS_MAX; i++)
        buf_fini(&change->texts[i]);
}
