/* A YAML file as a flat list: the path of each key, its text, where it stands.
 *
 *   store:
 *     redis: unix:/run/r.sock   ->  "store" SECTION, "store.redis" TEXT "unix:/run/r.sock"
 *
 *   topics:                   ->  "topics" LIST
 *     - name: mail            ->  row 1: "topics" SECTION, "topics.name" TEXT "mail"
 *     - sms                   ->  row 2: "topics" TEXT "sms"
 */
#ifndef DUEQ_CONF_YAML_ITEMS_H
#define DUEQ_CONF_YAML_ITEMS_H

#include <stddef.h>

#include "base/bytes.h"

enum yaml_item_kind { ITEM_TEXT, ITEM_NOTHING, ITEM_SECTION, ITEM_LIST, ITEM_OTHER };

struct yaml_mark {
    unsigned line, column; /* from 1 */
};

struct yaml_item {
    enum yaml_item_kind kind;
    char *path;
    char *text;   /* TEXT: the value. OTHER: "an alias". Else NULL */
    unsigned row; /* which of the file's rows it is in, from 1; 0: in no list */
    struct yaml_mark key, value;
};

struct yaml_items {
    struct yaml_item *at;
    size_t count;
};

/* At the end, with this path and without a text; valid until the next one. */
struct yaml_item *yaml_items_add(struct yaml_items *items, enum yaml_item_kind kind,
                                 struct bytes path);

/* Gives it a copy. */
void yaml_item_set_text(struct yaml_item *item, struct bytes text);

void yaml_items_fini(struct yaml_items *items);

#endif
