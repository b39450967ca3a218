#include "node/store/redis/wire/take.h"

#include <limits.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "node/store/history.h"
#include "node/store/packed.h"
#include "node/store/redis/wire/encode.h"

#define HEAD REPLY_HEAD

/* ---- locks ---- */

#define VIEW_LEN   16 /* digits in hex */
#define LOCK_UNTIL (VIEW_LEN + SHARE_OWNER_LEN)
#define LOCK_TOKEN (LOCK_UNTIL + 6)
#define LOCK_NODE  (LOCK_TOKEN + 7)

static bool get_view(const char *from, uint64_t *view)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < VIEW_LEN; i++) {
        if (from[i] >= '0' && from[i] <= '9')
            value = value << 4 | (uint64_t)(from[i] - '0');
        else if (from[i] >= 'a' && from[i] <= 'f')
            value = value << 4 | (uint64_t)(from[i] - 'a' + 10);
        else
            return false;
    }
    *view = value;
    return true;
}

struct topic_lock lock_unpack(struct bytes packed, int64_t now_ms)
{
    struct topic_lock lock = {0};

    if (packed.len < LOCK_NODE || packed.len > LOCK_NODE + OP_NODE_MAX)
        return lock;
    lock.left_ms = packed_get(packed.at + LOCK_UNTIL, 6) - now_ms;
    if (lock.left_ms <= 0 || !get_view(packed.at, &lock.view))
        return (struct topic_lock){0};
    lock.token = packed_get(packed.at + LOCK_TOKEN, 7);
    lock.node = bytes_of(packed.at + LOCK_NODE, packed.len - LOCK_NODE);
    return lock;
}

/* ---- one job ---- */

/* The pushed job's: the caller's, or else the one that was made for it. */
static bool take_id(const redisReply *reply, size_t at, const struct op *op, struct bytes *id)
{
    *id = op->id;
    return id->len > 0 ||
           (take_bytes(reply, at, id) && id->len > 0 && id->len <= REPLY_NEW_ID_MAX);
}

static bool take_push(const redisReply *reply, struct op *op, struct reply_room *room)
{
    struct bytes id;
    int64_t due_ms;
    bool existed;

    if (!take_ms(reply, HEAD, 0, &due_ms) || !take_bool(reply, HEAD + 1, &existed) ||
        !take_id(reply, HEAD + 2, op, &id))
        return false;
    op->out.push.id = id;
    op->out.push.due_ms = due_ms;
    op->out.push.existed = existed;
    return true;
}

static bool take_nothing(const redisReply *reply, struct op *op, struct reply_room *room)
{
    return true;
}

/* A released job has either a due time or a reason of death. */
static bool take_released(const redisReply *reply, size_t at, struct op *op)
{
    unsigned tries, death;
    int64_t due_ms;

    if (!take_ms(reply, at, 0, &due_ms) ||
        !take_unsigned(reply, at + 1, JOB_TRIES_MAX, &tries) ||
        !take_unsigned(reply, at + 2, DEATH_COUNT - 1, &death))
        return false;
    if ((due_ms == 0) != (death != DEATH_NONE))
        return false;
    op->out.change.due_ms = due_ms;
    op->out.change.tries = tries;
    op->out.change.death = (enum death)death;
    return true;
}

static bool take_touch(const redisReply *reply, struct op *op, struct reply_room *room)
{
    return take_ms(reply, HEAD, 0, &op->out.change.deadline_ms);
}

static bool take_bury(const redisReply *reply, struct op *op, struct reply_room *room)
{
    if (!take_unsigned(reply, HEAD, JOB_TRIES_MAX, &op->out.change.tries))
        return false;
    op->out.change.death = DEATH_BURIED;
    return true;
}

static bool take_move(const redisReply *reply, struct op *op, struct reply_room *room)
{
    bool stays;

    if (!take_bool(reply, HEAD + 1, &stays) || !take_ms(reply, HEAD, 0, &op->out.change.due_ms))
        return false;
    op->out.change.stays = stays;
    return true;
}

static bool take_get(const redisReply *reply, struct op *op, struct reply_room *room)
{
    struct job_row row = {0};
    size_t i = HEAD + 1;

    if (!take_ms(reply, HEAD, 0, &row.place_ms) || !take_job(reply, &i, &row.job))
        return false;
    row.job.id = op->id;
    row.body_bytes = (int64_t)row.job.body.len;
    op->out.row = row;
    return true;
}

/* ---- some jobs ---- */

/* The jobs of a pop, which end before the element `end`. */
static bool take_jobs(const redisReply *reply, size_t i, size_t end, struct op *op,
                      struct job *jobs, unsigned jobs_max)
{
    unsigned count = 0;

    for (; i < end; count++) {
        struct job *job = &jobs[count];

        if (count == op->in.pop.count || count == jobs_max)
            return false;
        if (!take_bytes(reply, i++, &job->id) || !take_job(reply, &i, job))
            return false;
        if (job->state != JOB_RESERVED)
            return false;
    }
    op->out.pop.jobs = jobs;
    op->out.pop.count = count;
    return i == end;
}

static bool take_pop(const redisReply *reply, struct op *op, struct reply_room *room)
{
    bool more;

    if (!take_bool(reply, HEAD, &more) ||
        !take_jobs(reply, HEAD + 1, reply->elements, op, room->jobs, OP_ITEMS_MAX))
        return false;
    op->out.pop.has_more = more;
    return true;
}

/* As of a pop, with the one job. */
static bool take_taken(const redisReply *reply, struct op *op, struct reply_room *room)
{
    return take_pop(reply, op, room) && op->out.pop.count == 1 && !op->out.pop.has_more &&
           bytes_equal(op->out.pop.jobs[0].id, op->id);
}

static bool take_stale(const redisReply *reply, struct op *op, struct reply_room *room)
{
    return take_unsigned(reply, HEAD, op->in.leases.count, &op->out.leases.stale);
}

static bool take_chunk(const redisReply *reply, struct op *op, struct reply_room *room)
{
    unsigned count;
    bool more;

    if (!take_unsigned(reply, HEAD, op->in.chunk.limit, &count) ||
        !take_bool(reply, HEAD + 1, &more))
        return false;
    op->out.chunk.count = count;
    op->out.chunk.has_more = more;
    return true;
}

#define ROW_ELEMENTS 4

static bool take_row(const redisReply *reply, size_t i, struct job_row *row)
{
    return take_bytes(reply, i, &row->job.id) && take_job_alone(reply, i + 1, &row->job) &&
           take_number(reply, i + 2, 0, INT64_MAX, &row->body_bytes) &&
           take_ms(reply, i + 3, 0, &row->place_ms);
}

static bool take_list(const redisReply *reply, struct op *op, struct reply_room *room)
{
    struct bytes next;
    unsigned count = 0;

    if (!take_cursor(reply, HEAD, &next))
        return false;
    for (size_t i = HEAD + 1; i < reply->elements; i += ROW_ELEMENTS, count++) {
        if (count == op->in.list.limit || count == OP_LIST_MAX ||
            !take_row(reply, i, &room->rows[count]))
            return false;
    }
    op->out.list.rows = room->rows;
    op->out.list.count = count;
    op->out.list.next = next;
    return true;
}

/* ---- counts ---- */

#define STATS_NUMBERS 7

static bool take_topic_stats(const redisReply *reply, size_t from, struct topic_stats *stats)
{
    struct topic_stats taken;

    if (!take_number(reply, from, 0, INT64_MAX, &taken.delayed) ||
        !take_number(reply, from + 1, 0, INT64_MAX, &taken.ready) ||
        !take_number(reply, from + 2, 0, INT64_MAX, &taken.reserved) ||
        !take_number(reply, from + 3, 0, INT64_MAX, &taken.dead) ||
        !take_ms(reply, from + 4, -1, &taken.oldest_ready_ms) ||
        !take_ms(reply, from + 5, -1, &taken.next_due_ms) ||
        !take_number(reply, from + 6, 0, taken.ready, &taken.urgent))
        return false;
    *stats = taken;
    return true;
}

static bool take_stats(const redisReply *reply, struct op *op, struct reply_room *room)
{
    return take_topic_stats(reply, HEAD, &op->out.stats);
}

static bool take_topic_lock(const redisReply *reply, size_t i, struct topic_lock *lock)
{
    struct bytes packed;
    int64_t now_ms;

    if (!take_bytes(reply, i, &packed) || !take_ms(reply, 1, 0, &now_ms))
        return false;
    *lock = lock_unpack(packed, now_ms);
    return true;
}

static bool take_topics(const redisReply *reply, struct op *op, struct reply_room *room)
{
    bool owners = op->in.topics.owners;
    unsigned count = 0;
    struct bytes next;
    int64_t total;

    if (!take_number(reply, HEAD, 0, INT64_MAX, &total) || !take_cursor(reply, HEAD + 1, &next))
        return false;
    for (size_t i = HEAD + 2; i < reply->elements; i += 1 + STATS_NUMBERS + owners, count++) {
        struct topic_count *row = &room->topics[count];

        if (count == op->in.topics.limit || count == OP_TOPICS_MAX ||
            !take_bytes(reply, i, &row->topic) || !take_topic_stats(reply, i + 1, &row->stats))
            return false;
        row->lock = (struct topic_lock){0};
        if (owners && !take_topic_lock(reply, i + 1 + STATS_NUMBERS, &row->lock))
            return false;
    }
    op->out.topics.rows = room->topics;
    op->out.topics.count = count;
    op->out.topics.next = next;
    op->out.topics.total = total;
    return true;
}

/* ---- settings ---- */

/* "" stands for a topic without settings. */
static bool take_settings(const redisReply *reply, size_t i, struct topic_settings *settings)
{
    struct bytes packed;

    if (!take_bytes(reply, i, &packed))
        return false;
    if (packed.len == 0)
        *settings = (struct topic_settings){0};
    return packed.len == 0 || settings_unpack(packed, settings);
}

/* A row that is damaged, or not ours, counts as none, as in the scripts: the other rows are
 * still read. */
static bool take_settings_row(const redisReply *reply, size_t i,
                              struct topic_settings *settings)
{
    struct bytes packed;

    if (!take_bytes(reply, i, &packed))
        return false;
    if (!settings_unpack(packed, settings))
        *settings = (struct topic_settings){0};
    return true;
}

static void put_settings(struct op *op, const struct reply_room *room, unsigned count,
                         struct bytes next)
{
    op->out.settings.rows = room->settings;
    op->out.settings.count = count;
    op->out.settings.next = next;
}

static bool take_configure(const redisReply *reply, struct op *op, struct reply_room *room)
{
    if (!take_settings(reply, HEAD, &room->settings[0].settings))
        return false;
    room->settings[0].topic = op->topic;
    put_settings(op, room, 1, BYTES(""));
    return true;
}

/* One topic has one row: without one in Redis, a row with nothing set. */
static bool take_settings_of_topic(const redisReply *reply, struct op *op,
                                   struct reply_room *room)
{
    struct settings_row *row = &room->settings[0];

    *row = (struct settings_row){.topic = op->topic};
    if (reply->elements != HEAD + 1 &&
        (reply->elements != HEAD + 3 || !take_settings_row(reply, HEAD + 2, &row->settings)))
        return false;
    put_settings(op, room, 1, BYTES(""));
    return true;
}

static bool take_settings_page(const redisReply *reply, struct op *op, struct reply_room *room)
{
    struct bytes next;
    unsigned count = 0;

    if (!take_cursor(reply, HEAD, &next))
        return false;
    if (op->topic.len)
        return take_settings_of_topic(reply, op, room);
    for (size_t i = HEAD + 1; i < reply->elements; i += 2, count++) {
        if (count == OP_ROWS_MAX || !take_bytes(reply, i, &room->settings[count].topic) ||
            !take_settings_row(reply, i + 1, &room->settings[count].settings))
            return false;
    }
    put_settings(op, room, count, next);
    return true;
}

/* ---- scan ---- */

static bool take_lateness(const redisReply *reply, size_t from, unsigned count,
                          struct reply_room *room)
{
    for (unsigned i = 0; i < count; i++) {
        if (!take_ms(reply, from + i, 0, &room->scan.lateness_ms[i]))
            return false;
    }
    return true;
}

static void begin_pops(const struct op *scan, int64_t now_ms)
{
    for (unsigned i = 0; i < scan->in.scan.pop_count; i++) {
        struct op *pop = scan->in.scan.pops[i];

        pop->status = STATUS_OK;
        pop->now_ms = now_ms;
        pop->wait_ms = -1;
        pop->out.pop.jobs = NULL;
        pop->out.pop.count = 0;
        pop->out.pop.has_more = false;
    }
}

/* For each pop that ran: its number from 1, whether it left some, how many elements follow, and
 * its jobs. */
static bool take_pops(const redisReply *reply, size_t from, struct op *op,
                      struct reply_room *room)
{
    unsigned number, elements, used = 0;
    struct op *pop;

    for (size_t i = from; i < reply->elements; i += elements) {
        if (!take_unsigned(reply, i, op->in.scan.pop_count, &number) || number == 0)
            return false;
        pop = op->in.scan.pops[number - 1];
        if (!take_bool(reply, i + 1, &pop->out.pop.has_more) ||
            !take_unsigned(reply, i + 2, REPLY_ITEMS_MAX, &elements))
            return false;
        i += 3;
        if (elements > reply->elements - i ||
            !take_jobs(reply, i, i + elements, pop, room->scan.popped + used,
                       OP_ITEMS_MAX - used))
            return false;
        used += pop->out.pop.count;
    }
    return true;
}

static bool take_scan(const redisReply *reply, struct op *op, struct reply_room *room)
{
    typeof(op->out.scan) scan = {.lateness_ms = room->scan.lateness_ms};
    size_t end = op->in.scan.share ? SCAN_FIELDS_END : SCAN_WRONG + 1;
    int64_t now_ms;
    unsigned left;

    if (!take_unsigned(reply, SCAN_MOVED, REPLY_ITEMS_MAX, &scan.moved) ||
        !take_unsigned(reply, SCAN_TIMED_OUT, scan.moved, &scan.expired) ||
        !take_unsigned(reply, SCAN_TRIES_DIED, scan.expired, &scan.died[DEATH_TRIES]))
        return false;
    left = scan.moved - scan.expired;
    if (!take_unsigned(reply, SCAN_EXPIRED_DIED, left, &scan.died[DEATH_EXPIRED]) ||
        !take_unsigned(reply, SCAN_PRUNED, left - scan.died[DEATH_EXPIRED], &scan.pruned) ||
        !take_ms(reply, SCAN_NEXT_MS, -1, &scan.next_ms) ||
        !take_unsigned(reply, SCAN_STUCK, REPLY_ITEMS_MAX, &scan.stuck) ||
        !take_bytes(reply, SCAN_WRONG, &scan.wrong))
        return false;
    if (op->in.scan.share &&
        (!take_unsigned(reply, SCAN_TAKEN, REPLY_ITEMS_MAX, &scan.taken) ||
         !take_unsigned(reply, SCAN_TAKEN_OVER, REPLY_ITEMS_MAX, &scan.taken_over) ||
         !take_unsigned(reply, SCAN_STOLEN, scan.taken, &scan.stolen) ||
         !take_unsigned(reply, SCAN_CONFLICTS, REPLY_ITEMS_MAX, &scan.conflicts)))
        return false;
    scan.lateness_count = left - scan.died[DEATH_EXPIRED] - scan.pruned;
    if (!take_ms(reply, 1, 0, &now_ms))
        return false;
    begin_pops(op, now_ms);
    if (!take_lateness(reply, end, scan.lateness_count, room) ||
        !take_pops(reply, end + scan.lateness_count, op, room))
        return false;
    op->out.scan = scan;
    return true;
}

/* ---- history ---- */

/* A line that is not ours, written by hand or longer than today's, is passed over.
 */
static bool take_trace(const redisReply *reply, struct op *op, struct reply_room *room)
{
    struct bytes next, packed;
    unsigned count = 0;

    if (!take_cursor(reply, HEAD, &next))
        return false;
    for (size_t i = HEAD + 1; i < reply->elements; i++) {
        if (count == op->in.trace.limit || count == OP_RECORDS_MAX ||
            !take_bytes(reply, i, &packed))
            return false;
        count += history_unpack(packed, &room->items[count]);
    }
    op->out.trace.items = room->items;
    op->out.trace.count = count;
    op->out.trace.next = next;
    return true;
}

/* ---- repair ---- */

static bool take_damage(const redisReply *reply, size_t i, enum damage *damage)
{
    unsigned number;

    if (!take_unsigned(reply, i, DAMAGE_COUNT - 1, &number))
        return false;
    *damage = (enum damage)number;
    return true;
}

static bool take_audit(const redisReply *reply, struct op *op, struct reply_room *room)
{
    struct bytes next;
    unsigned looked_at, count = 0;

    if (!take_cursor(reply, HEAD, &next) ||
        !take_unsigned(reply, HEAD + 1, INT_MAX, &looked_at))
        return false;
    for (size_t i = HEAD + 2; i < reply->elements; i += 2, count++) {
        struct suspect *suspect = &room->suspects[count];

        if (count == OP_LIST_MAX || !take_bytes(reply, i, &suspect->id) ||
            !take_damage(reply, i + 1, &suspect->damage) || suspect->damage == DAMAGE_NONE)
            return false;
    }
    op->out.audit.items = room->suspects;
    op->out.audit.count = count;
    op->out.audit.looked_at = looked_at;
    op->out.audit.next = next;
    return true;
}

static bool take_repair(const redisReply *reply, struct op *op, struct reply_room *room)
{
    return take_damage(reply, HEAD, &op->out.repair.damage);
}

/* ---- reservations of owners ---- */

#define NOTE_ELEMENTS 4

static bool take_note(const redisReply *reply, size_t i, struct note *note)
{
    return take_number(reply, i, 0, JOB_STAMP_MAX, &note->stamp) &&
           take_ms(reply, i + 1, 0, &note->made_ms) && take_bytes(reply, i + 2, &note->topic) &&
           take_bytes(reply, i + 3, &note->id);
}

static bool take_notes(const redisReply *reply, struct op *op, struct reply_room *room)
{
    unsigned count = 0;

    for (size_t i = HEAD; i < reply->elements; i += NOTE_ELEMENTS, count++) {
        if (count == op->in.notes.limit || count == OP_NOTES_MAX ||
            !take_note(reply, i, &room->notes[count]))
            return false;
    }
    op->out.notes.items = room->notes;
    op->out.notes.count = count;
    return true;
}

/* False: not 16 hex digits. */
static bool read_worker(struct bytes text, uint64_t *worker)
{
    static const char digits[] = "0123456789abcdef";

    *worker = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char *digit = text.at[i] ? strchr(digits, text.at[i]) : NULL;

        if (!digit)
            return false;
        *worker = *worker << 4 | (uint64_t)(digit - digits);
    }
    return text.len == 16;
}

/* What was not written by dueq is passed over. */
static bool take_beats(const redisReply *reply, struct op *op, struct reply_room *room)
{
    struct bytes text;
    unsigned count = 0;

    for (size_t i = HEAD; i < reply->elements; i += 2) {
        struct worker_beat *beat = &room->beats[count];

        if (count == OP_BEATS_MAX || !take_bytes(reply, i, &text) ||
            !take_ms(reply, i + 1, 0, &beat->last_ms))
            return false;
        count += read_worker(text, &beat->worker) && beat->worker != 0;
    }
    op->out.beat.silent = room->beats;
    op->out.beat.count = count;
    return true;
}

/* ---- identities ---- */

#define IDENTITY_ELEMENTS 3

static bool take_version(const redisReply *reply, size_t i, int64_t *version)
{
    return take_number(reply, i, 0, OP_IDENTITY_VERSION_MAX, version);
}

static bool take_identity(const redisReply *reply, size_t i, struct identity_row *row)
{
    return take_bytes(reply, i, &row->name) && take_version(reply, i + 1, &row->version) &&
           take_bytes(reply, i + 2, &row->line);
}

static bool take_changed(const redisReply *reply, struct op *op, struct reply_room *room)
{
    typeof(op->out.identities) all = {.rows = room->identities};

    if (!take_version(reply, HEAD + 1, &all.version) ||
        !take_version(reply, HEAD + 2, &all.horizon) || !take_bytes(reply, HEAD + 3, &all.id) ||
        (all.id.len && all.id.len != OP_IDENTITY_ID_CHARS))
        return false;
    for (size_t i = HEAD + 4; i < reply->elements; i += IDENTITY_ELEMENTS, all.count++) {
        if (all.count == OP_IDENTITY_ROWS_MAX ||
            !take_identity(reply, i, &room->identities[all.count]))
            return false;
    }
    op->out.identities = all;
    return true;
}

static bool take_identities(const redisReply *reply, struct op *op, struct reply_room *room)
{
    bool is_same;

    if (!take_bool(reply, HEAD, &is_same))
        return false;
    if (!is_same)
        return take_changed(reply, op, room);
    memset(&op->out.identities, 0, sizeof(op->out.identities));
    op->out.identities.is_same = true;
    return reply->elements == HEAD + 1;
}

static bool take_identified(const redisReply *reply, struct op *op, struct reply_room *room)
{
    return take_version(reply, HEAD, &op->out.identify.version);
}

static bool (*const takers[OP_COUNT])(const redisReply *, struct op *, struct reply_room *) = {
    [OP_PUSH] = take_push,           [OP_POP] = take_pop,
    [OP_TAKE] = take_taken,          [OP_DELIVERED] = take_stale,
    [OP_KEEP] = take_stale,          [OP_RETURN] = take_stale,
    [OP_ACK] = take_nothing,         [OP_TOUCH] = take_touch,
    [OP_BURY] = take_bury,           [OP_CANCEL] = take_nothing,
    [OP_MOVE] = take_move,           [OP_KICK] = take_chunk,
    [OP_PURGE] = take_chunk,         [OP_GET] = take_get,
    [OP_LIST] = take_list,           [OP_STATS] = take_stats,
    [OP_NOTES] = take_notes,         [OP_BEAT] = take_beats,
    [OP_SCAN] = take_scan,           [OP_TOPICS] = take_topics,
    [OP_CONFIGURE] = take_configure, [OP_SETTINGS] = take_settings_page,
    [OP_RECORD] = take_nothing,      [OP_TRACE] = take_trace,
    [OP_AUDIT] = take_audit,         [OP_REPAIR] = take_repair,
    [OP_FENCE] = take_nothing,       [OP_IDENTITIES] = take_identities,
    [OP_IDENTIFY] = take_identified,
};

/* Most answers are of pushes: no call through the table for them. */
bool take_outputs(const redisReply *reply, struct op *op, struct reply_room *room)
{
    return op->verb == OP_PUSH ? take_push(reply, op, room) : takers[op->verb](reply, op, room);
}

/* ---- several of a call ---- */

static bool take_pushed(const redisReply *reply, size_t at, struct op *op)
{
    struct bytes id;
    int64_t due_ms;

    if (!take_ms(reply, at, 0, &due_ms) || !take_id(reply, at + 1, op, &id))
        return false;
    op->out.push.id = id;
    op->out.push.due_ms = due_ms;
    op->out.push.existed = false;
    return true;
}

size_t part_outputs(enum op_verb verb)
{
    switch (verb) {
    case OP_PUSH:
        return 2;
    case OP_RELEASE:
        return 3;
    default:
        return 0;
    }
}

bool take_part(const redisReply *reply, size_t at, struct op *op)
{
    switch (op->verb) {
    case OP_PUSH:
        return take_pushed(reply, at, op);
    case OP_RELEASE:
        return take_released(reply, at, op);
    default:
        return true;
    }
}

/* ---- places ---- */

/* From <prefix>:{7}:j:<topic>; false for a key of another form, which is somebody else's or of
 * a whole bucket. */
static bool read_key(struct bytes key, struct bytes *topic)
{
    static const char letters[] = "jpdrqvxe";
    const char *end = key.at + key.len, *at = memchr(key.at, '}', key.len);

    if (!at || end - at < 5 || at[1] != ':' || at[3] != ':')
        return false;
    if (!memchr(letters, at[2], sizeof(letters) - 1) || end - at - 4 > SCRIPT_TOPIC_MAX)
        return false;
    *topic = bytes_of(at + 4, (size_t)(end - at - 4));
    return true;
}

static bool take_topics_of_keys(const redisReply *keys, unsigned *count,
                                struct reply_room *room)
{
    struct bytes key, topic;

    *count = 0;
    for (size_t i = 0; i < keys->elements; i++) {
        if (!take_bytes(keys, i, &key))
            return false;
        if (!read_key(key, &topic))
            continue;
        if (*count == OP_ROWS_MAX)
            return false;
        room->settings[(*count)++] = (struct settings_row){.topic = topic};
    }
    return true;
}

bool take_places(const redisReply *reply, struct op *op, struct reply_room *room)
{
    struct bytes next;
    unsigned count;

    if (reply->elements != 2 || !take_cursor(reply, 0, &next) ||
        reply->element[1]->type != REDIS_REPLY_ARRAY ||
        !take_topics_of_keys(reply->element[1], &count, room))
        return false;
    op->out.places.rows = room->settings;
    op->out.places.count = count;
    op->out.places.next = bytes_equal(next, BYTES("0")) ? BYTES("") : next;
    return true;
}
