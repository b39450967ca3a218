#include "protocol/beanstalkd/codec.h"

#include <string.h>

#include "node/queue/queue.h"

/* ---- lines ---- */

/* The length of the first line with its end; 0: it does not end here. */
static size_t line_bytes(struct bytes input)
{
    const char *at = input.at, *end = input.at + input.len;

    while (at < end && (at = memchr(at, '\r', (size_t)(end - at)))) {
        if (++at < end && *at == '\n')
            return (size_t)(at + 1 - input.at);
    }
    return 0;
}

/* All but a CR at the end, whose LF may follow. */
static size_t droppable(struct bytes input)
{
    return input.len && input.at[input.len - 1] == '\r' ? input.len - 1 : input.len;
}

static enum beanstalkd_line drop(struct beanstalkd_lines *lines, struct bytes input,
                                 size_t *used)
{
    size_t len = line_bytes(input);

    lines->is_dropping = len == 0;
    *used = len ? len : droppable(input);
    return len ? BEANSTALKD_LINE_LONG : BEANSTALKD_LINE_MORE;
}

enum beanstalkd_line beanstalkd_next_line(struct beanstalkd_lines *lines, struct bytes input,
                                          struct bytes *line, size_t *used)
{
    size_t looked = input.len < BEANSTALKD_LINE_MAX ? input.len : BEANSTALKD_LINE_MAX;
    size_t len;

    *used = 0;
    if (lines->is_dropping)
        return drop(lines, input, used);
    len = line_bytes(bytes_of(input.at, looked));
    if (len) {
        *line = bytes_of(input.at, len - 2);
        *used = len;
        return BEANSTALKD_LINE_WHOLE;
    }
    return looked < BEANSTALKD_LINE_MAX ? BEANSTALKD_LINE_MORE : drop(lines, input, used);
}

/* ---- arguments ----
 *
 * Numbers and names are read with beanstalkd's own tolerance, see doc/beanstalkd.md. */

static void skip_spaces(struct bytes *rest)
{
    while (rest->len && *rest->at == ' ')
        *rest = bytes_of(rest->at + 1, rest->len - 1);
}

/* Digits off the front, at least one. False: none, or more than `max`. */
static bool take_digits(struct bytes *rest, uint64_t max, uint64_t *number)
{
    uint64_t n = 0;
    size_t i = 0;

    for (; i < rest->len && rest->at[i] >= '0' && rest->at[i] <= '9'; i++) {
        if (__builtin_mul_overflow(n, (uint64_t)10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(rest->at[i] - '0'), &n) || n > max)
            return false;
    }
    *rest = bytes_of(rest->at + i, rest->len - i);
    *number = n;
    return i > 0;
}

static bool take_u32(struct bytes *rest, uint32_t *number)
{
    uint64_t n;

    skip_spaces(rest);
    if (!take_digits(rest, UINT32_MAX, &n))
        return false;
    *number = (uint32_t)n;
    return true;
}

/* The two numbers that beanstalkd reads as C does, with a sign and whatever behind them, and of
 * which it keeps 32 bits. False: too large for 64. `is_there`: there is a number at all. */
static bool take_loosely(struct bytes *rest, uint64_t max, uint32_t *number, bool *is_there)
{
    bool is_negative = false;
    uint64_t n = 0;

    while (rest->len && (*rest->at == ' ' || (*rest->at >= '\t' && *rest->at <= '\r')))
        *rest = bytes_of(rest->at + 1, rest->len - 1);
    if (rest->len && (*rest->at == '-' || *rest->at == '+')) {
        is_negative = *rest->at == '-';
        *rest = bytes_of(rest->at + 1, rest->len - 1);
    }
    *is_there = rest->len && *rest->at >= '0' && *rest->at <= '9';
    if (*is_there && !take_digits(rest, max, &n))
        return false;
    rest->len = 0;
    *number = (uint32_t)(is_negative ? 0 - n : n);
    return true;
}

static bool is_tube_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (c && strchr("-+/;.$_()", c));
}

/* Topics may have a ':', too, and tubes may not. */
static bool is_tube(struct bytes name)
{
    return topic_name_is_valid(name) && !memchr(name.at, ':', name.len);
}

/* Each takes its arguments off `rest`; what is left then is too much. */

static bool read_NONE(struct bytes *rest, struct beanstalkd_command *command)
{
    (void)rest;
    (void)command;
    return true;
}

static bool read_ANY(struct bytes *rest, struct beanstalkd_command *command)
{
    (void)command;
    rest->len = 0;
    return true;
}

static bool read_ID(struct bytes *rest, struct beanstalkd_command *command)
{
    skip_spaces(rest);
    return take_digits(rest, UINT64_MAX, &command->id);
}

static bool read_TUBE(struct bytes *rest, struct beanstalkd_command *command)
{
    command->tube = *rest;
    rest->len = 0;
    return is_tube(command->tube);
}

static bool read_PUT(struct bytes *rest, struct beanstalkd_command *command)
{
    return take_u32(rest, &command->priority) && take_u32(rest, &command->delay_s) &&
           take_u32(rest, &command->ttr_s) && take_u32(rest, &command->body_bytes);
}

static bool read_RELEASE(struct bytes *rest, struct beanstalkd_command *command)
{
    return read_ID(rest, command) && take_u32(rest, &command->priority) &&
           take_u32(rest, &command->delay_s);
}

static bool read_BURY(struct bytes *rest, struct beanstalkd_command *command)
{
    return read_ID(rest, command) && take_u32(rest, &command->priority);
}

static bool read_WAIT(struct bytes *rest, struct beanstalkd_command *command)
{
    uint32_t seconds;
    bool ignored;

    if (!take_loosely(rest, INT64_MAX, &seconds, &ignored))
        return false;
    command->wait_s = seconds > INT32_MAX ? -1 : (int64_t)seconds;
    return true;
}

static bool read_BOUND(struct bytes *rest, struct beanstalkd_command *command)
{
    bool is_there;

    return take_loosely(rest, UINT64_MAX, &command->bound, &is_there) && is_there;
}

/* The name needs no space before it, and ends where its characters end. */
static bool read_PAUSE(struct bytes *rest, struct beanstalkd_command *command)
{
    size_t len = 0;

    skip_spaces(rest);
    while (len < rest->len && is_tube_char(rest->at[len]))
        len++;
    command->tube = bytes_of(rest->at, len);
    *rest = bytes_of(rest->at + len, rest->len - len);
    command->is_read = take_u32(rest, &command->delay_s) && rest->len == 0;
    return command->is_read && is_tube(command->tube);
}

/* ---- commands ---- */

static const struct {
    struct bytes front;
    bool (*read)(struct bytes *rest, struct beanstalkd_command *command);
} rows[BEANSTALKD_VERBS] = {
#define X(name, front, arguments) {{front, sizeof(front) - 1}, read_##arguments},
    BEANSTALKD_COMMANDS(X)
#undef X
};

static bool begins_with(struct bytes line, struct bytes front)
{
    return line.len >= front.len && memcmp(line.at, front.at, front.len) == 0;
}

static enum beanstalkd_verb verb_of(struct bytes line)
{
    unsigned verb = 0;

    while (verb < BEANSTALKD_VERBS && !begins_with(line, rows[verb].front))
        verb++;
    return (enum beanstalkd_verb)verb;
}

enum beanstalkd_parsed beanstalkd_parse(struct bytes line, size_t body_max_bytes,
                                        struct beanstalkd_command *command)
{
    struct bytes rest;
    size_t front;

    *command = (struct beanstalkd_command){.verb = BEANSTALKD_VERBS, .wait_s = -1};
    if (line.len && memchr(line.at, '\0', line.len))
        return BEANSTALKD_BAD_FORMAT;
    command->verb = verb_of(line);
    if (command->verb == BEANSTALKD_VERBS)
        return BEANSTALKD_UNKNOWN_COMMAND;
    front = rows[command->verb].front.len;
    rest = bytes_of(line.at + front, line.len - front);
    if (!rows[command->verb].read(&rest, command))
        return BEANSTALKD_BAD_FORMAT;
    command->is_read = true;
    if (command->verb == BEANSTALKD_PUT && command->body_bytes > body_max_bytes)
        return BEANSTALKD_JOB_TOO_BIG; /* whatever is behind the number */
    return rest.len ? BEANSTALKD_BAD_FORMAT : BEANSTALKD_PARSED;
}

/* ---- replies ---- */

static void end_line(struct buf *to)
{
    buf_add(to, "\r\n", 2);
}

void beanstalkd_reply(struct buf *to, const char *word)
{
    buf_add_text(to, word);
    end_line(to);
}

static void add_number(struct buf *to, uint64_t number)
{
    if (number <= INT64_MAX)
        buf_add_number(to, (int64_t)number);
    else
        buf_printf(to, "%llu", (unsigned long long)number);
}

static void add_word_and_number(struct buf *to, const char *word, uint64_t number)
{
    buf_add_text(to, word);
    buf_add_char(to, ' ');
    add_number(to, number);
}

void beanstalkd_reply_number(struct buf *to, const char *word, uint64_t number)
{
    add_word_and_number(to, word, number);
    end_line(to);
}

void beanstalkd_reply_tube(struct buf *to, const char *word, struct bytes tube)
{
    buf_add_text(to, word);
    buf_add_char(to, ' ');
    buf_add_bytes(to, tube);
    end_line(to);
}

static void add_data(struct buf *to, struct bytes data)
{
    buf_add_char(to, ' ');
    add_number(to, data.len);
    end_line(to);
    buf_add_bytes(to, data);
    end_line(to);
}

void beanstalkd_reply_job(struct buf *to, const char *word, uint64_t number, struct bytes body)
{
    add_word_and_number(to, word, number);
    add_data(to, body);
}

void beanstalkd_reply_data(struct buf *to, struct bytes yaml)
{
    buf_add_text(to, "OK");
    add_data(to, yaml);
}

/* ---- YAML ---- */

void beanstalkd_yaml_begin(struct buf *to)
{
    buf_add_text(to, "---\n");
}

static void add_key(struct buf *to, const char *key)
{
    buf_add_text(to, key);
    buf_add_text(to, ": ");
}

void beanstalkd_yaml_number(struct buf *to, const char *key, int64_t number)
{
    add_key(to, key);
    buf_add_number(to, number);
    buf_add_char(to, '\n');
}

void beanstalkd_yaml_word(struct buf *to, const char *key, const char *word)
{
    add_key(to, key);
    buf_add_text(to, word);
    buf_add_char(to, '\n');
}

void beanstalkd_yaml_text(struct buf *to, const char *key, struct bytes text)
{
    add_key(to, key);
    buf_add_char(to, '"');
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];

        if (c == '"' || c == '\\')
            buf_add_char(to, '\\');
        buf_add_char(to, c >= 0 && c < ' ' ? ' ' : c);
    }
    buf_add_text(to, "\"\n");
}

void beanstalkd_yaml_item(struct buf *to, struct bytes name)
{
    buf_add_text(to, "- ");
    buf_add_bytes(to, name);
    buf_add_char(to, '\n');
}
