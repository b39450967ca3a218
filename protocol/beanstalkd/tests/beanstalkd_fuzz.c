/* Any bytes through the lines, the commands and their bodies.
 *
 * The first byte of the input seeds how the rest is cut into pieces. However it is cut, the
 * same lines and bodies come out; and whatever a command says is within beanstalkd's limits.
 */
#include <assert.h>
#include <string.h>

#include "node/queue/queue.h"
#include "protocol/beanstalkd/codec.h"

#define BODY_MAX 300

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* As a client does: lines, and behind a put so many bytes. */
struct reader {
    struct beanstalkd_lines lines;
    size_t awaited; /* bytes of a body and its end */
};

static void check(const struct beanstalkd_command *command)
{
    assert(command->verb < BEANSTALKD_VERBS);
    assert(!command->tube.len || topic_name_is_valid(command->tube));
    assert(command->tube.len <= BEANSTALKD_TUBE_MAX);
    assert(command->body_bytes <= BODY_MAX);
    assert(command->wait_s >= -1 && command->wait_s <= INT32_MAX);
}

static size_t take_body(struct reader *reader, struct bytes input, struct buf *story)
{
    size_t n = reader->awaited;

    if (input.len < n)
        return 0;
    buf_printf(story, "[%.*s]", (int)n, input.at);
    reader->awaited = 0;
    return n;
}

static void take_line(struct reader *reader, struct bytes line, struct buf *story)
{
    struct beanstalkd_command command;
    enum beanstalkd_parsed parsed = beanstalkd_parse(line, BODY_MAX, &command);

    assert(line.len + 2 <= BEANSTALKD_LINE_MAX);
    buf_printf(story, "%d %d ", (int)parsed, (int)command.verb);
    buf_add_bytes(story, line);
    if (parsed != BEANSTALKD_PARSED)
        return;
    check(&command);
    if (command.verb == BEANSTALKD_PUT)
        reader->awaited = command.body_bytes + 2;
}

static size_t take(struct reader *reader, struct bytes input, struct buf *story)
{
    enum beanstalkd_line got;
    struct bytes line;
    size_t used;

    if (reader->awaited)
        return take_body(reader, input, story);
    got = beanstalkd_next_line(&reader->lines, input, &line, &used);
    assert(used <= input.len);
    if (got == BEANSTALKD_LINE_LONG)
        buf_add_char(story, '!');
    if (got == BEANSTALKD_LINE_WHOLE)
        take_line(reader, line, story);
    return used;
}

/* A seed of 0 does not cut. */
static void read_all(struct bytes stream, unsigned seed, struct buf *story)
{
    struct reader reader = {0};
    size_t from = 0, to = 0, used;

    while (to < stream.len) {
        size_t left = stream.len - to;

        seed = seed * 1103515245 + 12345 * (seed != 0);
        to += seed ? 1 + (seed >> 16) % (left < 40 ? left : 40) : left;
        do {
            used = take(&reader, bytes_of(stream.at + from, to - from), story);
            from += used;
        } while (used && from < to);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct buf whole = BUF_INIT, cut = BUF_INIT;
    struct bytes stream;

    if (size < 2)
        return 0;
    stream = bytes_of((const char *)data + 1, size - 1);
    read_all(stream, 0, &whole);
    read_all(stream, 1 + data[0], &cut);
    assert(bytes_equal(buf_bytes(&whole), buf_bytes(&cut)));
    buf_fini(&whole);
    buf_fini(&cut);
    return 0;
}
