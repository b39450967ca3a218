#include "protocol/lmstfy/codec.h"

#include <stdio.h>

#include "base/crc16.h"
#include "base/encoding.h"
#include "node/queue/queue.h"
#include "protocol/json/read.h"
#include "protocol/json/write.h"

/* ---- ids ---- */

#define NUMBER_DIGITS_MAX 19
#define TIME_MAX_MS       ((INT64_C(1) << 48) - 1)

_Static_assert(NUMBER_DIGITS_MAX < LMSTFY_ID_ROOM, "a number fits, and a NUL behind it");

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* As a ULID is divided: 64 bits and 64 bits of the 128. */
struct ulid {
    uint64_t high; /* 48 of time, 16 of the number */
    uint64_t low;  /* 48 of the number, 16 of the check */
};

/* The number of an id as the store prints it; -1: it is none. */
static int64_t number_of(struct bytes id)
{
    int64_t number;

    if (id.len < 1 || id.len > NUMBER_DIGITS_MAX || id.at[0] == '0' ||
        !bytes_take_digits(&id, &number) || id.len)
        return -1;
    return number;
}

static int64_t time_of(int64_t number, unsigned buckets)
{
    int64_t time_ms = JOB_ID_EPOCH_MS + number / buckets / JOB_IDS_PER_MS;

    return time_ms <= TIME_MAX_MS ? time_ms : -1;
}

/* Not 0 for the number 0, so that zeros are no ULID of ours. */
static uint16_t check_of(uint64_t number)
{
    char bytes[1 + sizeof(number)] = {'u'};

    for (unsigned i = 0; i < sizeof(number); i++)
        bytes[1 + i] = (char)(number >> (56 - 8 * i));
    return crc16(bytes_of(bytes, sizeof(bytes)));
}

static struct ulid ulid_of(int64_t number, int64_t time_ms)
{
    uint64_t n = (uint64_t)number;

    return (struct ulid){.high = (uint64_t)time_ms << 16 | n >> 48,
                         .low = n << 16 | check_of(n)};
}

/* Five bits of the 128, counted from the last ones. */
static unsigned digit_of(struct ulid ulid, unsigned from_end)
{
    unsigned shift = 5 * from_end;
    uint64_t bits = shift >= 64 ? ulid.high >> (shift - 64) : ulid.low >> shift;

    if (shift < 64 && shift > 59)
        bits |= ulid.high << (64 - shift);
    return bits & 31;
}

void lmstfy_add_id(struct buf *to, struct bytes id, unsigned buckets)
{
    int64_t number = number_of(id);
    int64_t time_ms = number < 0 ? -1 : time_of(number, buckets);
    struct ulid ulid;

    if (time_ms < 0) {
        buf_add_bytes(to, id);
        return;
    }
    ulid = ulid_of(number, time_ms);
    for (unsigned i = LMSTFY_ULID_CHARS; i > 0; i--)
        buf_add_char(to, alphabet[digit_of(ulid, i - 1)]);
}

/* -1: none. Lower case is read, too, as Crockford has it. */
static int value_of(char c)
{
    const char *at;

    if (c >= 'a' && c <= 'z')
        c = (char)(c - 'a' + 'A');
    at = c ? strchr(alphabet, c) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

/* False: it is no ULID at all. */
static bool read_ulid(struct bytes text, struct ulid *out)
{
    struct ulid ulid = {0, 0};

    if (text.len != LMSTFY_ULID_CHARS || value_of(text.at[0]) > 7)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        int value = value_of(text.at[i]);

        if (value < 0)
            return false;
        ulid.high = ulid.high << 5 | ulid.low >> 59;
        ulid.low = ulid.low << 5 | (unsigned)value;
    }
    *out = ulid;
    return true;
}

/* -1: it is no ULID of ours. */
static int64_t number_in(struct bytes text, unsigned buckets)
{
    struct ulid ulid, ours;
    int64_t number, time_ms;

    if (!read_ulid(text, &ulid))
        return -1;
    number = (int64_t)((ulid.high & 0xffff) << 48 | ulid.low >> 16);
    time_ms = number <= 0 ? -1 : time_of(number, buckets);
    if (time_ms < 0)
        return -1;
    ours = ulid_of(number, time_ms);
    return ours.high == ulid.high && ours.low == ulid.low ? number : -1;
}

struct bytes lmstfy_read_id(struct bytes given, unsigned buckets, char room[LMSTFY_ID_ROOM])
{
    int64_t number = number_in(given, buckets);

    if (number < 0)
        return given;
    return bytes_of(room, (size_t)snprintf(room, LMSTFY_ID_ROOM, "%lld", (long long)number));
}

int64_t lmstfy_id_time_ms(struct bytes id, unsigned buckets)
{
    int64_t number = number_of(id);

    return number < 0 ? -1 : time_of(number, buckets);
}

/* ---- names ---- */

#define NAME_LIMIT 255 /* lmstfy's own; ours is that of a topic */

static bool is_name(struct bytes name, bool may_have_commas)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool is_fine = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                       (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
                       (c == ',' && may_have_commas);

        if (!is_fine)
            return false;
    }
    return name.len > 0;
}

const char *lmstfy_check_names(struct bytes space, struct bytes queue, bool is_list)
{
    if (space.len > NAME_LIMIT || (!is_list && queue.len > NAME_LIMIT))
        return "namespace or queue name too long";
    if (!is_name(space, false))
        return "namespace name contains forbidden characters";
    if (!is_name(queue, is_list) || (!is_list && queue.at[0] == '_'))
        return "queue name contains forbidden characters";
    return NULL;
}

bool lmstfy_is_printable(struct bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] >= '\x7f')
            return false;
    return true;
}

bool lmstfy_next_queue(struct bytes *rest, struct bytes *queue)
{
    do {
        if (!rest->len)
            return false;
        *queue = bytes_cut(rest, ',');
    } while (!queue->len);
    return true;
}

bool lmstfy_add_topic(struct buf *to, struct bytes space, struct bytes queue)
{
    size_t before = to->len;

    buf_add_bytes(to, space);
    buf_add_char(to, '/');
    buf_add_bytes(to, queue);
    return topic_name_is_valid(bytes_of(to->at + before, to->len - before));
}

/* Without a '/', nothing is in front of it. */
static size_t slash_in(struct bytes topic)
{
    const char *slash = topic.len ? memchr(topic.at, '/', topic.len) : NULL;

    return slash ? (size_t)(slash - topic.at) : topic.len;
}

struct bytes lmstfy_space_of(struct bytes topic)
{
    size_t slash = slash_in(topic);

    return bytes_of(topic.at, slash < topic.len ? slash : 0);
}

struct bytes lmstfy_queue_of(struct bytes topic)
{
    size_t slash = slash_in(topic);

    return slash < topic.len ? bytes_of(topic.at + slash + 1, topic.len - slash - 1) : topic;
}

/* ---- options ---- */

bool lmstfy_read_number(struct bytes text, int64_t max, int64_t fallback, int64_t *out)
{
    int64_t number = fallback;

    if (text.at && (!digits_read(text, &number) || number > max))
        return false;
    *out = number;
    return true;
}

#define TRIES_DEFAULT 1
#define TTR_DEFAULT   120
#define TTL_DEFAULT   86400
#define TTL_MAX       (INT64_C(3650) * 86400) /* more is for ever */

bool lmstfy_read_ttl(struct bytes text, int64_t max, int64_t *ttl_ms)
{
    int64_t ttl_s;

    if (!lmstfy_read_number(text, max, TTL_DEFAULT, &ttl_s))
        return false;
    *ttl_ms = ttl_s <= TTL_MAX ? ttl_s * 1000 : 0;
    return true;
}

const char *lmstfy_read_publish(struct bytes delay, struct bytes ttl, struct bytes tries,
                                struct lmstfy_publish *out)
{
    int64_t delay_s, ttl_ms, try_count;

    if (!lmstfy_read_number(delay, UINT32_MAX, 0, &delay_s))
        return "invalid delay";
    if (!lmstfy_read_ttl(ttl, UINT32_MAX, &ttl_ms))
        return "invalid ttl";
    if (ttl_ms > 0 && ttl_ms <= delay_s * 1000)
        return "ttl is shorter than delay";
    if (!lmstfy_read_number(tries, UINT16_MAX, TRIES_DEFAULT, &try_count))
        return "invalid tries";
    if (try_count == 0)
        return "tries shouldn't be zero";
    *out = (struct lmstfy_publish){
        .delay_ms = delay_s * 1000,
        .ttl_ms = ttl_ms,
        .tries = try_count < RULES_TRIES_MAX ? (unsigned)try_count : RULES_TRIES_MAX,
    };
    return NULL;
}

/* Go's words for a bool. */
static bool read_bool(struct bytes text, bool *out)
{
    static const char *const words[][2] = {{"0", "1"},        {"f", "t"},
                                           {"F", "T"},        {"false", "true"},
                                           {"False", "True"}, {"FALSE", "TRUE"}};

    *out = false;
    if (!text.at)
        return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        for (unsigned is_true = 0; is_true < 2; is_true++)
            if (bytes_equal(text, bytes_of_text(words[i][is_true]))) {
                *out = is_true;
                return true;
            }
    return false;
}

const char *lmstfy_read_consume(struct bytes ttr, struct bytes timeout, struct bytes count,
                                struct bytes freeze_tries, struct lmstfy_consume *out)
{
    int64_t ttr_s, timeout_s, jobs;
    bool is_frozen;

    if (!lmstfy_read_number(ttr, UINT32_MAX, TTR_DEFAULT, &ttr_s))
        return "invalid ttr";
    if (!lmstfy_read_number(timeout, UINT32_MAX, 0, &timeout_s))
        return "invalid timeout";
    if (!lmstfy_read_number(count, LMSTFY_COUNT_MAX, 1, &jobs) || jobs == 0)
        return "invalid count";
    if (!read_bool(freeze_tries, &is_frozen))
        return "invalid freeze_tries value";
    if (is_frozen)
        return "freeze_tries is not supported: publish with more tries";
    if (ttr_s == 0)
        ttr_s = 1;
    if (ttr_s > QUEUE_TTR_MAX_MS / 1000)
        ttr_s = QUEUE_TTR_MAX_MS / 1000;
    *out = (struct lmstfy_consume){
        .ttr_ms = ttr_s * 1000, .wait_ms = timeout_s * 1000, .count = (unsigned)jobs};
    return NULL;
}

#define LIMIT_MAX 1000000000
#define RATE_MAX  1000000 /* of an identity */

/* A member of the object, at most LIMIT_MAX; 0: it is not there. */
static bool read_member(struct bytes object, struct bytes wanted, int64_t *out)
{
    struct json_walk walk = json_walk_into(object);
    struct bytes name, value;

    *out = 0;
    while (json_walk_member(&walk, &name, &value))
        if (bytes_equal(name, wanted) && !lmstfy_read_number(value, LIMIT_MAX, 0, out))
            return false;
    return true;
}

const char *lmstfy_read_limit(struct bytes body, unsigned *rate)
{
    int64_t read, write, interval;

    if (json_check(body) || !read_member(body, BYTES("\"read\""), &read) ||
        !read_member(body, BYTES("\"write\""), &write) ||
        !read_member(body, BYTES("\"interval\""), &interval))
        return "a limit is {\"read\": number, \"write\": number, \"interval\": seconds}";
    if (read == 0 && write == 0)
        return "read and write are 0";
    if (interval == 0)
        return "interval should be > 0";
    if (read != write || 2 * read % interval)
        return "a token has one rate here, for reads and writes together: they must be the "
               "same, and twice that a multiple of the interval";
    if (2 * read / interval > RATE_MAX)
        return "more than 1000000 requests a second";
    *rate = (unsigned)(2 * read / interval);
    return NULL;
}

/* ---- attributes ---- */

#define ATTR_PREFIX "job-attr-"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* What is behind the prefix; empty: it is another header. */
static struct bytes attribute_in(struct bytes name)
{
    size_t prefix = sizeof(ATTR_PREFIX) - 1;

    if (name.len <= prefix)
        return BYTES("");
    for (size_t i = 0; i < prefix; i++)
        if (lower(name.at[i]) != ATTR_PREFIX[i])
            return BYTES("");
    return bytes_of(name.at + prefix, name.len - prefix);
}

const char *lmstfy_take_header(struct attributes *attributes, struct bytes name,
                               struct bytes value)
{
    struct bytes given = attribute_in(name), before;
    char room[LMSTFY_ATTR_NAME];

    if (!given.len)
        return NULL;
    if (given.len > LMSTFY_ATTR_NAME)
        return "the name of an attribute has more than 32 bytes";
    if (value.len > LMSTFY_ATTR_VALUE)
        return "the value of an attribute has more than 128 bytes";
    for (size_t i = 0; i < given.len; i++)
        room[i] = lower(given.at[i]);
    given.at = room;
    if (attributes_find(attributes_packed(attributes), given, &before))
        return NULL;
    if (attributes->count == LMSTFY_ATTRIBUTES || !attributes_add(attributes, given, value))
        return "more than 16 attributes";
    return NULL;
}

static void add_attributes(struct buf *to, struct bytes packed)
{
    struct attribute attribute;

    if (!packed.len) {
        buf_add_text(to, "null");
        return;
    }
    buf_add_char(to, '{');
    while (attributes_next(&packed, &attribute)) {
        json_next(to);
        json_put_text(to, "", attribute.name);
        json_put_text(to, ":", attribute.value);
    }
    buf_add_char(to, '}');
}

/* ---- bulk ---- */

const char *lmstfy_read_bulk(struct bytes body, struct bytes *out, unsigned *count)
{
    static const char no_list[] = "request body should be an array of objects";
    struct json_walk walk;
    struct bytes job;
    unsigned found = 0;

    if (json_check(body))
        return no_list;
    body = json_trim(body);
    if (json_kind_of(body) == JSON_KIND_NULL)
        return "no jobs";
    if (json_kind_of(body) != JSON_KIND_LIST)
        return no_list;
    walk = json_walk_into(body);
    while (json_walk_element(&walk, &job)) {
        if (found == LMSTFY_BULK_MAX)
            return "too many jobs";
        out[found++] = job;
    }
    *count = found;
    return found ? NULL : "no jobs";
}

/* ---- replies ---- */

void lmstfy_add_error(struct buf *to, struct bytes text)
{
    json_put_text(to, "{\"error\":", text);
    buf_add_char(to, '}');
}

/* As Redis tells seconds: rounded; but 0 is for ever. */
static int64_t seconds_left(int64_t expires_ms, int64_t now_ms)
{
    int64_t left = expires_ms > now_ms ? (expires_ms - now_ms + 500) / 1000 : 0;

    if (!expires_ms)
        return 0;
    return left ? left : 1;
}

/* One that is being handed out has had this try, too. */
static int64_t tries_left(const struct job *job, bool is_new)
{
    int64_t had = (int64_t)job->tries + (is_new ? 1 : 0);

    if (!job->rules.max_tries)
        return UINT16_MAX;
    return job->rules.max_tries > had ? job->rules.max_tries - had : 0;
}

static int64_t elapsed_ms(const struct lmstfy_job *j)
{
    int64_t since_ms = lmstfy_id_time_ms(j->job->id, j->buckets);

    if (since_ms < 0)
        since_ms = j->job->due_ms - j->job->delay_ms;
    return j->now_ms > since_ms ? j->now_ms - since_ms : 0;
}

void lmstfy_add_job(struct buf *to, const struct lmstfy_job *j)
{
    struct buf id = BUF_INIT;

    lmstfy_add_id(&id, j->job->id, j->buckets);
    buf_add_text(to, "{\"attributes\":");
    add_attributes(to, j->job->extra.attributes);
    buf_add_text(to, ",\"data\":");
    json_add_base64(to, j->job->body);
    json_put_number(to, ",\"elapsed_ms\":", elapsed_ms(j));
    json_put_text(to, ",\"job_id\":", buf_bytes(&id));
    if (j->is_new)
        buf_add_text(to, ",\"msg\":\"new job\"");
    json_put_text(to, ",\"namespace\":", lmstfy_space_of(j->topic));
    json_put_text(to, ",\"queue\":", lmstfy_queue_of(j->topic));
    json_put_number(to, ",\"remain_tries\":", tries_left(j->job, j->is_new));
    json_put_number(to, ",\"ttl\":", seconds_left(j->job->rules.expires_ms, j->now_ms));
    buf_add_char(to, '}');
    buf_fini(&id);
}

void lmstfy_add_size(struct buf *to, struct bytes topic, int64_t size)
{
    json_put_text(to, "{\"namespace\":", lmstfy_space_of(topic));
    json_put_text(to, ",\"queue\":", lmstfy_queue_of(topic));
    json_put_number(to, ",\"size\":", size);
    buf_add_char(to, '}');
}
