/* Reads a YAML file into a flat list of items (yaml_items.h).
 *
 * Only what a configuration needs: one document, mappings, scalars, lists that are in no other
 * list. Everything else (aliases, tags, a list in a row) comes as OTHER, with its name as
 * text, for a message. The reader knows no keys. Quoted or plain makes no difference, but that
 * a plain `null`, `~` or nothing is NOTHING.
 */
#ifndef DUEQ_CONF_YAML_H
#define DUEQ_CONF_YAML_H

#include "base/bytes.h"
#include "base/status.h"
#include "conf/yaml_items.h"

#define YAML_ITEMS_MAX     2000
#define YAML_DEPTH_MAX     8
#define YAML_KEY_BYTES_MAX 100

/* Why the reader could not go on. */
struct yaml_problem {
    char message[200];
    struct yaml_mark mark;
};

/* Fills `items`, the caller's to yaml_items_fini() in any case. BAD_CONFIG: `problem` says
 * why, and the items in front of it are there. */
enum status yaml_read(struct bytes text, struct yaml_items *items,
                      struct yaml_problem *problem) MUST_CHECK;

#endif
