/* An answer is read twice over: each entry into a range of slots and its master's address, and
 * each of our slots by the range that holds it. An answer that does not look like CLUSTER SLOTS
 * is refused. An entry whose master has no usable address is left out: its slots are nobody's.
 */
#include "node/store/redis/topology/slots.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/crc16.h"

/* ---- keys ---- */

unsigned redis_slot_of(struct bytes key)
{
    const char *open = key.len ? memchr(key.at, '{', key.len) : NULL;
    const char *end = key.at + key.len, *close;

    if (!open)
        return crc16(key) % REDIS_SLOTS;
    close = memchr(open + 1, '}', (size_t)(end - open - 1));
    if (close && close > open + 1)
        key = bytes_of(open + 1, (size_t)(close - open - 1));
    return crc16(key) % REDIS_SLOTS;
}

unsigned redis_slot_of_bucket(unsigned bucket)
{
    char tag[16];

    snprintf(tag, sizeof(tag), "%u", bucket);
    return crc16(bytes_of_text(tag)) % REDIS_SLOTS;
}

/* ---- one entry of the answer: first slot, last slot, the master, its replicas ---- */

struct range {
    unsigned first, last;
    struct redis_address master; /* host "": none that we can use */
};

static bool read_slot(const redisReply *reply, unsigned *slot)
{
    if (reply->type != REDIS_REPLY_INTEGER || reply->integer < 0 ||
        reply->integer >= REDIS_SLOTS)
        return false;
    *slot = (unsigned)reply->integer;
    return true;
}

/* Redis 7: name, value, name, value, in an array behind the node's id. */
static struct bytes find_ip(const redisReply *node)
{
    const redisReply *more = node->elements > 3 ? node->element[3] : NULL;

    for (size_t i = 0; more && more->type == REDIS_REPLY_ARRAY && i + 1 < more->elements;
         i += 2) {
        const redisReply *name = more->element[i], *value = more->element[i + 1];

        if (name->type == REDIS_REPLY_STRING && value->type == REDIS_REPLY_STRING &&
            bytes_equal(bytes_of(name->str, name->len), BYTES("ip")))
            return bytes_of(value->str, value->len);
    }
    return BYTES("");
}

/* A node that does not know, or hides, its own address has none, or "": it is at the address
 * that was asked. "?": it is to be called by a name, and has none. */
static struct bytes host_of(const redisReply *node, const struct redis_address *asked)
{
    const redisReply *host = node->element[0];

    if (host->type != REDIS_REPLY_STRING || host->len == 0)
        return bytes_of_text(asked->host);
    if (bytes_equal(bytes_of(host->str, host->len), BYTES("?")))
        return find_ip(node);
    return bytes_of(host->str, host->len);
}

static bool read_master(const redisReply *node, const struct redis_address *asked,
                        struct redis_address *master)
{
    const redisReply *port;

    if (node->type != REDIS_REPLY_ARRAY || node->elements < 2)
        return false;
    port = node->element[1];
    if ((node->element[0]->type != REDIS_REPLY_STRING &&
         node->element[0]->type != REDIS_REPLY_NIL) ||
        port->type != REDIS_REPLY_INTEGER)
        return false;
    if (redis_address_set(master, host_of(node, asked), (long)port->integer) != STATUS_OK)
        *master = (struct redis_address){.host = ""};
    return true;
}

static bool read_range(const redisReply *entry, const struct redis_address *asked,
                       struct range *range)
{
    return entry->type == REDIS_REPLY_ARRAY && entry->elements >= 3 &&
           read_slot(entry->element[0], &range->first) &&
           read_slot(entry->element[1], &range->last) && range->first <= range->last &&
           read_master(entry->element[2], asked, &range->master);
}

/* ---- the map ---- */

static unsigned char add_master(struct redis_map *map, const struct redis_address *master)
{
    unsigned i = 0;

    while (i < map->master_count && !redis_address_equal(&map->masters[i], master))
        i++;
    if (i == map->master_count) {
        assert(i < REDIS_MASTERS_MAX); /* one for each bucket, and one for dq:meta */
        map->masters[map->master_count++] = *master;
    }
    return (unsigned char)i;
}

/* Our slots. */
struct wanted {
    unsigned buckets;
    unsigned of_bucket[REDIS_BUCKETS_MAX];
    unsigned of_meta;
};

static struct wanted count_wanted(unsigned buckets, struct bytes meta_key)
{
    struct wanted wanted = {.buckets = buckets, .of_meta = redis_slot_of(meta_key)};

    assert(buckets <= REDIS_BUCKETS_MAX);
    for (unsigned bucket = 0; bucket < buckets; bucket++)
        wanted.of_bucket[bucket] = redis_slot_of_bucket(bucket);
    return wanted;
}

/* Only the first range that has the slot counts. */
static void claim(struct redis_map *map, unsigned char *owner, unsigned slot,
                  const struct range *range)
{
    if (*owner == REDIS_NO_MASTER && slot >= range->first && slot <= range->last)
        *owner = add_master(map, &range->master);
}

static void add_range(struct redis_map *map, const struct range *range,
                      const struct wanted *wanted)
{
    if (!*range->master.host)
        return;
    map->covered += range->last - range->first + 1;
    for (unsigned bucket = 0; bucket < wanted->buckets; bucket++)
        claim(map, &map->of_bucket[bucket], wanted->of_bucket[bucket], range);
    claim(map, &map->of_meta, wanted->of_meta, range);
}

static int compare_masters(const void *a, const void *b)
{
    const struct redis_address *x = a, *y = b;
    int order = strcmp(x->host, y->host);

    return order ? order : (x->port > y->port) - (x->port < y->port);
}

static unsigned char index_of(const struct redis_map *map, const struct redis_address *master)
{
    const struct redis_address *found =
        bsearch(master, map->masters, map->master_count, sizeof(*master), compare_masters);

    return (unsigned char)(found - map->masters);
}

/* Each node lists the ranges in an order of its own. */
static void sort_masters(struct redis_map *map)
{
    const struct redis_map before = *map;

    qsort(map->masters, map->master_count, sizeof(map->masters[0]), compare_masters);
    for (unsigned i = 0; i < REDIS_BUCKETS_MAX; i++) {
        if (before.of_bucket[i] != REDIS_NO_MASTER)
            map->of_bucket[i] = index_of(map, &before.masters[before.of_bucket[i]]);
    }
    if (before.of_meta != REDIS_NO_MASTER)
        map->of_meta = index_of(map, &before.masters[before.of_meta]);
}

enum status redis_map_read(struct redis_map *map, const redisReply *reply,
                           const struct redis_address *asked, unsigned buckets,
                           struct bytes meta_key)
{
    struct redis_map read = {.of_meta = REDIS_NO_MASTER};
    struct wanted wanted = count_wanted(buckets, meta_key);

    if (reply->type != REDIS_REPLY_ARRAY)
        return STATUS_BAD_CONFIG;
    memset(read.of_bucket, REDIS_NO_MASTER, sizeof(read.of_bucket));
    for (size_t i = 0; i < reply->elements; i++) {
        struct range range;

        if (!read_range(reply->element[i], asked, &range))
            return STATUS_BAD_CONFIG;
        add_range(&read, &range, &wanted);
        if (read.covered > REDIS_SLOTS)
            return STATUS_BAD_CONFIG;
    }
    sort_masters(&read);
    *map = read;
    return STATUS_OK;
}

/* ---- errors ---- */

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "3999 127.0.0.1:6381"; "3999 ::1:6381"; "3999 :6381" */
static bool read_target(const char *text, const struct redis_address *asked,
                        struct redis_address *to)
{
    size_t digits = strspn(text, "0123456789");
    const char *host = text + digits + 1, *colon;
    size_t port_digits, host_len;

    if (digits == 0 || text[digits] != ' ')
        return false;
    colon = strrchr(host, ':');
    if (!colon)
        return false;
    host_len = (size_t)(colon - host);
    port_digits = strspn(colon + 1, "0123456789");
    if (port_digits == 0 || port_digits > 5 || colon[1 + port_digits] ||
        bytes_equal(bytes_of(host, host_len), BYTES("?")))
        return false;
    return redis_address_set(to,
                             host_len ? bytes_of(host, host_len) : bytes_of_text(asked->host),
                             strtol(colon + 1, NULL, 10)) == STATUS_OK;
}

/* A script's error stands inside a sentence, which each generation of Redis puts
 * differently. */
static enum redis_redirect of_script(const char *error)
{
    if (strstr(error, "attempted to access a non local key in a cluster node"))
        return REDIS_TRY_AGAIN;
    if (strstr(error, " while the cluster is down"))
        return REDIS_DOWN;
    return REDIS_NOT_REDIRECTED;
}

/* A redirection; REDIS_DOWN where its address cannot be read. */
static enum redis_redirect redirected(enum redis_redirect kind, const char *where,
                                      const struct redis_address *asked,
                                      struct redis_address *to)
{
    return read_target(where, asked, to) ? kind : REDIS_DOWN;
}

enum redis_redirect redis_redirect_read(const char *error, const struct redis_address *asked,
                                        struct redis_address *to)
{
    if (has_prefix(error, "MOVED "))
        return redirected(REDIS_MOVED, error + 6, asked, to);
    if (has_prefix(error, "ASK "))
        return redirected(REDIS_ASK, error + 4, asked, to);
    if (has_prefix(error, "TRYAGAIN"))
        return REDIS_TRY_AGAIN;
    if (has_prefix(error, "CLUSTERDOWN"))
        return REDIS_DOWN;
    return has_prefix(error, "ERR ") ? of_script(error) : REDIS_NOT_REDIRECTED;
}
