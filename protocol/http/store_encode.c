#include "protocol/http/store_encode.h"

#include <inttypes.h>

#include "protocol/json_text.h"

static void add_text(struct buf *out, const char *text)
{
    json_add_text(out, bytes_of_text(text));
}

void store_add_weak(struct buf *out, const struct http_store_numbers *n)
{
    bool is_first = true;

    buf_add_char(out, '[');
    for (unsigned i = 0; i < n->weak_count; i++) {
        if (!n->weak[i].is_so)
            continue;
        buf_add_text(out, is_first ? "" : ",");
        add_text(out, n->weak[i].word);
        is_first = false;
    }
    buf_add_char(out, ']');
}

static void add_finding(struct buf *out, const struct http_store_weakness *weakness)
{
    buf_add_text(out, "{\"why\":");
    add_text(out, weakness->word);
    buf_add_text(out, ",\"message\":");
    add_text(out, weakness->what);
    buf_add_text(out, ",\"advice\":");
    add_text(out, weakness->advice);
    buf_add_char(out, '}');
}

static void add_check(struct buf *out, const struct http_store_numbers *n)
{
    bool is_first = true;

    buf_add_char(out, '[');
    for (unsigned i = 0; i < n->weak_count; i++) {
        if (!n->weak[i].is_so)
            continue;
        buf_add_text(out, is_first ? "" : ",");
        add_finding(out, &n->weak[i]);
        is_first = false;
    }
    buf_add_char(out, ']');
}

static void add_breaker(struct buf *out, const struct http_store_numbers *n,
                        int64_t since_wall_ms)
{
    buf_printf(out,
               "{\"state\":\"%s\",\"since_ms\":%" PRId64 ",\"trips\":%" PRIu64
               ",\"refused\":%" PRIu64 "}",
               n->breaker ? n->breaker : "closed", since_wall_ms, n->breaker_trips, n->broken);
}

void store_add_status(struct buf *out, const struct http_store_numbers *n,
                      int64_t breaker_since_wall_ms)
{
    buf_printf(out, "{\"up\":%s,\"address\":", n->is_up ? "true" : "false");
    if (n->address && *n->address)
        add_text(out, n->address);
    else
        buf_add_text(out, "null");
    buf_add_text(out, ",\"weak\":");
    store_add_weak(out, n);
    buf_add_text(out, ",\"breaker\":");
    add_breaker(out, n, breaker_since_wall_ms);
    buf_printf(out, ",\"in_flight\":%" PRIu64 ",\"held\":%" PRIu64 ",\"held_bytes\":%" PRIu64,
               n->in_flight, n->held, n->held_bytes);
    buf_printf(out, ",\"connects\":%" PRIu64 ",\"round_trips\":%" PRIu64 ",\"errors\":%" PRIu64,
               n->connects, n->round_trips, n->errors);
    buf_printf(out,
               ",\"lost\":%" PRIu64 ",\"repeated\":%" PRIu64 ",\"expired\":%" PRIu64
               ",\"dropped\":%" PRIu64 ",\"overflowed\":%" PRIu64,
               n->lost, n->repeated, n->expired, n->dropped, n->overflowed);
    buf_printf(out, ",\"older\":%" PRIu64 ",\"lost_pushes\":%" PRIu64, n->older,
               n->lost_pushes);
    buf_add_text(out, ",\"check\":");
    add_check(out, n);
    buf_add_char(out, '}');
}
