#include "protocol/gmq/scan.h"

#include "protocol/json/walk.h"

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
