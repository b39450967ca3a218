/* beanstalkd's protocol as bytes: where a line ends in the stream, what a command says, and how
 * replies are written. Pure: no socket, no clock.
 *
 * To add a command: a row in BEANSTALKD_COMMANDS, how its arguments are read in codec.c, and
 * its handler in commands.c.
 */
#ifndef DUEQ_PROTOCOL_BEANSTALKD_CODEC_H
#define DUEQ_PROTOCOL_BEANSTALKD_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"

#define BEANSTALKD_LINE_MAX 224 /* bytes of a command line, with its CR LF */
#define BEANSTALKD_TUBE_MAX 200

/* ---- lines ---- */

/* All zero: at the beginning of a line. */
struct beanstalkd_lines {
    bool is_dropping; /* the line is too long: its end is looked for */
};

enum beanstalkd_line {
    BEANSTALKD_LINE_MORE, /* the line has not ended */
    BEANSTALKD_LINE_WHOLE,
    BEANSTALKD_LINE_LONG, /* it has ended, and was too long */
};

/* `used` bytes of `input` are done with; the rest is to be offered again, with more behind it.
 * `line` is WHOLE's, without its end, and borrows from the input. */
enum beanstalkd_line beanstalkd_next_line(struct beanstalkd_lines *lines, struct bytes input,
                                          struct bytes *line, size_t *used);

/* ---- commands ---- */

/* clang-format off */
/*    NAME                 the line begins with      arguments */
#define BEANSTALKD_COMMANDS(X) \
    X(PUT,                 "put ",                   PUT)      \
    X(PEEK,                "peek ",                  ID)       \
    X(PEEK_READY,          "peek-ready",             NONE)     \
    X(PEEK_DELAYED,        "peek-delayed",           NONE)     \
    X(PEEK_BURIED,         "peek-buried",            NONE)     \
    X(RESERVE_TIMEOUT,     "reserve-with-timeout ",  WAIT)     \
    X(RESERVE_JOB,         "reserve-job ",           ID)       \
    X(RESERVE,             "reserve",                NONE)     \
    X(DELETE,              "delete ",                ID)       \
    X(RELEASE,             "release ",               RELEASE)  \
    X(BURY,                "bury ",                  BURY)     \
    X(KICK,                "kick ",                  BOUND)    \
    X(KICK_JOB,            "kick-job ",              ID)       \
    X(TOUCH,               "touch ",                 ID)       \
    X(STATS_JOB,           "stats-job ",             ID)       \
    X(STATS_TUBE,          "stats-tube ",            TUBE)     \
    X(STATS,               "stats",                  NONE)     \
    X(USE,                 "use ",                   TUBE)     \
    X(WATCH,               "watch ",                 TUBE)     \
    X(IGNORE,              "ignore ",                TUBE)     \
    X(LIST_TUBES_WATCHED,  "list-tubes-watched",     NONE)     \
    X(LIST_TUBE_USED,      "list-tube-used",         NONE)     \
    X(LIST_TUBES,          "list-tubes",             NONE)     \
    X(QUIT,                "quit",                   ANY)      \
    X(PAUSE_TUBE,          "pause-tube",             PAUSE)
/* clang-format on */

enum beanstalkd_verb {
#define X(name, ...) BEANSTALKD_##name,
    BEANSTALKD_COMMANDS(X)
#undef X
        BEANSTALKD_VERBS
};

struct beanstalkd_command {
    enum beanstalkd_verb verb;
    bool is_read; /* a put's numbers are right, whatever stands behind them; a pause's, whatever
                   * the name; of others: it is PARSED */
    struct bytes tube; /* borrows from the line */
    uint64_t id;
    uint32_t priority;
    uint32_t delay_s; /* of a pause: how long it lasts */
    uint32_t ttr_s;
    uint32_t body_bytes; /* without the CR LF behind the body */
    uint32_t bound;
    int64_t wait_s; /* of a reserve; -1: for ever */
};

enum beanstalkd_parsed {
    BEANSTALKD_PARSED,
    BEANSTALKD_BAD_FORMAT,
    BEANSTALKD_UNKNOWN_COMMAND,
    BEANSTALKD_JOB_TOO_BIG, /* body_bytes and their CR LF follow, and are of no use */
};

/* What the line says. Anything but PARSED is a reply, and `command` has its verb where that is
 * known, else BEANSTALKD_VERBS. */
enum beanstalkd_parsed beanstalkd_parse(struct bytes line, size_t body_max_bytes,
                                        struct beanstalkd_command *command);

/* ---- replies: each is added to `to`, whole ---- */

void beanstalkd_reply(struct buf *to, const char *word);
void beanstalkd_reply_number(struct buf *to, const char *word, uint64_t number);
void beanstalkd_reply_tube(struct buf *to, const char *word, struct bytes tube);
void beanstalkd_reply_job(struct buf *to, const char *word, uint64_t number, struct bytes body);
void beanstalkd_reply_data(struct buf *to, struct bytes yaml);

/* ---- YAML: the data of a reply ---- */

void beanstalkd_yaml_begin(struct buf *to);
void beanstalkd_yaml_number(struct buf *to, const char *key, int64_t number);
void beanstalkd_yaml_word(struct buf *to, const char *key, const char *word);
void beanstalkd_yaml_text(struct buf *to, const char *key, struct bytes text); /* quoted */
void beanstalkd_yaml_item(struct buf *to, struct bytes name);

#endif
