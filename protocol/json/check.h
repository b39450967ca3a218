/* Is this text JSON? One pass, nothing allocated, nothing built.
 *
 * What passes is RFC 8259 to the letter, in UTF-8, and every string in it can be written as
 * UTF-8; so whoever walks over it (walk.h) need not doubt it again.
 */
#ifndef DUEQ_PROTOCOL_JSON_CHECK_H
#define DUEQ_PROTOCOL_JSON_CHECK_H

#include "base/bytes.h"

#define JSON_DEPTH_MAX 64 /* objects and lists within each other */

enum json_fault {
    JSON_FAULT_NONE,
    JSON_FAULT_SYNTAX,    /* it is not JSON */
    JSON_FAULT_UTF8,      /* a string is not UTF-8 */
    JSON_FAULT_SURROGATE, /* half a character: \ud800 without its other half */
    JSON_FAULT_DEPTH,     /* nested deeper than JSON_DEPTH_MAX */
};

/* One value with white space around it. The first fault counts: what follows was not seen. */
enum json_fault json_check(struct bytes text);

/* The same; `*at_byte` is about where the fault is, counted from 0: untouched without one. */
enum json_fault json_check_at(struct bytes text, size_t *at_byte);

#endif
