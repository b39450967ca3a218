#include "protocol/http/store_encode.h"

#include <inttypes.h>

#include "protocol/http/unreached.h"
#include "protocol/json/text.h"

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

/* ---- masters and buckets ---- */

static void add_text_or_null(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    if (text && *text)
        add_text(out, text);
    else
        buf_add_text(out, "null");
}

static void add_master(struct buf *out, const struct http_store_master *m)
{
    buf_printf(out, "{\"state\":\"%s\"", m->state);
    add_text_or_null(out, "address", m->address);
    add_text_or_null(out, "why", m->why);
    buf_printf(out, ",\"buckets\":%" PRIu64 ",\"in_flight\":%" PRIu64 ",\"breaker\":\"%s\"}",
               m->buckets, m->in_flight, m->breaker ? m->breaker : "closed");
}

static void add_masters(struct buf *out, const struct http_store_numbers *n)
{
    buf_add_text(out, ",\"masters\":[");
    for (unsigned i = 0; i < n->master_count; i++) {
        buf_add_text(out, i ? "," : "");
        add_master(out, &n->masters[i]);
    }
    buf_add_char(out, ']');
}

static void add_group(struct buf *out, const struct http_store_numbers *n, unsigned first)
{
    const char *before = "{\"buckets\":[";
    struct buf message = BUF_INIT;

    for (unsigned i = first; i < n->unreached_count; i++) {
        if (!unreached_is_same(&n->unreached[first], &n->unreached[i]))
            continue;
        buf_printf(out, "%s%u", before, n->unreached[i].bucket);
        before = ",";
    }
    buf_add_char(out, ']');
    add_text_or_null(out, "master", n->unreached[first].address);
    add_text_or_null(out, "why", n->unreached[first].why);
    unreached_describe(&message, n, first);
    add_text_or_null(out, "message", buf_text(&message));
    add_text_or_null(out, "advice", unreached_advice(&n->unreached[first]));
    buf_add_char(out, '}');
    buf_fini(&message);
}

static void add_unreached(struct buf *out, const struct http_store_numbers *n)
{
    bool is_first = true;

    buf_add_text(out, ",\"unreached\":[");
    for (unsigned i = 0; i < n->unreached_count; i++) {
        if (!unreached_is_first(n, i))
            continue;
        buf_add_text(out, is_first ? "" : ",");
        add_group(out, n, i);
        is_first = false;
    }
    buf_add_char(out, ']');
}

static void add_redirects(struct buf *out, const struct http_store_numbers *n)
{
    buf_printf(out,
               ",\"redirects\":{\"moved\":%" PRIu64 ",\"ask\":%" PRIu64
               ",\"try_again\":%" PRIu64 ",\"down\":%" PRIu64 ",\"maps_read\":%" PRIu64 "}",
               n->moved, n->asked, n->try_again, n->down, n->maps_read);
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
    add_redirects(out, n);
    add_masters(out, n);
    add_unreached(out, n);
    buf_add_text(out, ",\"check\":");
    add_check(out, n);
    buf_add_char(out, '}');
}
