#include "conf/yaml_items.h"

#include <stdlib.h>
#include <string.h>

static char *copy(struct bytes text)
{
    char *copied = strndup(text.at, text.len);

    if (!copied)
        abort();
    return copied;
}

struct yaml_item *yaml_items_add(struct yaml_items *items, enum yaml_item_kind kind,
                                 struct bytes path)
{
    struct yaml_item *item;

    items->at = reallocarray(items->at, items->count + 1, sizeof(*items->at));
    if (!items->at)
        abort();
    item = &items->at[items->count++];
    *item = (struct yaml_item){.kind = kind, .path = copy(path)};
    return item;
}

void yaml_item_set_text(struct yaml_item *item, struct bytes text)
{
    item->text = copy(text);
}

void yaml_items_fini(struct yaml_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        free(items->at[i].path);
        free(items->at[i].text);
    }
    free(items->at);
    *items = (struct yaml_items){NULL, 0};
}
