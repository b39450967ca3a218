#include "protocol/gmq/codec.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "protocol/json/text.h"
#include "protocol/json/read.h"

/* To behind its last quote, or the end of the input, which is behind a backslash perhaps. */
static void scan_string(struct gmq_scan *scan, struct bytes input)
{
    const char *at = input.at + scan->seen, *end = input.at + input.len;

    while (at < end && scan->in_string) {
        if (!scan->is_escaped)
            at = json_find_mark(at, end);
        if (at == end)
            break;
        scan->in_string = scan->is_escaped || *at != '"';
        scan->is_escaped = !scan->is_escaped && *at == '\\';
        at++;
    }
    scan->seen = (size_t)(at - input.at);
}

/* One byte outside of strings. */
static void scan_mark(struct gmq_scan *scan, char c)
{
    if (c == '"')
        scan->in_string = true;
    else if (c == '{' || c == '[')
        scan->depth++;
    else if (c == '}' || c == ']')
        scan->depth--;
}

/* True when the frame has ended, with `seen` behind its last byte. */
static bool scan_to_end(struct gmq_scan *scan, struct bytes input)
{
    while (scan->seen < input.len) {
        if (scan->in_string) {
            scan_string(scan, input);
            continue;
        }
        scan_mark(scan, input.at[scan->seen++]);
        if (scan->depth == 0)
            return true;
    }
    return false;
}

static size_t count_space(struct bytes input)
{
    size_t n = 0;

    while (n < input.len && json_is_space(input.at[n]))
        n++;
    return n;
}

bool gmq_scan_is_inside(const struct gmq_scan *scan)
{
    return scan->depth > 0;
}

static enum gmq_scan_result end_frame(struct gmq_scan *scan)
{
    bool was_skipped = scan->is_skipping;

    *scan = (struct gmq_scan){0};
    return was_skipped ? GMQ_SCAN_OVERSIZE : GMQ_SCAN_FRAME;
}

enum gmq_scan_result gmq_scan_next(struct gmq_scan *scan, struct bytes input,
                                   size_t frame_max_bytes, struct bytes *frame, size_t *used)
{
    size_t space = gmq_scan_is_inside(scan) ? 0 : count_space(input);
    struct bytes rest = bytes_of(input.at + space, input.len - space);
    bool has_ended;

    *used = space;
    if (rest.len == 0)
        return GMQ_SCAN_MORE;
    if (!gmq_scan_is_inside(scan) && rest.at[0] != '{')
        return GMQ_SCAN_NOT_JSON;

    has_ended = scan_to_end(scan, rest);
    *frame = bytes_of(rest.at, scan->seen);
    if (scan->seen > frame_max_bytes)
        scan->is_skipping = true;
    if (has_ended || scan->is_skipping)
        *used += scan->seen;
    if (has_ended)
        return end_frame(scan);
    if (scan->is_skipping)
        scan->seen = 0;
    return GMQ_SCAN_MORE;
}

/* ---- seconds ---- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct bytes trim(struct bytes text)
{
    while (text.len && is_space(text.at[0]))
        text = bytes_of(text.at + 1, text.len - 1);
    while (text.len && is_space(text.at[text.len - 1]))
        text.len--;
    return text;
}

static size_t count_digits(struct bytes text, size_t from)
{
    size_t i = from;

    while (i < text.len && text.at[i] >= '0' && text.at[i] <= '9')
        i++;
    return i - from;
}

static size_t count_sign(struct bytes text, size_t from)
{
    return from < text.len && (text.at[from] == '-' || text.at[from] == '+') ? 1 : 0;
}

/* What nearly everybody writes. */
static bool is_short_and_whole(struct bytes text)
{
    return text.len >= 1 && text.len <= 9 && count_digits(text, 0) == text.len;
}

static double read_short(struct bytes text)
{
    int seconds = 0;

    for (size_t i = 0; i < text.len; i++)
        seconds = seconds * 10 + (text.at[i] - '0');
    return seconds;
}

/* Decimal only: strtod would also take "inf", "nan" and "0x10". */
static bool is_decimal(struct bytes text)
{
    size_t i = count_sign(text, 0);
    size_t digits = count_digits(text, i);

    i += digits;
    if (i < text.len && text.at[i] == '.') {
        size_t fraction = count_digits(text, i + 1);

        i += 1 + fraction;
        digits += fraction;
    }
    if (digits && i < text.len && (text.at[i] == 'e' || text.at[i] == 'E')) {
        size_t sign = count_sign(text, i + 1);
        size_t exponent = count_digits(text, i + 1 + sign);

        if (exponent == 0)
            return false;
        i += 1 + sign + exponent;
    }
    return digits && i == text.len;
}

#define DIGITS_MAX 63 /* longer ones are no number of seconds that anybody means */

enum gmq_seconds gmq_seconds_read(struct bytes text, int64_t max_ms, int64_t *ms)
{
    char terminated[DIGITS_MAX + 1];
    double seconds = 0;

    text = trim(text);
    if (is_short_and_whole(text)) {
        seconds = read_short(text);
    } else if (is_decimal(text)) {
        if (text.len > DIGITS_MAX)
            return text.at[0] == '-' ? GMQ_SECONDS_NEGATIVE : GMQ_SECONDS_LARGE;
        memcpy(terminated, text.at, text.len);
        terminated[text.len] = '\0';
        seconds = strtod(terminated, NULL);
    }
    if (seconds < 0)
        return GMQ_SECONDS_NEGATIVE;
    if (seconds > (double)max_ms / 1000)
        return GMQ_SECONDS_LARGE;
    if (floor(seconds) != seconds)
        return GMQ_SECONDS_NOT_WHOLE;
    *ms = (int64_t)seconds * 1000;
    return GMQ_SECONDS_OK;
}

#define STATUS_RESERVED 3 /* the only one of gmq's states that a popped job can be in */

/* ---- results ---- */

static void open_result(struct buf *out, struct bytes id)
{
    buf_add_text(out, "{\"id\":");
    buf_add_bytes(out, id);
    buf_add_text(out, ",\"result\":");
}

static void close_result(struct buf *out)
{
    buf_add_text(out, ",\"error\":null}\n");
}

void gmq_reply_done(struct buf *out, struct bytes id, enum gmq_method method)
{
    open_result(out, id);
    buf_add_text(out, method == GMQ_PUSH ? "\"success\"" : "true");
    close_result(out);
}

/* `prefix` ends with the member's name and colon. */
static void add_number(struct buf *out, const char *prefix, int64_t value, bool strict)
{
    buf_add_text(out, prefix);
    if (strict)
        buf_add_char(out, '"');
    buf_add_number(out, value);
    if (strict)
        buf_add_char(out, '"');
}

/* Rounded up: a TTR of 500 ms must not look like 0, which means "need not be acknowledged". */
static int64_t seconds_of(int64_t ms)
{
    return (ms + 999) / 1000;
}

static int64_t visible_ttr_ms(int64_t ttr_ms, bool strict)
{
    return strict && ttr_ms > GMQ_STRICT_TTR_MS ? ttr_ms - GMQ_STRICT_TTR_MS : ttr_ms;
}

/* In the order of gmq, which sorts the names. */
void gmq_reply_job(struct buf *out, struct bytes id, struct bytes topic, const struct job *job,
                   bool strict)
{
    open_result(out, id);
    add_number(out, "{\"TTR\":", seconds_of(visible_ttr_ms(job->ttr_ms, strict)), strict);
    buf_add_text(out, ",\"body\":");
    if (!json_add_text(out, job->body)) {
        buf_add_text(out, ",\"body_base64\":");
        json_add_base64(out, job->body);
    }
    add_number(out, ",\"consume_num\":", job->tries, strict);
    add_number(out, ",\"delay\":", seconds_of(job->delay_ms), strict);
    buf_add_text(out, ",\"id\":");
    json_add_text(out, job->id);
    add_number(out, ",\"status\":", STATUS_RESERVED, strict);
    buf_add_text(out, ",\"topic\":");
    json_add_text(out, topic);
    buf_add_char(out, '}');
    close_result(out);
}

/* ---- errors ---- */

#define PREFIX_MAX_BYTES 160 /* of our texts */
#define DETAIL_MAX_BYTES 200 /* of what the client wrote */

/* The text in three parts, any of them empty. */
static void add_failure(struct buf *out, struct bytes id, bool in_result, const char *before,
                        struct bytes detail, const char *after)
{
    struct buf text = BUF_INIT;

    detail.len = detail.len < DETAIL_MAX_BYTES ? detail.len : DETAIL_MAX_BYTES;
    buf_add_text(&text, before);
    buf_add_bytes(&text, detail);
    buf_add_text(&text, after);

    open_result(out, id);
    buf_add_text(out, in_result ? "" : "null,\"error\":");
    json_add_text(out, buf_bytes(&text));
    buf_add_text(out, in_result ? ",\"error\":null}\n" : "}\n");
    buf_fini(&text);
}

/* gmq's Push hands its errors out as results. */
static bool is_in_result(const struct gmq_call *call, bool strict)
{
    return strict && call->has_method && call->method == GMQ_PUSH;
}

void gmq_reply_error(struct buf *out, struct bytes id, const char *error)
{
    add_failure(out, id, false, error, BYTES(""), "");
}

void gmq_reply_refusal(struct buf *out, const struct gmq_call *call, bool strict)
{
    add_failure(out, call->id, is_in_result(call, strict), call->refusal, call->detail, "");
}

/* Where gmq has words of its own, or ours need more of them. `after`: the job's id goes
 * between the two. */
static const struct phrase {
    enum gmq_method method;
    enum status status;
    const char *before;
    const char *after;
} phrases[] = {
    {GMQ_PUSH, STATUS_DUPLICATE, "jobKey:gmq:jobpool:", ",error:has exist"},
    {GMQ_PUSH, STATUS_TOO_LARGE, "too_large: job.body is too large (limits.body_bytes)", NULL},
    {GMQ_POP, STATUS_NOT_FOUND, "empty", NULL},
    {GMQ_POP, STATUS_CANCELLED, "empty", NULL},
    {GMQ_ACK, STATUS_NOT_OWNER, "TTR has expired and will be consumed again", NULL},
};

static const struct phrase *find_phrase(enum gmq_method method, enum status status)
{
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
        if (phrases[i].method == method && phrases[i].status == status)
            return &phrases[i];
    return NULL;
}

/* Clients know one word for all that may have happened, and one for all limits. */
static const char *wire_word(enum status status)
{
    if (status_is_unknown(status))
        return status_word(STATUS_UNKNOWN);
    if (status == STATUS_TOO_MANY_WAITERS || status == STATUS_TOO_MANY_POPS)
        return status_word(STATUS_TOO_MANY);
    return status_word(status);
}

void gmq_reply_status(struct buf *out, const struct gmq_call *call, enum status status,
                      bool strict)
{
    const struct phrase *phrase = find_phrase(call->method, status);
    bool in_result = is_in_result(call, strict);
    char text[PREFIX_MAX_BYTES];

    if (phrase && phrase->after) {
        add_failure(out, call->id, in_result, phrase->before, call->job_id, phrase->after);
        return;
    }
    if (!phrase)
        snprintf(text, sizeof(text), "%s: %s", wire_word(status), status_text(status));
    add_failure(out, call->id, in_result, phrase ? phrase->before : text, BYTES(""), "");
}
