#include "conf/draft.h"

#include <string.h>

void draft_complain_unexpected(struct conf_draft *d, const struct conf_place *place,
                               const struct conf_key *key, const char *got)
{
    struct buf expected = BUF_INIT;

    conf_key_print_expected(key, &expected);
    conf_errors_add(d->errors, place, key->path, "expected %s%s%s", buf_text(&expected),
                    got ? ", got " : "", got ? got : "");
    buf_fini(&expected);
}

/* A secret is not shown, nor what stands where people write a password into an address. */
void draft_complain_value(struct conf_draft *d, const struct conf_place *place,
                          const struct conf_key *key, const char *text)
{
    const char *goes_to = key->kind->password_goes_to;
    const char *login_end = goes_to ? strrchr(text, '@') : NULL;
    struct buf got = BUF_INIT;

    if (login_end)
        text = login_end;
    buf_printf(&got, "\"%s%.60s%s\"", login_end ? "***" : "", text,
               strlen(text) > 60 ? "..." : "");
    if (login_end)
        buf_printf(&got, "; a password goes to %s", goes_to);
    if (key->kind->is_addresses && strpbrk(text, " \t"))
        buf_add_text(&got, "; no blanks between the addresses");
    draft_complain_unexpected(d, place, key, key->is_secret ? NULL : buf_text(&got));
    buf_fini(&got);
}

void draft_complain_unknown(struct conf_draft *d, const struct conf_place *place,
                            const char *path)
{
    const struct conf_key *nearest = conf_key_nearest(path);

    if (nearest)
        conf_errors_add(d->errors, place, path, "unknown key; did you mean %s?", nearest->path);
    else
        conf_errors_add(d->errors, place, path, "unknown key");
}

struct draft_key *draft_state(struct conf_draft *d, const struct conf_key *key)
{
    size_t i = conf_key_index(key);

    return conf_key_is_of_row(key) ? &d->rows[d->conf->topics.count - 1].keys[i] : &d->keys[i];
}

static void *field_of(struct conf_draft *d, const struct conf_key *key)
{
    struct conf_topics *topics = &d->conf->topics;

    return conf_key_field(key, conf_key_is_of_row(key) ? (void *)&topics->at[topics->count - 1]
                                                       : d->conf);
}

void draft_set(struct conf_draft *d, const struct conf_place *place, const struct conf_key *key,
               const char *text)
{
    bool ok = key->kind->set(key, text, field_of(d, key));

    *draft_state(d, key) = (struct draft_key){*place, !ok};
    if (!ok)
        draft_complain_value(d, place, key, text);
}
