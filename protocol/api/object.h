/* Reads a JSON object by a table of its members. Pure.
 *
 * Strict, because a misspelt member that is ignored is a job that runs at the wrong time: what
 * is not known, given twice, of another type or out of its range is refused, and the text
 * names the member. Nothing is copied: strings are unescaped where they lie, so an object can
 * be read once, and its bytes must be the caller's to change.
 */
#ifndef DUEQ_PROTOCOL_API_OBJECT_H
#define DUEQ_PROTOCOL_API_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "protocol/json/read.h"

/* Why something is refused, for people. Not always UTF-8: it may quote the client. */
struct api_why {
    char text[200];
};

/* Writes the text, and returns `status`. */
enum status api_because(struct api_why *why, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct object_rule {
    const char *name;
    enum json_kind kind; /* of a value that is given, and is not null */
    int64_t min;         /* of a NUMBER, which is always a whole one */
    int64_t max;
    bool may_be_null;
    bool may_be_0; /* of a moment: 0 has a meaning of its own */
};

#define OBJECT_NUMBER(member, smallest, largest)                                        \
    {                                                                                   \
        .name = (member), .kind = JSON_KIND_NUMBER, .min = (smallest), .max = (largest) \
    }

/* A time in milliseconds since 1970; a smaller number looks like seconds. */
#define OBJECT_MOMENT(member, largest) OBJECT_NUMBER(member, OBJECT_MOMENT_MIN, largest)
#define OBJECT_MOMENT_OR_0(member, largest)                                   \
    {                                                                         \
        .name = (member), .kind = JSON_KIND_NUMBER, .min = OBJECT_MOMENT_MIN, \
        .max = (largest), .may_be_0 = true                                    \
    }
#define OBJECT_MOMENT_MIN INT64_C(100000000000) /* in 1973; as seconds, in 5138 */

struct object_member {
    bool is_given;
    bool is_null;
    bool is_true;       /* BOOL */
    struct bytes text;  /* STRING: unescaped */
    int64_t number;     /* NUMBER */
    struct bytes value; /* LIST, OBJECT: as it stands there */
};

/* Fills in `members`, zeroed and in the order of the rules. `where` stands before a member's
 * name in messages: "" or "backoff.". BAD_REQUEST or OUT_OF_RANGE. */
enum status object_read(struct bytes object, const char *where, const struct object_rule *rules,
                        unsigned count, struct object_member *members,
                        struct api_why *why) MUST_CHECK;

/* The index of the text among the words (NULL: a gap); else BAD_REQUEST, and `why` names all
 * words. */
enum status object_word(struct bytes text, const char *name, const char *const *words,
                        unsigned count, unsigned *index, struct api_why *why) MUST_CHECK;

#endif
