#include "itests/bench/load/gmq.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUEST_ROOM (1 << 21)
#define POP_ANY_ROOM 32768

static const struct options *opts;
static char *body;
static char *request; /* one at a time: client_send has taken it when it returns */
static char pop_any[POP_ANY_ROOM];
static size_t pop_any_len;

static void make_pop_any(void)
{
    size_t len =
        (size_t)snprintf(pop_any, POP_ANY_ROOM, "{\"method\":\"Service.Pop\",\"params\":[[");

    for (int64_t i = 0; i < opts->topics && len < POP_ANY_ROOM - 64; i++)
        len += (size_t)sprintf(pop_any + len, "%s\"bench-%" PRId64 "\"", i ? "," : "", i);
    pop_any_len = len + (size_t)sprintf(pop_any + len, "]],\"id\":1}");
}

void gmq_init(const struct options *o)
{
    opts = o;
    body = malloc((size_t)o->body_bytes + 1);
    request = malloc(REQUEST_ROOM);
    if (!body || !request)
        die("no memory");
    memset(body, 'x', (size_t)o->body_bytes);
    body[o->body_bytes] = '\0';
    make_pop_any();
}

void gmq_push(struct client *c, int64_t id, unsigned topic, int64_t delay_s)
{
    int len = snprintf(request, REQUEST_ROOM,
                       "{\"method\":\"Service.Push\",\"params\":[{\"id\":\"%" PRId64
                       "\",\"topic\":\"bench-%u\",\"body\":\"%s\",\"delay\":%" PRId64
                       ",\"TTR\":%" PRId64 "}],\"id\":%" PRId64 "}",
                       id, topic, body, delay_s, opts->ttr_s, id);

    client_send(c, request, (size_t)len);
}

void gmq_pop(struct client *c, unsigned topic)
{
    int len =
        snprintf(request, REQUEST_ROOM,
                 "{\"method\":\"Service.Pop\",\"params\":[[\"bench-%u\"]],\"id\":1}", topic);

    client_send(c, request, (size_t)len);
}

void gmq_pop_any(struct client *c)
{
    client_send(c, pop_any, pop_any_len);
}

void gmq_ack(struct client *c, const char *id)
{
    int len = snprintf(request, REQUEST_ROOM,
                       "{\"method\":\"Service.Ack\",\"params\":[\"%s\"],\"id\":1}", id);

    client_send(c, request, (size_t)len);
}

static bool ends_with(struct bytes line, struct bytes end)
{
    return line.len >= end.len && !memcmp(line.at + line.len - end.len, end.at, end.len);
}

void gmq_expect_success(struct bytes line)
{
    if (!ends_with(line, BYTES("\"error\":null}")))
        die("the node says %.*s", BYTES_ARG(line));
}

int64_t gmq_reply_number(struct bytes line)
{
    static const char mark[] = "{\"id\":";

    if (line.len <= sizeof(mark) || memcmp(line.at, mark, sizeof(mark) - 1) != 0)
        die("a strange reply: %.*s", BYTES_ARG(line));
    return strtoll(line.at + sizeof(mark) - 1, NULL, 10);
}

bool gmq_is_empty(struct bytes line)
{
    if (ends_with(line, BYTES("\"error\":null}")))
        return false;
    if (!ends_with(line, BYTES("\"error\":\"empty\"}")))
        die("the node says %.*s", BYTES_ARG(line));
    return true;
}

void gmq_popped_id(struct bytes line, char *id, size_t room)
{
    static const char mark[] = "\"id\":\"";
    const char *at = memmem(line.at, line.len, mark, sizeof(mark) - 1);
    const char *end;

    if (!at)
        die("no id in %.*s", BYTES_ARG(line));
    at += sizeof(mark) - 1;
    end = memchr(at, '"', (size_t)(line.at + line.len - at));
    if (!end || (size_t)(end - at) >= room)
        die("a strange id in %.*s", BYTES_ARG(line));
    memcpy(id, at, (size_t)(end - at));
    id[end - at] = '\0';
}
