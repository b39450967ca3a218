/* Mistakes in a configuration, collected so that an operator sees all of them at once.
 *
 * Quoted keys and values come from outside: control characters are escaped, and the list has a
 * limit.
 */
#ifndef DUEQ_CONF_ERRORS_H
#define DUEQ_CONF_ERRORS_H

#include "base/buf.h"

#define CONF_ERRORS_MAX 100 /* after that only the count grows */

struct conf_errors {
    struct buf lines; /* one a line, each with its newline */
    unsigned count;
};

enum conf_origin { FROM_DEFAULT, FROM_FILE, FROM_SET };

/* Where a value was written. */
struct conf_place {
    enum conf_origin origin;
    const char *file; /* FROM_FILE */
    unsigned line;    /* FROM_FILE, from 1; 0: the file as a whole */
    unsigned column;  /* in characters, from 1 */
};

void conf_errors_init(struct conf_errors *errors);
void conf_errors_fini(struct conf_errors *errors);

/* `key` may be NULL. Gives "file:line:column: key: message", "--set key: message" or
 * "key: message". */
void conf_errors_add(struct conf_errors *errors, const struct conf_place *place,
                     const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* All lines, terminated; borrowed until the next change. */
const char *conf_errors_text(struct conf_errors *errors);

#endif
