#include "node/store/redis/wire/flight.h"

#include <assert.h>
#include <string.h>

static struct redis_call *call_of(struct list *link)
{
    return CONTAINER_OF(link, struct redis_call, link);
}

void redis_flight_init(struct redis_flight *f, int64_t timeout_ms)
{
    list_init(&f->calls);
    f->timeout_ms = timeout_ms;
}

bool redis_flight_is_empty(const struct redis_flight *f)
{
    return list_is_empty(&f->calls);
}

void redis_flight_add(struct redis_flight *f, struct redis_call *call, int64_t now_mono_ms)
{
    call->sent_mono_ms = now_mono_ms;
    call->deadline_mono_ms = now_mono_ms + f->timeout_ms;
    call->is_late = false;
    list_append(&f->calls, &call->link);
}

struct redis_call *redis_flight_take(struct redis_flight *f)
{
    assert(!redis_flight_is_empty(f));
    return call_of(list_pop(&f->calls));
}

int64_t redis_flight_since(const struct redis_flight *f)
{
    assert(!redis_flight_is_empty(f));
    return CONTAINER_OF(f->calls.next, struct redis_call, link)->sent_mono_ms;
}

int64_t redis_flight_left_ms(struct redis_flight *f, int64_t now_mono_ms)
{
    struct redis_call *oldest;

    assert(!redis_flight_is_empty(f));
    oldest = call_of(list_first(&f->calls));
    if (oldest->deadline_mono_ms <= now_mono_ms && !oldest->is_late) {
        oldest->is_late = true;
        oldest->deadline_mono_ms = now_mono_ms + f->timeout_ms / 4;
    }
    return oldest->deadline_mono_ms - now_mono_ms;
}

void redis_flight_fail(struct redis_flight *f)
{
    struct list lost, *link;

    list_init(&lost);
    list_append_all(&lost, &f->calls);
    while ((link = list_pop(&lost)))
        call_of(link)->on_reply(call_of(link), NULL);
}

/* ---- a command ---- */

#define LINE_BYTES 23 /* a mark, twenty digits, the end */

static char *put(char *at, const char *bytes, size_t len)
{
    memcpy(at, bytes, len);
    return at + len;
}

static unsigned count_digits(size_t number)
{
    unsigned count = 1;

    while ((number /= 10))
        count++;
    return count;
}

static char *put_line(char *at, char mark, size_t number)
{
    char *end = at + 1 + count_digits(number), *digit = end;

    *at = mark;
    do
        *--digit = (char)('0' + number % 10);
    while ((number /= 10));
    return put(end, "\r\n", 2);
}

void redis_command_write(struct buf *out, int argc, const char *const *argv, const size_t *lens)
{
    size_t room = LINE_BYTES;
    char *at;

    for (int i = 0; i < argc; i++)
        room += LINE_BYTES + lens[i] + 2;
    at = put_line(buf_reserve(out, room), '*', (size_t)argc);
    for (int i = 0; i < argc; i++) {
        at = put_line(at, '$', lens[i]);
        at = put(at, argv[i], lens[i]);
        at = put(at, "\r\n", 2);
    }
    out->len = (size_t)(at - out->at);
}
