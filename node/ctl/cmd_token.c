/* token: identities and their tokens. The file that access.file names is changed here, on this
 * machine; nodes read it anew at SIGHUP. A node is asked only by `check`.
 *
 * A new file takes the old one's place in one step, with its owner and mode, so that a node
 * never reads half of one. Lines that are not the identity's stay as they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "protocol/access/access.h"
#include "protocol/access/role.h"

#define FILE_MAX_BYTES (1 << 20) /* as the node has it */

enum { FILE_NAME, ROLES, TOPICS, UNTIL, SAN, RATE, CONNECTIONS, BYTES_MAX, OLD };

static const struct option_row token_options[] = {
    [FILE_NAME] = {"file", 'f', OPTION_FILE, "FILE",
                   .text = "what access.file names on the nodes"},
    [ROLES] = {"roles", 'r', OPTION_TEXT, "ROLES",
               .text = "produce,consume,inspect,operate,admin; or all"},
    [TOPICS] = {"topics", 't', OPTION_TEXT, "TOPICS",
                .text = "orders,mail/* and so on; default: every topic"},
    [UNTIL] = {"until", 0, OPTION_MOMENT, "TIME",
               .text = "when the identity expires; default: never"},
    [SAN] = {"san", 0, OPTION_TEXT, "NAME",
             .text = "new: its clients' certificate has DNS:... or URI:..."},
    [RATE] = {"rate", 0, OPTION_TEXT, "N",
              .text = "new: requests it may send a second; 0: any number"},
    [CONNECTIONS] = {"connections", 0, OPTION_TEXT, "N",
                     .text = "new: connections at the same time; 0: any number"},
    [BYTES_MAX] = {"bytes", 0, OPTION_TEXT, "SIZE",
                   .text = "new: of its requests in work, such as 16MiB; 0: any"},
    [OLD] = {"old", 'o', OPTION_FLAG, NULL, .text = "revoke: only the older of two tokens"},
    {0},
};

/* ---- the file ---- */

/* The file itself where `path` is a link to it, for the new one takes its place; the caller's.
 */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);

    return real ? real : must(strdup(path)); /* it is new */
}

/* From now until the end of the program nobody else changes files of the same directory. */
static void lock_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? bytes_copy(bytes_of(path, (size_t)(slash + 1 - path))) : NULL;
    int fd = open(directory ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        (void)flock(fd, LOCK_EX);
    free(directory);
}

static enum ctl_exit fail(const char *path, const char *what)
{
    ctl_say("%s %s: %s", path, what, strerror(errno));
    return CTL_REFUSED;
}

/* A file that is not there is empty; `about` has the mode of a new one then. */
static enum ctl_exit read_all(const char *path, struct buf *text, struct stat *about)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = 1;

    *about = (struct stat){.st_mode = 0640, .st_uid = geteuid(), .st_gid = getegid()};
    if (fd < 0)
        return errno == ENOENT ? CTL_DONE : fail(path, "cannot be read");
    if (fstat(fd, about)) {
        n = -1;
    } else if (!S_ISREG(about->st_mode)) {
        close(fd);
        ctl_say("%s is not a regular file", path);
        return CTL_REFUSED;
    } else if (about->st_mode & (S_IWGRP | S_IWOTH)) {
        close(fd);
        ctl_say("%s: its mode is %04o: others may write it; chmod go-w", path,
                (unsigned)about->st_mode & 07777);
        return CTL_REFUSED;
    }
    while (n > 0 && text->len <= FILE_MAX_BYTES) {
        n = read(fd, buf_reserve(text, 65536), 65536);
        text->len += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (n > 0)
        errno = EFBIG;
    return n == 0 ? CTL_DONE : fail(path, "cannot be read");
}

static bool write_to(int fd, const struct buf *text, const struct stat *about)
{
    size_t done = 0;

    while (done < text->len) {
        ssize_t n = write(fd, text->at + done, text->len - done);

        if (n < 0)
            return false;
        done += (size_t)n;
    }
    if ((about->st_uid != geteuid() || about->st_gid != getegid()) &&
        fchown(fd, about->st_uid, about->st_gid))
        return false;
    return !fchmod(fd, about->st_mode & 07777) && !fsync(fd);
}

static enum ctl_exit write_all(const char *path, const struct buf *text,
                               const struct stat *about)
{
    struct buf name = BUF_INIT;
    enum ctl_exit end = CTL_DONE;
    int fd;

    buf_printf(&name, "%s.XXXXXX", path);
    buf_text(&name);
    fd = mkostemp(name.at, O_CLOEXEC);
    if (fd < 0 || !write_to(fd, text, about) || rename(name.at, path)) {
        end = fail(path, "cannot be written");
        if (fd >= 0)
            unlink(name.at);
    }
    if (fd >= 0)
        close(fd);
    buf_fini(&name);
    return end;
}

/* ---- the lines ---- */

/* NULL: the line is none, or not the identity's. */
static struct identity *identity_in(struct bytes line, const char *name)
{
    const char *why;
    struct identity *identity = identity_parse(line, &why);

    if (identity && (!name || bytes_equal(identity->name, bytes_of_text(name))))
        return identity;
    identity_drop(identity);
    return NULL;
}

/* The identity of this name; NULL: there is none. */
static struct identity *find(const struct buf *text, const char *name)
{
    struct bytes rest = buf_bytes(text);

    while (rest.len) {
        struct identity *identity = identity_in(access_next_line(&rest), name);

        if (identity)
            return identity;
    }
    return NULL;
}

static void add_line_to(struct buf *to, struct bytes line)
{
    buf_add_bytes(to, line);
    buf_add_char(to, '\n');
}

/* `line` in the place of the identity's; "": without it. A new one comes last. */
static void replace(const struct buf *text, const char *name, const struct buf *line,
                    struct buf *to)
{
    struct bytes rest = buf_bytes(text);
    bool is_done = line->len == 0;

    while (rest.len) {
        struct bytes old = access_next_line(&rest);
        struct identity *identity = identity_in(old, name);

        if (!identity)
            add_line_to(to, old);
        else if (!is_done)
            add_line_to(to, buf_bytes(line));
        is_done |= identity != NULL;
        identity_drop(identity);
    }
    if (!is_done)
        add_line_to(to, buf_bytes(line));
}

/* Does a node take the file so? */
static enum ctl_exit check(const char *path, const char *else_say, const struct buf *text)
{
    struct access *access = access_new();
    struct buf why = BUF_INIT;
    bool is_good = access_take(access, buf_bytes(text), &why) == STATUS_OK;

    if (is_good && text->len > FILE_MAX_BYTES)
        buf_add_text(&why, "it is larger than 1 MiB");
    is_good = why.len == 0;
    if (!is_good)
        ctl_say("%s%s: %s", path, else_say, buf_text(&why));
    buf_fini(&why);
    access_free(access);
    return is_good ? CTL_DONE : CTL_REFUSED;
}

static enum ctl_exit change(struct ctl *ctl, const char *path, const struct buf *text,
                            const struct stat *about, const char *name, const struct buf *line)
{
    struct buf changed = BUF_INIT;
    enum ctl_exit end;

    replace(text, name, line, &changed);
    end = check(path, " is not changed", &changed);
    if (end == CTL_DONE)
        end = write_all(path, &changed, about);
    ctl->has_changed = end == CTL_DONE;
    buf_fini(&changed);
    return end;
}

/* ---- token new ---- */

/* As it is given; else as before. */
static void add_limit(struct buf *line, const char *name, const struct option_value *given,
                      size_t before)
{
    if (given->is_given && strcmp(given->text, "0") != 0)
        buf_printf(line, " %s=%s", name, given->text);
    else if (!given->is_given && before)
        buf_printf(line, " %s=%zu", name, before);
}

/* The identity that roles, topics and a name make, where they are given; else as before. NULL:
 * it was said what is wrong. */
static struct identity *identity_of(const char *name, const struct identity *old,
                                    const struct option_value *own)
{
    const char *why = "a name is 1 to 64 of [A-Za-z0-9_.-]";
    struct buf line = BUF_INIT;
    struct identity *made;

    buf_printf(&line, "%s ", name);
    if (own[ROLES].is_given)
        buf_add_text(&line, own[ROLES].text);
    else
        access_roles_print(&line, old->roles);
    if (own[TOPICS].is_given)
        buf_printf(&line, " topics=%s", own[TOPICS].text);
    for (unsigned i = 0; old && !own[TOPICS].is_given && i < old->topic_count; i++)
        buf_printf(&line, "%s%.*s", i ? "," : " topics=", BYTES_ARG(old->topics[i]));
    if (own[SAN].is_given)
        buf_printf(&line, " cert=%s", own[SAN].text);
    else if (old && old->cert.len)
        buf_printf(&line, " cert=%.*s", BYTES_ARG(old->cert));
    add_limit(&line, "rate", &own[RATE], old ? old->rate : 0);
    add_limit(&line, "connections", &own[CONNECTIONS], old ? old->connections_max : 0);
    add_limit(&line, "bytes", &own[BYTES_MAX], old ? old->bytes_max : 0);
    made = identity_parse(buf_bytes(&line), &why);
    if (made && !bytes_equal(made->name, bytes_of_text(name))) { /* it has a blank in it */
        why = "a name is 1 to 64 of [A-Za-z0-9_.-]";
        identity_drop(made);
        made = NULL;
    }
    if (!made)
        ctl_misused("token: %s", why);
    buf_fini(&line);
    return made;
}

static void add_token(struct identity *identity, const unsigned char *hash)
{
    memcpy(identity->tokens[identity->token_count++], hash, TOKEN_HASH_BYTES);
}

/* Both of before, or with a new one the newest of them and that. */
static void take_tokens(struct identity *made, const struct identity *old,
                        const unsigned char *hash)
{
    made->token_count = 0;
    if (old && old->token_count == IDENTITY_TOKENS_MAX && !hash)
        add_token(made, old->tokens[0]);
    if (old && old->token_count)
        add_token(made, old->tokens[old->token_count - 1]);
    if (hash)
        add_token(made, hash);
}

/* What is given on the command line goes before what the identity had. */
static enum ctl_exit add_line(struct buf *line, const char *name, const struct identity *old,
                              const struct option_value *own, const unsigned char *hash)
{
    struct identity *made;

    if (!old && !own[ROLES].is_given)
        return ctl_misused("token: --roles is missing: %s is new", name);
    made = identity_of(name, old, own);
    if (!made)
        return CTL_USAGE;
    if (own[UNTIL].is_given)
        made->until_ms = own[UNTIL].number;
    else if (old)
        made->until_ms = old->until_ms;
    take_tokens(made, old, hash);
    identity_print(line, made);
    identity_drop(made);
    return CTL_DONE;
}

static void tell(const struct ctl *ctl, const char *name, const struct buf *token)
{
    if (ctl->is_json)
        output_json_and_free(
            json_pack("{s:s, s:s%}", "name", name, "token", token->at, token->len));
    else
        printf("%.*s\n", BYTES_ARG(buf_bytes(token)));
    ctl_say("this token is not shown again; nodes know it after a SIGHUP");
}

static enum ctl_exit run_new(struct ctl *ctl, const char *path, const char *name,
                             const struct option_value *own, const struct buf *text,
                             const struct stat *about)
{
    struct identity *old = find(text, name);
    struct buf token = BUF_INIT, line = BUF_INIT;
    unsigned char hash[TOKEN_HASH_BYTES];
    enum ctl_exit end;

    access_make_token(&token);
    access_hash(buf_bytes(&token), hash);
    end = add_line(&line, name, old, own, own[SAN].is_given ? NULL : hash);
    if (end == CTL_DONE)
        end = change(ctl, path, text, about, name, &line);
    if (end == CTL_DONE && own[SAN].is_given)
        ctl_say("nodes take a certificate with %s for %s after a SIGHUP", own[SAN].text, name);
    else if (end == CTL_DONE)
        tell(ctl, name, &token);
    explicit_bzero(token.at, token.room);
    buf_fini(&token);
    buf_fini(&line);
    identity_drop(old);
    return end;
}

/* ---- token revoke ---- */

static enum ctl_exit run_revoke(struct ctl *ctl, const char *path, const char *name,
                                const struct option_value *own, const struct buf *text,
                                const struct stat *about)
{
    struct identity *identity = find(text, name);
    struct buf line = BUF_INIT;
    enum ctl_exit end;

    if (!identity || (own[OLD].is_given && identity->token_count < 2)) {
        ctl_say("%s has no %s %s", path, identity ? "second token of" : "identity", name);
        identity_drop(identity);
        return CTL_NOTHING;
    }
    if (own[OLD].is_given) {
        memmove(identity->tokens[0], identity->tokens[1], TOKEN_HASH_BYTES);
        identity->token_count = 1;
        identity_print(&line, identity);
    }
    end = change(ctl, path, text, about, name, &line);
    if (end == CTL_DONE)
        ctl_say("%s is revoked; nodes know that after a SIGHUP",
                own[OLD].is_given ? "the older token" : name);
    buf_fini(&line);
    identity_drop(identity);
    return end;
}

/* ---- token list ---- */

static json_t *identity_json(const struct identity *identity)
{
    json_t *topics = json_array(), *object;
    struct buf roles = BUF_INIT;

    access_roles_print(&roles, identity->roles);
    for (unsigned i = 0; i < identity->topic_count; i++)
        json_array_append_new(topics,
                              json_stringn(identity->topics[i].at, identity->topics[i].len));
    object = json_pack(
        "{s:s%, s:s, s:o, s:i, s:o*, s:o}", "name", identity->name.at, identity->name.len,
        "roles", buf_text(&roles), "topics", topics, "tokens", (int)identity->token_count,
        "cert", identity->cert.len ? json_stringn(identity->cert.at, identity->cert.len) : NULL,
        "until_ms",
        identity->until_ms == INT64_MAX ? json_null() : json_integer(identity->until_ms));
    buf_fini(&roles);
    return object;
}

static void add_row(struct table *table, const json_t *row)
{
    json_t *topics = json_object_get(row, "topics");
    struct buf text = BUF_INIT;

    table_add(table, output_text(row, "name"));
    table_add(table, output_text(row, "roles"));
    for (size_t i = 0; i < json_array_size(topics); i++)
        buf_printf(&text, "%s%s", i ? "," : "", json_string_value(json_array_get(topics, i)));
    table_add(table, text.len ? buf_bytes(&text) : BYTES("*"));
    buf_fini(&text);
    table_add_number(table, output_number(row, "tokens", 0));
    table_add(table, json_object_get(row, "cert") ? output_text(row, "cert") : BYTES("-"));
    if (output_number(row, "until_ms", 0))
        table_add_moment(table, output_number(row, "until_ms", 0));
    else
        table_add_text(table, "-");
}

static enum ctl_exit run_list(const struct ctl *ctl, const char *path, const struct buf *text)
{
    static const struct table_column columns[] = {{"NAME", false},   {"ROLES", false},
                                                  {"TOPICS", false}, {"TOKENS", true},
                                                  {"CERT", false},   {"UNTIL", false}};
    struct bytes rest = buf_bytes(text);
    json_t *rows = json_array();
    enum ctl_exit end = check(path, "", text);

    while (end == CTL_DONE && rest.len) {
        struct identity *identity = identity_in(access_next_line(&rest), NULL);

        if (identity)
            json_array_append_new(rows, identity_json(identity));
        identity_drop(identity);
    }
    if (end == CTL_DONE && ctl->is_json)
        output_json_and_free(json_pack("{s:O}", "identities", rows));
    else if (end == CTL_DONE)
        output_rows(ctl, columns, 6, rows, add_row);
    json_decref(rows);
    return end;
}

/* ---- token check ---- */

static enum ctl_exit run_check(struct ctl *ctl)
{
    struct request request;
    json_t *answer = NULL;
    enum ctl_exit end;

    request_init(&request, "GET", "/v1/access");
    request.expects = "roles";
    end = request_ask(ctl, &request, NULL, &answer);
    if (end == CTL_DONE && ctl->is_json)
        output_json(answer);
    else if (end == CTL_DONE)
        output_members(ctl, answer);
    json_decref(answer);
    return end;
}

/* ---- the command ---- */

static enum ctl_exit run_on_file(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    const char *what = arguments->words[0], *name = arguments->words[1];
    struct buf text = BUF_INIT;
    struct stat about;
    enum ctl_exit end;
    char *path;

    if (!own[FILE_NAME].is_given)
        return ctl_misused("token: --file FILE is missing, which names the identities");
    if ((arguments->word_count < 2) != !strcmp(what, "list"))
        return ctl_misused("token: %s", token_command.usage);
    path = resolve(own[FILE_NAME].text);
    if (strcmp(what, "list") != 0)
        lock_directory(path);
    end = read_all(path, &text, &about);
    if (end == CTL_DONE && !strcmp(what, "list"))
        end = run_list(ctl, path, &text);
    else if (end == CTL_DONE && !strcmp(what, "new"))
        end = run_new(ctl, path, name, own, &text, &about);
    else if (end == CTL_DONE)
        end = run_revoke(ctl, path, name, own, &text, &about);
    buf_fini(&text);
    free(path);
    return end;
}

static const char *const choices[] = {"new", "list", "revoke", "check", NULL};

static enum ctl_exit run_token(struct ctl *ctl, const struct arguments *arguments)
{
    const char *what = arguments->words[0];

    if (!strcmp(what, "check"))
        return run_check(ctl);
    if (!strcmp(what, "new") || !strcmp(what, "list") || !strcmp(what, "revoke"))
        return run_on_file(ctl, arguments);
    return ctl_misused("token: there are new, list, revoke and check, not '%s'", what);
}

const struct command token_command = {
    .name = "token",
    .usage = "new|list|revoke|check [NAME]",
    .summary = "make, list and revoke the tokens of identities",
    .text = "new prints a token and writes its hash into the file. Of an identity that has\n"
            "one already, the newest token of before holds on: give the new one to its\n"
            "clients, then 'token revoke NAME --old'. revoke without --old takes the whole\n"
            "identity out. check asks a node as whom the token of --token-file acts.\n"
            "With --san new makes no token.\n",
    .options = token_options,
    .choices = choices,
    .words_min = 1,
    .words_max = 2,
    .run = run_token,
};
