#include "node/store/redis/command.h"

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
