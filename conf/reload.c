#include "conf/conf.h"

#include <assert.h>
#include <string.h>

#include "conf/table.h"

/* Values are compared as they are written: one rule for all kinds. */
static bool is_same(const struct conf_key *key, const struct conf *a, const struct conf *b)
{
    struct buf text_a = BUF_INIT, text_b = BUF_INIT;
    bool same;

    key->kind->print(key, conf_key_value(key, a), &text_a);
    key->kind->print(key, conf_key_value(key, b), &text_b);
    same = bytes_equal(buf_bytes(&text_a), buf_bytes(&text_b));
    buf_fini(&text_a);
    buf_fini(&text_b);
    return same;
}

static void swap(const struct conf_key *key, struct conf *a, struct conf *b)
{
    void *field_a = conf_key_field(key, a), *field_b = conf_key_field(key, b);
    char kept[sizeof(struct conf_address)];

    assert(key->kind->bytes <= sizeof(kept));
    memcpy(kept, field_a, key->kind->bytes);
    memcpy(field_a, field_b, key->kind->bytes);
    memcpy(field_b, kept, key->kind->bytes);
}

void conf_reload(struct conf *running, struct conf *fresh, struct buf *taken,
                 struct buf *need_restart)
{
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        struct buf *list = key->is_reloadable ? taken : need_restart;

        if (is_same(key, running, fresh))
            continue;
        buf_printf(list, "%s%s", list->len ? ", " : "", key->path);
        if (key->is_reloadable)
            swap(key, running, fresh);
    }
}
