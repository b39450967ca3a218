#include "protocol/delaytask/codec.h"

#include <ctype.h>
#include <stdio.h>

#include "base/encoding.h"
#include "protocol/http/message.h"
#include "protocol/json/read.h"
#include "protocol/json/write.h"

#define NAME_MAX_BYTES 64
#define MILLISECONDS   INT64_C(100000000000) /* as seconds, in the year 5138 */

/* ---- requests ---- */

static const char *read_text(struct bytes value, struct bytes *text, const char *refusal)
{
    if (value.len && json_kind_of(value) != JSON_KIND_STRING)
        return refusal;
    *text = value.len ? json_unescape(value) : BYTES("");
    return NULL;
}

/* A number, or a text of digits, as PHP's clients write it. */
static bool read_digits(struct bytes value, struct bytes *digits, int64_t *number)
{
    struct bytes text = json_kind_of(value) == JSON_KIND_STRING ? json_unescape(value) : value;

    *digits = text;
    return digits_read(text, number);
}

static const char *read_moment(struct bytes value, int64_t *moment_s)
{
    struct bytes ignored;

    if (value.len && !read_digits(value, &ignored, moment_s))
        return "timing_moment must be a whole number of seconds since 1970";
    return *moment_s < MILLISECONDS
               ? NULL
               : "timing_moment is beyond the year 5000: seconds since 1970, not milliseconds";
}

static const char *read_task_id(struct bytes value, struct bytes *task_id)
{
    int64_t ignored;

    return !value.len || read_digits(value, task_id, &ignored) ? NULL
                                                               : "task_id must be a number";
}

const char *delaytask_read(struct bytes json, struct delaytask_request *request,
                           char room[static 160])
{
    static const char *const names[] = {"topic", "content", "task_id", "timing_moment"};
    struct bytes values[4];
    const char *refusal;
    size_t at_byte;

    *request = (struct delaytask_request){.topic = BYTES("")};
    if (json_check_at(json, &at_byte) != JSON_FAULT_NONE) {
        snprintf(room, 160,
                 "the body is not JSON (about byte %zu); content is a string, in which quotes "
                 "are written as \\\"",
                 at_byte);
        return room;
    }
    json = json_trim(json);
    if (json_kind_of(json) != JSON_KIND_OBJECT)
        return "the body must be an object";
    json_pick(json, names, values, 4);
    refusal = read_text(values[0], &request->topic, "topic must be a string");
    if (!refusal)
        refusal = read_text(values[1], &request->content,
                            "content must be a string: JSON in it with its quotes escaped");
    if (!refusal)
        refusal = read_task_id(values[2], &request->task_id);
    if (!refusal)
        refusal = read_moment(values[3], &request->moment_s);
    return refusal || request->topic.len ? refusal : "topic: missing";
}

/* ---- a service and its path ---- */

static bool consists_of(struct bytes text, const char *marks)
{
    for (size_t i = 0; i < text.len; i++)
        if (!isalnum((unsigned char)text.at[i]) && (!text.at[i] || !strchr(marks, text.at[i])))
            return false;
    return true;
}

/* An escaped '/', '\\' or '%' is resolved by some servers, and becomes a path of its own. */
static bool segment_is_fit(struct bytes segment)
{
    if (!url_unescape(&segment) || bytes_equal(segment, BYTES(".")) ||
        bytes_equal(segment, BYTES("..")))
        return false;
    for (size_t i = 0; i < segment.len; i++)
        if ((unsigned char)segment.at[i] < ' ' || strchr("/\\%\x7f", segment.at[i]))
            return false;
    return true;
}

bool delaytask_url_is_fit(struct bytes url)
{
    struct bytes query = url, path = bytes_cut(&query, '?');

    if (!path.len || path.at[0] != '/' || (path.len > 1 && path.at[1] == '/') ||
        !consists_of(path, "-._~!$&'()*+,;=:@/%") ||
        !consists_of(query, "-._~!$&'()*+,;=:@/?%"))
        return false;
    while (path.len)
        if (!segment_is_fit(bytes_cut(&path, '/')))
            return false;
    return true;
}

const char *delaytask_refusal_of_add(const struct delaytask_request *request, char *room)
{
    static const char *const names[] = {"sn", "url"};
    struct bytes values[2], copy = bytes_of(room, request->content.len);
    struct bytes name, url;

    if (!request->moment_s)
        return "timing_moment: missing";
    if (!request->content.len)
        return "content: missing, or empty";
    memcpy(room, request->content.at, request->content.len);
    if (json_check(copy) != JSON_FAULT_NONE)
        return NULL;
    json_pick(json_trim(copy), names, values, 2);
    if (!values[0].len || !values[1].len)
        return NULL;
    if (json_kind_of(values[0]) != JSON_KIND_STRING ||
        json_kind_of(values[1]) != JSON_KIND_STRING)
        return "content: sn and url must be strings";
    name = json_unescape(values[0]);
    url = json_unescape(values[1]);
    if (!name.len || name.len > NAME_MAX_BYTES || !consists_of(name, "-_.:"))
        return "content: sn is the name of a service, 1 to 64 of [A-Za-z0-9_.:-]";
    return delaytask_url_is_fit(url) ? NULL
                                     : "content: url is a path that begins with one '/', of a "
                                       "URL's characters, without "
                                       "'.' and '..'";
}

/* ---- replies ---- */

#define DONE "{\"dm_error\":0,\"error_msg\":\"操作成功\","

void delaytask_add_error(struct buf *out, int code, const char *word, struct bytes message)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s: %.*s", word, BYTES_ARG(message));
    json_put_number(out, "{\"dm_error\":", code);
    json_put_text(out, ",\"error_msg\":", buf_bytes(&text));
    buf_add_char(out, '}');
    buf_fini(&text);
}

void delaytask_add_added(struct buf *out, struct bytes task_id)
{
    buf_add_text(out, DONE "\"task_id\":");
    buf_add_bytes(out, task_id);
    buf_add_char(out, '}');
}

void delaytask_add_pulled(struct buf *out, struct bytes content)
{
    json_put_bytes(out, DONE "\"content\":", content, ",\"content_base64\":");
    buf_add_char(out, '}');
}
