/* Reading JSON where it lies: is it JSON, and what is in it? Nothing is allocated, nothing is
 * built.
 *
 * json_check() makes one pass. Text that passes is RFC 8259 to the letter, in UTF-8, and every
 * string in it can be written as UTF-8; a walk over such text checks nothing again.
 */
#ifndef DUEQ_PROTOCOL_JSON_READ_H
#define DUEQ_PROTOCOL_JSON_READ_H

#include <stdbool.h>

#include "base/bytes.h"

#define JSON_DEPTH_MAX 64 /* objects and lists within each other */

enum json_fault {
    JSON_FAULT_NONE,
    JSON_FAULT_SYNTAX,    /* it is not JSON */
    JSON_FAULT_UTF8,      /* a string is not UTF-8 */
    JSON_FAULT_SURROGATE, /* half a character: \ud800 without its other half */
    JSON_FAULT_DEPTH,     /* nested deeper than JSON_DEPTH_MAX */
};

/* Checks one value with white space around it. Returns the first fault; nothing behind it was
 * looked at. */
enum json_fault json_check(struct bytes text);

/* The same; `*at_byte` is about where the fault is, counted from 0; untouched without a fault.
 */
enum json_fault json_check_at(struct bytes text, size_t *at_byte);

/* Walking over JSON where it lies: no tree, no copy; a value is the run of bytes it is written
 * with. Right for what json_check() has passed, harmless (never outside of the bytes, always
 * at an end) for anything else.
 *
 *   struct json_walk walk = json_walk_into(object);
 *   while (json_walk_member(&walk, &name, &value))
 *       ...
 */

enum json_kind {
    JSON_KIND_NONE, /* no value at all: no bytes */
    JSON_KIND_NULL,
    JSON_KIND_BOOL,
    JSON_KIND_NUMBER,
    JSON_KIND_STRING,
    JSON_KIND_LIST,
    JSON_KIND_OBJECT,
};

enum json_kind json_kind_of(struct bytes value);

struct json_walk {
    const char *at;
    const char *end;
    bool has_begun;
};

/* Of an object or a list; anything else has no items. */
struct json_walk json_walk_into(struct bytes container);

/* The next item, false at the end. `name` is a string with its quotes. */
bool json_walk_member(struct json_walk *walk, struct bytes *name, struct bytes *value);
bool json_walk_element(struct json_walk *walk, struct bytes *value);

/* The values of an object's members with these names, in any case, as Go reads them: unknown
 * ones are ignored, of two equal ones the last counts. No bytes: there is no such member, or
 * it is null. The names in the object are unescaped in place. */
void json_pick(struct bytes object, const char *const *names, struct bytes *values,
               unsigned count);

/* The text of a string that json_check() has passed. Escapes are resolved in place, so the
 * bytes must be the caller's to change, and a string with escapes is unescaped only once. */
struct bytes json_unescape(struct bytes string);

/* White space between values. */
static inline bool json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Without the white space around it: the value itself, of a text that json_check() has passed.
 */
struct bytes json_trim(struct bytes text);

/* A character that stands for itself in a string and takes one byte. */
static inline bool json_is_plain(char c)
{
    unsigned char u = (unsigned char)c;

    return u >= 0x20 && u < 0x80 && u != '"' && u != '\\';
}

/* The number of plain characters at `at`; and the next quote or backslash, or `end`. Made for
 * long runs: the inline forms below settle an empty run themselves. */
size_t json_count_plain_run(const char *at, const char *end);
const char *json_find_mark_behind(const char *at, const char *end);

static inline size_t json_count_plain(const char *at, const char *end)
{
    return at < end && json_is_plain(*at) ? json_count_plain_run(at, end) : 0;
}

static inline const char *json_find_mark(const char *at, const char *end)
{
    return at < end && (*at == '"' || *at == '\\') ? at : json_find_mark_behind(at, end);
}

#endif
