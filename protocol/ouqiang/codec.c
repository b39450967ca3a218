#include "protocol/ouqiang/codec.h"

#include "base/encoding.h"
#include "protocol/json/read.h"
#include "protocol/json/write.h"

/* ---- requests ---- */

/* The original's white space is Unicode's; ids and topics here are ASCII anyway. */
static struct bytes trim(struct bytes text)
{
    static const char spaces[] = " \t\n\v\f\r";

    while (text.len && memchr(spaces, text.at[0], sizeof(spaces) - 1))
        text = bytes_of(text.at + 1, text.len - 1);
    while (text.len && memchr(spaces, text.at[text.len - 1], sizeof(spaces) - 1))
        text.len--;
    return text;
}

/* No value leaves the text empty. */
static bool read_text(struct bytes value, struct bytes *text)
{
    if (value.len && json_kind_of(value) != JSON_KIND_STRING)
        return false;
    *text = value.len ? json_unescape(value) : BYTES("");
    return true;
}

/* Digits alone, as Go has it: 1.0 and 1e3 are no whole numbers. One beyond 64 bits is out of
 * range later on. */
static bool read_number(struct bytes value, int64_t *number)
{
    *number = 0;
    return !value.len ||
           (json_kind_of(value) == JSON_KIND_NUMBER && number_read(value, number));
}

bool ouqiang_read(struct bytes json, struct ouqiang_request *request)
{
    static const char *const names[] = {"topic", "id", "body", "delay", "ttr"};
    struct bytes values[5];
    bool is_fine;

    *request = (struct ouqiang_request){.topic = BYTES("")};
    if (json_check(json) != JSON_FAULT_NONE)
        return false;
    json = json_trim(json);
    if (json_kind_of(json) != JSON_KIND_OBJECT)
        return json_kind_of(json) == JSON_KIND_NULL;
    json_pick(json, names, values, 5);
    is_fine = read_text(values[0], &request->topic) && read_text(values[1], &request->id) &&
              read_text(values[2], &request->body) &&
              read_number(values[3], &request->delay_s) &&
              read_number(values[4], &request->ttr_s);
    request->topic = trim(request->topic);
    request->id = trim(request->id);
    return is_fine;
}

const char *ouqiang_refusal_of_push(const struct ouqiang_request *request)
{
    if (!request->id.len)
        return "job id不能为空";
    if (!request->topic.len)
        return "topic 不能为空";
    if (request->delay_s < 1 || request->delay_s > OUQIANG_DELAY_MAX_S)
        return "delay 取值范围1 - (2^31 - 1)";
    if (request->ttr_s < 1 || request->ttr_s > OUQIANG_TTR_MAX_S)
        return "ttr 取值范围1 - 86400";
    return NULL;
}

/* ---- replies ---- */

void ouqiang_add_reply(struct buf *out, int code, struct bytes message, struct bytes data)
{
    json_put_number(out, "{\"code\":", code);
    json_put_text(out, ",\"message\":", message);
    buf_add_text(out, ",\"data\":");
    buf_add_bytes(out, data);
    buf_add_char(out, '}');
}

static void add_body(struct buf *out, struct bytes body)
{
    json_put_bytes(out, ",\"body\":", body, ",\"body_base64\":");
    buf_add_char(out, '}');
}

void ouqiang_add_popped(struct buf *out, const struct job *job)
{
    json_put_text(out, "{\"id\":", job->id);
    add_body(out, job->body);
}

void ouqiang_add_job(struct buf *out, struct bytes topic, const struct job *job)
{
    json_put_text(out, "{\"topic\":", topic);
    json_put_text(out, ",\"id\":", job->id);
    json_put_number(out, ",\"delay\":", job->due_ms / 1000);
    json_put_number(out, ",\"ttr\":", (job->ttr_ms + 999) / 1000);
    add_body(out, job->body);
}
