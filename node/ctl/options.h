/* Options as tables: the same rows parse the command line, print the help, complete words in
 * the shell and name the members of a request, so that the four agree.
 *
 * A command names its rows by an enum in their order: arguments.own[PUSH_DELAY].number.
 */
#ifndef DUEQ_NODE_CTL_OPTIONS_H
#define DUEQ_NODE_CTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "node/ctl/ctl.h"

enum option_kind {
    OPTION_FLAG,     /* takes no value */
    OPTION_TEXT,     /* any */
    OPTION_FILE,     /* a path */
    OPTION_COUNT,    /* digits: number */
    OPTION_SIZE,     /* number: bytes */
    OPTION_DURATION, /* number: ms */
    OPTION_MOMENT,   /* number: ms since 1970 */
    OPTION_PAST,     /* the same; or a duration, so long ago by this machine's clock */
    OPTION_CHOICE,   /* one of the row's choices: number is its index */
    OPTION_SWITCH,   /* the same, of "false" and "true" */
    OPTION_CHOICES,  /* some of them with commas between: number is a mask */
    OPTION_BACKOFF,  /* times.h; its text is to be read again */
};

/* A table ends with a row without a name. */
struct option_row {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    enum option_kind kind;
    const char *value;          /* what the help calls it; NULL for a flag */
    const char *text;           /* one line */
    int64_t min, max;           /* of COUNT and DURATION */
    const char *const *choices; /* of CHOICE, SWITCH and CHOICES; ends with NULL */
    const char *member;         /* of the request, as the API calls it; NULL: of none */
};

struct option_value {
    bool is_given;
    const char *text;
    int64_t number;
};

#define OPTIONS_MAX 16

/* The longest delay, ttl and the like: as the API has it, 3650 days. */
#define YEARS_10_MS INT64_C(315360000000)

/* The options every command takes, in the order of options_common. */
enum {
    COMMON_URL,
    COMMON_CA,
    COMMON_CERT,
    COMMON_KEY,
    COMMON_TOKEN_FILE,
    COMMON_TIMEOUT,
    COMMON_JSON,
    COMMON_HELP,
    COMMON_COUNT
};

extern const struct option_row options_common[];

/* The options that stand in front of a command only. */
extern const struct option_row options_front[];

struct command;

struct arguments {
    const struct command *command; /* set when it runs */
    struct option_value common[COMMON_COUNT];
    struct option_value own[OPTIONS_MAX];
    char **words; /* what is no option, in order */
    int word_count;
};

/* Reads a value of the row's kind; says what is wrong with it, `dashes` in front of the name.
 */
enum ctl_exit option_read(const struct option_row *row, const char *dashes, const char *text,
                          struct option_value *value);

/* Reads the options of `rows` and the common ones. In front of a command (`is_front`) it stops
 * at the first word, else options and words may mix. `name` of the command is for messages,
 * "" when there is none yet. Says what is wrong; what was given before stays in `arguments`. */
enum ctl_exit options_parse(const struct option_row *rows, const char *name, bool is_front,
                            int argc, char **argv, struct arguments *arguments);

#endif
