#include "protocol/access/access.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"

#define TOKEN_BYTES 32
#define SALT_BYTES  32

#define SAID_MAX_BYTES 2000 /* about, of those that are left out */

/* Addresses share counters. One that has used up its counter may have used up another one's,
 * too, which matters only to a client without a valid token. */
#define COUNTERS   1024
#define ATTEMPT_MS 1000

/* A token's hash, hashed again with the salt: its order says nothing about the first hash. Or a
 * certificate's name, with the salt behind and not in front: no token can be taken for one. */
struct key {
    unsigned char mixed[TOKEN_HASH_BYTES];
    struct identity *identity;
};

struct known {
    struct identity **identities; /* in the order of their names */
    struct key *keys;             /* in the order of `mixed` */
    unsigned count, key_count;
};

/* What is known of the identities. */
enum knowledge { OFF, AWAITED, LATE, COMPLETE };

struct access {
    struct known known;
    enum knowledge knowledge;
    EVP_MD *sha256;
    EVP_MD_CTX *hashing;
    unsigned char salt[SALT_BYTES];
    int64_t free_mono_ms[COUNTERS]; /* when the last attempt is forgiven */
};

/* ---- hashes ---- */

void access_hash(struct bytes token, unsigned char hash[TOKEN_HASH_BYTES])
{
    if (!EVP_Digest(token.len ? token.at : "", token.len, hash, NULL, EVP_sha256(), NULL))
        abort();
}

/* SHA-256 of `front` and `back`. */
static void hash_both(const struct access *a, struct bytes front, struct bytes back,
                      unsigned char to[TOKEN_HASH_BYTES])
{
    if (!EVP_DigestInit_ex2(a->hashing, a->sha256, NULL) ||
        !EVP_DigestUpdate(a->hashing, front.at, front.len) ||
        !EVP_DigestUpdate(a->hashing, back.at, back.len) ||
        !EVP_DigestFinal_ex(a->hashing, to, NULL))
        abort();
}

static void mix(const struct access *a, const unsigned char *hash, unsigned char *mixed)
{
    hash_both(a, bytes_of((const char *)a->salt, SALT_BYTES),
              bytes_of((const char *)hash, TOKEN_HASH_BYTES), mixed);
}

static void mix_cert(const struct access *a, struct bytes name, unsigned char *mixed)
{
    hash_both(a, name, bytes_of((const char *)a->salt, SALT_BYTES), mixed);
}

void access_make_token(struct buf *to)
{
    unsigned char random[TOKEN_BYTES];
    size_t begin = to->len;

    if (RAND_bytes(random, sizeof(random)) != 1)
        abort();
    buf_add_text(to, "dq_");
    base64_add(to, bytes_of((const char *)random, sizeof(random)));
    for (size_t i = begin; i < to->len; i++)
        to->at[i] = to->at[i] == '+' ? '-' : to->at[i] == '/' ? '_' : to->at[i];
    while (to->at[to->len - 1] == '=')
        to->len--;
    explicit_bzero(random, sizeof(random));
}

/* ---- the beginning and the end ---- */

struct access *access_new(void)
{
    struct access *a = must(calloc(1, sizeof(*a)));

    a->sha256 = must(EVP_MD_fetch(NULL, "SHA256", NULL));
    a->hashing = must(EVP_MD_CTX_new());
    if (RAND_bytes(a->salt, sizeof(a->salt)) != 1)
        abort();
    return a;
}

static void forget(struct known *known)
{
    for (unsigned i = 0; i < known->count; i++)
        identity_drop(known->identities[i]);
    free(known->identities);
    free(known->keys);
    *known = (struct known){0};
}

void access_free(struct access *a)
{
    if (!a)
        return;
    forget(&a->known);
    EVP_MD_CTX_free(a->hashing);
    EVP_MD_free(a->sha256);
    free(a);
}

bool access_is_on(const struct access *a)
{
    return a->knowledge != OFF;
}

bool access_is_awaited(const struct access *a)
{
    return a->knowledge == AWAITED;
}

bool access_is_incomplete(const struct access *a)
{
    return a->knowledge == AWAITED || a->knowledge == LATE;
}

unsigned access_count(const struct access *a)
{
    return a->known.count;
}

/* ---- taking them ---- */

static struct identity *find_name(const struct access *a, struct bytes name)
{
    for (unsigned low = 0, high = a->known.count; low < high;) {
        unsigned middle = low + (high - low) / 2;
        int order = bytes_compare(a->known.identities[middle]->name, name);

        if (order == 0)
            return a->known.identities[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

struct bytes access_next_line(struct bytes *rest)
{
    struct bytes line = bytes_cut(rest, '\n');

    if (line.len && line.at[line.len - 1] == '\r')
        line.len--;
    return line;
}

static bool says_nothing(struct bytes line)
{
    size_t i = 0;

    while (i < line.len && (line.at[i] == ' ' || line.at[i] == '\t'))
        i++;
    return i == line.len || line.at[i] == '#';
}

static bool refuse(struct buf *why, unsigned line, const char *text)
{
    buf_printf(why, "line %u: %s", line, text);
    return false;
}

/* A line that was cut may give more than it did: more topics, for ever. */
static bool is_cut(struct bytes rest)
{
    return !memchr(rest.at, '\n', rest.len);
}

static bool read_lines(struct known *known, struct bytes text, struct buf *why)
{
    for (unsigned number = 1; text.len; number++) {
        bool is_last = is_cut(text);
        struct bytes line = access_next_line(&text);
        const char *wrong;

        if (is_last)
            return refuse(why, number, "it does not end: was the file cut short?");
        if (says_nothing(line))
            continue;
        if (known->count == ACCESS_IDENTITIES_MAX)
            return refuse(why, number, "more than 4000 identities");
        known->identities[known->count] = identity_parse(line, &wrong);
        if (!known->identities[known->count])
            return refuse(why, number, wrong);
        known->count++;
    }
    return true;
}

/* A few words on each that is left out; who reads them does not need all. */
static void leave_out(struct buf *why, struct bytes name, const char *text, struct bytes of)
{
    if (why->len < SAID_MAX_BYTES)
        buf_printf(why, "%s%.*s: %s%.*s", why->len ? "; " : "", BYTES_ARG(name), text,
                   BYTES_ARG(of));
}

/* Of each line by itself: what cannot be read is left out. */
static void read_spare(struct known *known, struct bytes text, struct buf *why)
{
    while (text.len) {
        struct bytes line = access_next_line(&text);
        struct bytes name = line;
        const char *wrong = "more than 4000 identities";
        struct identity *identity = NULL;

        if (known->count < ACCESS_IDENTITIES_MAX)
            identity = identity_parse(line, &wrong);
        if (identity) {
            identity->is_spare = true;
            known->identities[known->count++] = identity;
        } else {
            leave_out(why, bytes_cut(&name, ' '), wrong, BYTES(""));
        }
    }
}

/* Spare ones come last. */
static int by_name(const void *a, const void *b)
{
    const struct identity *one = *(struct identity *const *)a;
    const struct identity *other = *(struct identity *const *)b;
    int order = bytes_compare(one->name, other->name);

    return order ? order : one->is_spare - other->is_spare;
}

static int by_mixed(const void *a, const void *b)
{
    return memcmp(((const struct key *)a)->mixed, ((const struct key *)b)->mixed,
                  TOKEN_HASH_BYTES);
}

/* Of the same key those of spare identities come last. */
static int by_key(const void *a, const void *b)
{
    const struct key *one = a, *other = b;
    int order = by_mixed(a, b);

    if (!order)
        order = one->identity->is_spare - other->identity->is_spare;
    return order ? order : bytes_compare(one->identity->name, other->identity->name);
}

static void add_keys(const struct access *a, struct known *known, struct identity *identity)
{
    for (unsigned i = 0; i < identity->token_count; i++) {
        struct key *key = &known->keys[known->key_count++];

        key->identity = identity;
        mix(a, identity->tokens[i], key->mixed);
    }
    if (identity->cert.len) {
        struct key *key = &known->keys[known->key_count++];

        key->identity = identity;
        mix_cert(a, identity->cert, key->mixed);
    }
}

static void make_keys(const struct access *a, struct known *known)
{
    known->keys = must(
        calloc((size_t)known->count * (IDENTITY_TOKENS_MAX + 1) + 1, sizeof(*known->keys)));
    for (unsigned i = 0; i < known->count; i++)
        add_keys(a, known, known->identities[i]);
    qsort(known->keys, known->key_count, sizeof(*known->keys), by_key);
}

/* Each name is of one identity: a spare one gives way. */
static bool judge_names(struct known *known, struct buf *why)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < known->count; i++) {
        struct identity *identity = known->identities[i];

        if (!kept || !bytes_equal(known->identities[kept - 1]->name, identity->name)) {
            known->identities[kept++] = identity;
        } else if (identity->is_spare) {
            identity_drop(identity);
        } else {
            buf_printf(why, "there are two identities %.*s", BYTES_ARG(identity->name));
            while (i < known->count)
                known->identities[kept++] = known->identities[i++];
            known->count = kept;
            return false;
        }
    }
    known->count = kept;
    return true;
}

/* So is each token, and each certificate's name: who has it behind another one is left out. */
static bool judge_keys(const struct known *known, struct buf *why)
{
    for (unsigned i = 1; i < known->key_count; i++) {
        struct identity *before = known->keys[i - 1].identity;
        struct identity *identity = known->keys[i].identity;

        if (by_mixed(&known->keys[i - 1], &known->keys[i]) != 0)
            continue;
        if (!identity->is_spare) {
            buf_printf(why, "%.*s has a token twice, or a token or cert of %.*s",
                       BYTES_ARG(identity->name), BYTES_ARG(before->name));
            return false;
        }
        if (!identity->is_left_out)
            leave_out(why, identity->name, "it has a token twice, or a token or cert of ",
                      before->name);
        identity->is_left_out = true;
    }
    return true;
}

static void drop_left_out(struct known *known)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < known->key_count; i++)
        if (!known->keys[i].identity->is_left_out)
            known->keys[kept++] = known->keys[i];
    known->key_count = kept;
    kept = 0;
    for (unsigned i = 0; i < known->count; i++)
        if (known->identities[i]->is_left_out)
            identity_drop(known->identities[i]);
        else
            known->identities[kept++] = known->identities[i];
    known->count = kept;
}

/* An identity whose line is the same stays the one that it is; of others what was counted goes
 * on. */
static void carry_over(const struct access *a, struct known *fresh)
{
    for (unsigned i = 0; i < fresh->count; i++) {
        struct identity **made = &fresh->identities[i];
        struct identity *old = find_name(a, (*made)->name);

        if (old && identity_is_same(old, *made)) {
            old->is_spare = (*made)->is_spare;
            old->is_left_out = false;
            identity_drop(*made);
            *made = identity_use(old);
        } else if (old) {
            identity_inherit(*made, old);
        }
    }
}

/* Requests that wait as one that is gone are not to wait any longer. */
static void replace(struct access *a, const struct known *fresh)
{
    for (unsigned i = 0; i < a->known.count; i++)
        a->known.identities[i]->is_gone = true;
    for (unsigned i = 0; i < fresh->count; i++)
        fresh->identities[i]->is_gone = false;
    forget(&a->known);
    a->known = *fresh;
}

enum status access_take_both(struct access *a, struct bytes text, struct bytes spare,
                             struct buf *why)
{
    struct known fresh = {.identities = must(calloc(ACCESS_IDENTITIES_MAX, sizeof(void *)))};
    bool is_good = read_lines(&fresh, text, why);

    if (is_good) {
        read_spare(&fresh, spare, why);
        qsort(fresh.identities, fresh.count, sizeof(struct identity *), by_name);
        is_good = judge_names(&fresh, why);
    }
    if (is_good) {
        carry_over(a, &fresh);
        make_keys(a, &fresh);
        is_good = judge_keys(&fresh, why);
    }
    if (!is_good) {
        forget(&fresh);
        return STATUS_BAD_CONFIG;
    }
    drop_left_out(&fresh);
    replace(a, &fresh);
    if (a->knowledge == OFF)
        a->knowledge = COMPLETE;
    return STATUS_OK;
}

enum status access_take(struct access *a, struct bytes text, struct buf *why)
{
    return access_take_both(a, text, BYTES(""), why);
}

void access_await(struct access *a)
{
    a->knowledge = AWAITED;
}

void access_give_up(struct access *a)
{
    if (a->knowledge == AWAITED)
        a->knowledge = LATE;
}

void access_complete(struct access *a)
{
    if (a->knowledge != OFF)
        a->knowledge = COMPLETE;
}

void access_turn_off(struct access *a)
{
    replace(a, &(struct known){0});
    a->knowledge = OFF;
}

/* ---- finding one ---- */

static struct identity *unless_over(struct identity *identity, int64_t now_ms)
{
    return now_ms < identity->until_ms ? identity : NULL;
}

static struct identity *of_mixed(const struct access *a, const struct key *wanted)
{
    const struct key *found =
        a->known.key_count
            ? bsearch(wanted, a->known.keys, a->known.key_count, sizeof(*wanted), by_mixed)
            : NULL;

    return found ? found->identity : NULL;
}

static struct identity *of_key(const struct access *a, const struct key *wanted, int64_t now_ms)
{
    struct identity *found = of_mixed(a, wanted);

    return found ? unless_over(found, now_ms) : NULL;
}

struct identity *access_of_token(const struct access *a, struct bytes token, int64_t now_ms)
{
    unsigned char hash[TOKEN_HASH_BYTES];
    struct key wanted;

    hash_both(a, bytes_of("", 0), token.len ? token : BYTES(""), hash);
    mix(a, hash, wanted.mixed);
    return of_key(a, &wanted, now_ms);
}

struct identity *access_of_certificate(const struct access *a, struct bytes names,
                                       int64_t now_ms)
{
    struct identity *found = NULL;
    struct key wanted;

    while (!found && names.len) {
        mix_cert(a, bytes_cut(&names, '\n'), wanted.mixed);
        found = of_key(a, &wanted, now_ms);
    }
    return found;
}

struct identity *access_of_name(const struct access *a, struct bytes name, int64_t now_ms)
{
    struct identity *found = find_name(a, name);

    return found ? unless_over(found, now_ms) : NULL;
}

struct identity *access_of_client(const struct access *a, struct bytes names, struct bytes as,
                                  int64_t now_ms, bool *is_ports)
{
    struct identity *who = access_of_certificate(a, names, now_ms);

    *is_ports = false;
    if (who || (names.len && access_is_incomplete(a)))
        return who;
    who = access_of_name(a, as, now_ms);
    *is_ports = who != NULL;
    return who;
}

static const struct identity *other_of(const struct access *a, const struct key *wanted,
                                       const struct identity *one)
{
    const struct identity *found = of_mixed(a, wanted);

    return found && !found->is_spare && !bytes_equal(found->name, one->name) ? found : NULL;
}

const struct identity *access_rival_of(const struct access *a, const struct identity *one)
{
    const struct identity *rival = NULL;
    struct key wanted;

    for (unsigned i = 0; !rival && i < one->token_count; i++) {
        mix(a, one->tokens[i], wanted.mixed);
        rival = other_of(a, &wanted, one);
    }
    if (!rival && one->cert.len) {
        mix_cert(a, one->cert, wanted.mixed);
        rival = other_of(a, &wanted, one);
    }
    return rival;
}

/* ---- without a valid token ---- */

bool access_is_attempt_too_many(struct access *a, struct bytes address, int64_t now_mono_ms)
{
    unsigned char mixed[TOKEN_HASH_BYTES];
    unsigned slot;
    int64_t *free_mono_ms;

    hash_both(a, bytes_of((const char *)a->salt, SALT_BYTES), address.len ? address : BYTES(""),
              mixed);
    slot = (unsigned)(mixed[0] << 8 | mixed[1]) % COUNTERS;
    free_mono_ms = &a->free_mono_ms[slot];
    if (*free_mono_ms < now_mono_ms)
        *free_mono_ms = now_mono_ms;
    if (*free_mono_ms + ATTEMPT_MS > now_mono_ms + (int64_t)ACCESS_ATTEMPTS * ATTEMPT_MS)
        return true;
    *free_mono_ms += ATTEMPT_MS;
    return false;
}
