/* token: identities and their tokens, in a file or in Redis (node/ctl/token_place.h). A token
 * is made here, and only its hash leaves this program; it is told when the change is known to
 * hold, and where nobody can say whether it holds, so that nobody is shut out.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "node/ctl/commands.h"
#include "node/ctl/input.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/token_place.h"
#include "protocol/access/access.h"

#define TOKEN_BYTES_MIN 32
#define TOKEN_BYTES_MAX 1024

/* Of which the tokens of HTTP consist (RFC 6750, b64token). */
#define TOKEN_MARKS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/="

enum {
    FILE_NAME,
    ROLES,
    TOPICS,
    UNTIL,
    SAN,
    RATE,
    CONNECTIONS,
    BYTES_MAX,
    OLD,
    TOKEN_FROM,
    FORCE
};

static const struct option_row token_options[] = {
    [FILE_NAME] = {"file", 'f', OPTION_FILE, "FILE",
                   .text = "what access.file names on the nodes; else ask a node"},
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
    [TOKEN_FROM] = {"token-from", 0, OPTION_FILE, "FILE",
                    .text = "new: the token is its first line; default: make one"},
    [FORCE] = {"force", 0, OPTION_FLAG, NULL,
               .text = "import: in the place of another line, too"},
    {0},
};

/* ---- a change ---- */

/* One document: what there is now, and what went wrong. */
static void print_json(const struct token_edit *edit, const struct buf *token,
                       const struct failure *failure)
{
    json_t *object = json_object();

    if (failure->end == CTL_DONE || token)
        json_object_set_new(object, "name", json_string(edit->name));
    if (token)
        json_object_set_new(object, "token", json_stringn(token->at, token->len));
    if (failure->end == CTL_DONE && edit->version)
        json_object_set_new(object, "version", json_integer(edit->version));
    if (failure->end != CTL_DONE)
        json_object_set_new(object, "error", failure_json(failure));
    output_json_and_free(object);
}

/* Makes the change and tells what came of it; `token` is to be shown then, or NULL. */
static enum ctl_exit change(struct ctl *ctl, const struct token_place *place, const char *path,
                            struct token_edit *edit, const struct buf *token)
{
    struct failure failure;
    enum ctl_exit end = place->change(ctl, path, edit, &failure);

    if (end != CTL_DONE && end != CTL_UNKNOWN)
        token = NULL;
    if (*failure.code)
        failure_say(&failure, edit->name);
    if (ctl->is_json && (end == CTL_DONE || *failure.code))
        print_json(edit, token, &failure);
    else if (token)
        printf("%.*s\n", BYTES_ARG(buf_bytes(token)));
    if (end == CTL_UNKNOWN && token)
        ctl_say("this token may hold or not: keep it, for it is not shown again, and try it");
    return end;
}

/* ---- token new ---- */

static enum ctl_exit check_token(const char *path, struct bytes token)
{
    for (size_t i = 0; i < token.len; i++)
        if (!memchr(TOKEN_MARKS, token.at[i], strlen(TOKEN_MARKS)))
            return ctl_misused("token: the first line of %s is no token: letters, digits and "
                               "-._~+/= only",
                               path);
    if (token.len < TOKEN_BYTES_MIN || token.len > TOKEN_BYTES_MAX)
        return ctl_misused("token: the first line of %s has %zu characters; a token has 32 to "
                           "1024, best of a random number",
                           path, token.len);
    return CTL_DONE;
}

/* The file's first line. Others must not be able to read it. */
static enum ctl_exit read_token(const char *path, struct buf *token)
{
    int fd = input_open(path);
    struct stat about;
    struct bytes rest;
    enum ctl_exit end;

    if (fd < 0)
        return CTL_USAGE;
    if (!fstat(fd, &about) && S_ISREG(about.st_mode) && about.st_mode & S_IROTH) {
        input_close(fd);
        return ctl_misused("token: %s is everybody's to read; chmod o-r", path);
    }
    end = input_read_all(fd, token);
    input_close(fd);
    rest = buf_bytes(token);
    token->len = access_next_line(&rest).len;
    return end == CTL_DONE ? check_token(path, buf_bytes(token)) : end;
}

static void say_new(const struct token_place *place, const char *name,
                    const struct option_value *own)
{
    if (own[TOKEN_FROM].is_given)
        ctl_say("%s has the token of %s; %s know it %s", name, own[TOKEN_FROM].text,
                place->nodes, place->when);
    else if (own[SAN].is_given)
        ctl_say("%s take a certificate with %s for %s %s", place->nodes, own[SAN].text, name,
                place->when);
    else
        ctl_say("this token is not shown again; %s know it %s", place->nodes, place->when);
}

static enum ctl_exit add(struct ctl *ctl, const struct token_place *place, const char *name,
                         const struct option_value *own, const struct buf *token)
{
    bool is_given = own[TOKEN_FROM].is_given, has_token = is_given || !own[SAN].is_given;
    unsigned char hash[TOKEN_HASH_BYTES];
    struct token_edit edit = {
        .kind = TOKEN_NEW,
        .name = name,
        .roles = own[ROLES].text,
        .topics = own[TOPICS].text,
        .san = own[SAN].text,
        .rate = own[RATE].text,
        .connections = own[CONNECTIONS].text,
        .bytes = own[BYTES_MAX].text,
        .until_ms = own[UNTIL].is_given ? &own[UNTIL].number : NULL,
        .hash = has_token ? hash : NULL,
    };
    enum ctl_exit end;

    access_hash(buf_bytes(token), hash);
    end = change(ctl, place, own[FILE_NAME].text, &edit, has_token && !is_given ? token : NULL);
    if (end == CTL_DONE)
        say_new(place, name, own);
    return end;
}

static enum ctl_exit run_new(struct ctl *ctl, const struct token_place *place, const char *name,
                             const struct option_value *own)
{
    struct buf token = BUF_INIT;
    enum ctl_exit end = CTL_DONE;

    if (own[TOKEN_FROM].is_given)
        end = read_token(own[TOKEN_FROM].text, &token);
    else
        access_make_token(&token);
    if (end == CTL_DONE)
        end = add(ctl, place, name, own, &token);
    if (token.at)
        explicit_bzero(token.at, token.room);
    buf_fini(&token);
    return end;
}

/* ---- token revoke ---- */

static enum ctl_exit run_revoke(struct ctl *ctl, const struct token_place *place,
                                const char *name, const struct option_value *own)
{
    bool is_old = own[OLD].is_given;
    struct token_edit edit = {.kind = is_old ? TOKEN_REVOKE_OLD : TOKEN_REVOKE, .name = name};
    enum ctl_exit end = change(ctl, place, own[FILE_NAME].text, &edit, NULL);

    if (end == CTL_DONE)
        ctl_say("%s is revoked; %s know that %s", is_old ? "the older token" : name,
                place->nodes, place->when);
    return end;
}

/* ---- token list ---- */

/* A list, or its words as a text with commas; "-" where neither is there. */
static void add_words(struct table *table, const json_t *words, const char *if_empty)
{
    struct buf text = BUF_INIT;

    if (json_is_string(words))
        buf_add_text(&text, json_string_value(words));
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));

        buf_printf(&text, "%s%s", i ? "," : "", word ? word : "-");
    }
    table_add(table, text.len ? buf_bytes(&text) : bytes_of_text(words ? if_empty : "-"));
    buf_fini(&text);
}

/* Of a line that cannot be read, a node tells only the name. */
static void add_row(struct table *table, const json_t *row)
{
    int64_t until_ms = output_number(row, "until_ms", 0);

    table_add(table, output_text(row, "name"));
    add_words(table, json_object_get(row, "roles"), "-");
    add_words(table, json_object_get(row, "topics"), "*");
    table_add_number(table, output_number(row, "tokens", 0));
    add_words(table, json_object_get(row, "cert"), "-");
    if (until_ms)
        table_add_moment(table, until_ms);
    else
        table_add_text(table, "-");
}

static enum ctl_exit run_list(struct ctl *ctl, const struct token_place *place,
                              const char *name, const struct option_value *own)
{
    static const struct table_column columns[] = {{"NAME", false},   {"ROLES", false},
                                                  {"TOPICS", false}, {"TOKENS", true},
                                                  {"CERT", false},   {"UNTIL", false}};
    json_t *rows = NULL;
    enum ctl_exit end = place->list(ctl, own[FILE_NAME].text, &rows);

    (void)name;
    if (end == CTL_DONE && ctl->is_json)
        output_json_and_free(json_pack("{s:O}", "identities", rows));
    else if (end == CTL_DONE)
        output_rows(ctl, columns, 6, rows, add_row);
    json_decref(rows);
    return end;
}

/* ---- token check ---- */

static enum ctl_exit run_check(struct ctl *ctl, const struct token_place *place,
                               const char *name, const struct option_value *own)
{
    struct request request;
    json_t *answer = NULL;
    enum ctl_exit end;

    (void)place;
    (void)name;
    (void)own;
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

static enum ctl_exit run_import(struct ctl *ctl, const struct token_place *place,
                                const char *name, const struct option_value *own)
{
    (void)name;
    if (place != &token_file)
        return ctl_misused("token: --file FILE is missing, which has the identities");
    return token_import(ctl, own[FILE_NAME].text, own[FORCE].is_given);
}

static const struct {
    bool has_name;
    enum ctl_exit (*run)(struct ctl *ctl, const struct token_place *place, const char *name,
                         const struct option_value *own);
} actions[] = {{true, run_new},
               {false, run_list},
               {true, run_revoke},
               {false, run_check},
               {false, run_import}};

static const char *const choices[] = {"new", "list", "revoke", "check", "import", NULL};

static enum ctl_exit run_token(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    const char *what = arguments->words[0];
    bool has_name = arguments->word_count > 1;

    for (size_t i = 0; choices[i]; i++) {
        if (strcmp(what, choices[i]) != 0)
            continue;
        if (actions[i].has_name != has_name)
            return ctl_misused("token: %s", token_command.usage);
        return actions[i].run(ctl, own[FILE_NAME].is_given ? &token_file : &token_node,
                              has_name ? arguments->words[1] : NULL, own);
    }
    return ctl_misused("token: there are new, list, revoke, check and import, not '%s'", what);
}

const struct command token_command = {
    .name = "token",
    .usage = "new|list|revoke|check|import [NAME]",
    .summary = "make, list and revoke the tokens of identities",
    .text = "Where: in Redis, through a node with access.in_redis; with --file in that file.\n"
            "new prints a token; only its hash is kept. Of an identity that has one already,\n"
            "the newest token of before holds on: give the new one to its clients, then\n"
            "'token revoke NAME --old'. revoke without --old takes the whole identity out.\n"
            "With --san new makes no token. check asks a node as whom the token of\n"
            "--token-file acts. import puts the identities of --file into Redis.\n",
    .options = token_options,
    .choices = choices,
    .words_min = 1,
    .words_max = 2,
    .run = run_token,
};
