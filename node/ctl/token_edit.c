#include "node/ctl/token_edit.h"

#include <string.h>

#include "protocol/access/role.h"

#define NAME_FORM "a name is 1 to 64 of [A-Za-z0-9_.-]"

/* ---- new ---- */

/* As it is given; else as before. */
static void add_limit(struct buf *line, const char *name, const char *given, size_t before)
{
    if (given && strcmp(given, "0") != 0)
        buf_printf(line, " %s=%s", name, given);
    else if (!given && before)
        buf_printf(line, " %s=%zu", name, before);
}

static void add_topics(struct buf *line, const struct token_edit *edit,
                       const struct identity *old)
{
    if (edit->topics)
        buf_printf(line, " topics=%s", edit->topics);
    for (unsigned i = 0; old && !edit->topics && i < old->topic_count; i++)
        buf_printf(line, "%s%.*s", i ? "," : " topics=", BYTES_ARG(old->topics[i]));
}

static void add_members(struct buf *line, const struct token_edit *edit,
                        const struct identity *old)
{
    add_topics(line, edit, old);
    if (edit->san)
        buf_printf(line, " cert=%s", edit->san);
    else if (old && old->cert.len)
        buf_printf(line, " cert=%.*s", BYTES_ARG(old->cert));
    add_limit(line, "rate", edit->rate, old ? old->rate : 0);
    add_limit(line, "connections", edit->connections, old ? old->connections_max : 0);
    add_limit(line, "bytes", edit->bytes, old ? old->bytes_max : 0);
}

/* The identity without its tokens; NULL: `why` has the reason. */
static struct identity *make_identity(const struct token_edit *edit, const struct identity *old,
                                      struct buf *why)
{
    struct buf line = BUF_INIT;
    const char *reason = NAME_FORM;
    struct identity *made;

    buf_printf(&line, "%s ", edit->name);
    if (edit->roles)
        buf_add_text(&line, edit->roles);
    else
        access_roles_print(&line, old->roles);
    add_members(&line, edit, old);
    made = identity_parse(buf_bytes(&line), &reason);
    if (made && !bytes_equal(made->name, bytes_of_text(edit->name))) { /* it has a blank */
        reason = NAME_FORM;
        identity_drop(made);
        made = NULL;
    }
    if (!made)
        buf_add_text(why, reason);
    buf_fini(&line);
    return made;
}

static bool has_token(const struct identity *identity, const unsigned char *hash)
{
    for (unsigned i = 0; i < identity->token_count; i++)
        if (!memcmp(identity->tokens[i], hash, TOKEN_HASH_BYTES))
            return true;
    return false;
}

static void add_token(struct identity *identity, const unsigned char *hash)
{
    memcpy(identity->tokens[identity->token_count++], hash, TOKEN_HASH_BYTES);
}

/* Those of before; a new one takes the place of the older of two. */
static void take_tokens(struct identity *made, const struct identity *old,
                        const unsigned char *hash)
{
    bool is_new = hash && !(old && has_token(old, hash));
    unsigned count = old ? old->token_count : 0;

    made->token_count = 0;
    for (unsigned i = is_new && count == IDENTITY_TOKENS_MAX; i < count; i++)
        add_token(made, old->tokens[i]);
    if (is_new)
        add_token(made, hash);
}

/* What is given on the command line goes before what the identity had. */
static enum ctl_exit apply_new(struct token_edit *edit, struct token_before before,
                               struct buf *line, struct buf *why)
{
    const struct identity *old = before.identity;
    struct identity *made;

    if (!before.is_there && !edit->roles) {
        buf_printf(why, "--roles is missing: %s is new", edit->name);
        return CTL_USAGE;
    }
    made = make_identity(edit, old, why);
    if (!made)
        return CTL_USAGE;
    if (edit->until_ms)
        made->until_ms = *edit->until_ms;
    else if (old)
        made->until_ms = old->until_ms;
    take_tokens(made, old, edit->hash);
    identity_print(line, made);
    identity_drop(made);
    return CTL_DONE;
}

/* ---- revoke, import ---- */

static enum ctl_exit apply_revoke(struct token_edit *edit, struct token_before before,
                                  struct buf *line, struct buf *why)
{
    (void)line;
    if (before.is_there)
        return CTL_DONE;
    buf_printf(why, "has no identity %s", edit->name);
    return CTL_NOTHING;
}

static enum ctl_exit apply_revoke_old(struct token_edit *edit, struct token_before before,
                                      struct buf *line, struct buf *why)
{
    const struct identity *old = before.identity;
    struct buf text = BUF_INIT;
    struct identity *made;
    const char *reason;

    if (!old)
        return apply_revoke(edit, before, line, why);
    if (old->token_count < 2 ||
        (edit->has_revoked && memcmp(old->tokens[0], edit->revoked, TOKEN_HASH_BYTES) != 0)) {
        buf_printf(why, "has no second token of %s", edit->name);
        return CTL_NOTHING;
    }
    memcpy(edit->revoked, old->tokens[0], TOKEN_HASH_BYTES);
    edit->has_revoked = true;
    identity_print(&text, old);
    made = must(identity_parse(buf_bytes(&text), &reason));
    made->token_count = 0;
    add_token(made, old->tokens[1]);
    identity_print(line, made);
    identity_drop(made);
    buf_fini(&text);
    return CTL_DONE;
}

static enum ctl_exit apply_import(struct token_edit *edit, struct token_before before,
                                  struct buf *line, struct buf *why)
{
    bool is_same = before.identity && identity_is_same(before.identity, edit->wanted);

    if (before.is_there && !is_same && !edit->is_forced) {
        buf_printf(why, "has another line for %s; --force replaces it", edit->name);
        return CTL_REFUSED;
    }
    identity_print(line, edit->wanted);
    return CTL_DONE;
}

/* ---- all ---- */

/* Those that are made of the line of before have to be able to read it. */
static const struct {
    enum ctl_exit (*apply)(struct token_edit *edit, struct token_before before,
                           struct buf *line, struct buf *why);
    bool is_made_of_old;
} edits[] = {
    [TOKEN_NEW] = {apply_new, true},
    [TOKEN_REVOKE] = {apply_revoke, false},
    [TOKEN_REVOKE_OLD] = {apply_revoke_old, true},
    [TOKEN_IMPORT] = {apply_import, false},
};

enum ctl_exit token_edit_apply(struct token_edit *edit, struct token_before before,
                               struct buf *line, struct buf *why)
{
    if (edits[edit->kind].is_made_of_old && before.is_there && !before.identity) {
        buf_printf(why, "has a line of %s that cannot be read; revoke the identity first",
                   edit->name);
        return CTL_REFUSED;
    }
    return edits[edit->kind].apply(edit, before, line, why);
}

/* The same line again: it would change nothing. */
static bool is_idle(struct token_edit *edit, const struct identity *now)
{
    struct token_before before = {.is_there = true, .identity = now};
    struct buf line = BUF_INIT, same = BUF_INIT, why = BUF_INIT;
    bool is;

    identity_print(&same, now);
    is = token_edit_apply(edit, before, &line, &why) == CTL_DONE &&
         bytes_equal(buf_bytes(&line), buf_bytes(&same));
    buf_fini(&line);
    buf_fini(&same);
    buf_fini(&why);
    return is;
}

bool token_edit_holds(struct token_edit *edit, struct token_before now)
{
    bool is_to_go = edit->kind == TOKEN_REVOKE || edit->kind == TOKEN_REVOKE_OLD;

    if (!now.is_there)
        return is_to_go;
    if (!now.identity || edit->kind == TOKEN_REVOKE)
        return false;
    if (edit->kind == TOKEN_REVOKE_OLD)
        return edit->has_revoked && !has_token(now.identity, edit->revoked);
    return is_idle(edit, now.identity);
}
