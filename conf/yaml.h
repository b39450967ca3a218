/* Reads a YAML file into a flat list of items.
 *
 * It takes what a configuration needs: one document, mappings, scalars, lists that are in no
 * other list. Anything else (an alias, a tag, a list in a row) is an item OTHER, with its name
 * as text, for a message. Quoted and plain scalars are the same, except that a plain `null`,
 * `~` or empty value is NOTHING. The reader knows no keys.
 */
#ifndef DUEQ_CONF_YAML_H
#define DUEQ_CONF_YAML_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"

/* An item has the path of a key, its text, and its place in the file.
 *
 *   store:
 *     redis: unix:/run/r.sock   ->  "store" SECTION, "store.redis" TEXT "unix:/run/r.sock"
 *
 *   topics:                   ->  "topics" LIST
 *     - name: mail            ->  row 1: "topics" SECTION, "topics.name" TEXT "mail"
 *     - sms                   ->  row 2: "topics" TEXT "sms"
 */

enum yaml_item_kind { ITEM_TEXT, ITEM_NOTHING, ITEM_SECTION, ITEM_LIST, ITEM_OTHER };

struct yaml_mark {
    unsigned line, column; /* from 1 */
};

struct yaml_item {
    enum yaml_item_kind kind;
    char *path;
    char *text;   /* TEXT: the value. OTHER: "an alias". Else NULL */
    unsigned row; /* number of its row, counted from 1 through the file; 0: in no list */
    struct yaml_mark key, value;
};

struct yaml_items {
    struct yaml_item *at;
    size_t count;
};

void yaml_items_fini(struct yaml_items *items);

#define YAML_ITEMS_MAX     2000
#define YAML_KEY_BYTES_MAX 100

/* Why and where the reader stopped. */
struct yaml_problem {
    char message[200];
    struct yaml_mark mark;
};

/* Fills `items`, which the caller ends with yaml_items_fini() in any case. BAD_CONFIG:
 * `problem` says why, and `items` has the items in front of it. */
enum status yaml_read(struct bytes text, struct yaml_items *items,
                      struct yaml_problem *problem) MUST_CHECK;

#endif
