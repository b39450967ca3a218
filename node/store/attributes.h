/* Attributes of a job: names with values that a client gives at the push and gets back with the
 * job. The store does not look into them.
 *
 * Packed, one behind the other: name length 1 byte, name, value length 2 bytes (big-endian),
 * value. A name comes as often as it was added. Pure; what is read may be anything.
 */
#ifndef DUEQ_NODE_STORE_ATTRIBUTES_H
#define DUEQ_NODE_STORE_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

#define ATTRIBUTES_MAX       32   /* of one job */
#define ATTRIBUTES_MAX_BYTES 4096 /* packed, all together */
#define ATTRIBUTE_NAME_MAX   255  /* bytes; at least 1 */

struct attribute {
    struct bytes name, value;
};

/* Being packed. All zero: none yet. */
struct attributes {
    unsigned count;
    size_t bytes;
    char packed[ATTRIBUTES_MAX_BYTES];
};

/* False, with nothing added: there is no room, or the name has no valid length. */
bool attributes_add(struct attributes *attributes, struct bytes name, struct bytes value);

/* Borrowed from `attributes`. */
struct bytes attributes_packed(const struct attributes *attributes);

/* Takes the first one off `left`; false at the end, or where the rest is not of this form. */
bool attributes_next(struct bytes *left, struct attribute *attribute);

/* The value of the first one with this name. */
bool attributes_find(struct bytes packed, struct bytes name, struct bytes *value);

/* Is all of it of this form, and within the limits? */
bool attributes_are_valid(struct bytes packed);

#endif
