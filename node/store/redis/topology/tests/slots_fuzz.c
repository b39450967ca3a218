/* Answers to CLUSTER SLOTS grown from bytes, and redirections that are bytes.
 *
 *   byte 0   buckets, less 1, in the low 7 bits; 0x80: the rest is the text of an error
 *   then elements, each a tag and its data:
 *     0 n2       an integer of two bytes
 *     1 l text   a string of l bytes
 *     2          nil
 *     3 n8       an integer of eight bytes
 *     4 n        an array of the next n elements
 *     5 lo hi l host port
 *                an entry as it should be: slots, a node's host and port
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "node/store/redis/topology/slots.h"

#define ELEMENTS_MAX 300
#define DEPTH_MAX    4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

static long long take(struct input *in, unsigned bytes)
{
    unsigned long long number = 0;

    for (; bytes > 0 && in->left > 0; bytes--, in->left--)
        number = number << 8 | *in->at++;
    return (long long)number;
}

static redisReply *make(int type)
{
    redisReply *reply = calloc(1, sizeof(*reply));

    reply->type = type;
    return reply;
}

static redisReply *take_integer(struct input *in, unsigned bytes)
{
    redisReply *reply = make(REDIS_REPLY_INTEGER);

    reply->integer = take(in, bytes);
    return reply;
}

static redisReply *take_text(struct input *in)
{
    redisReply *reply = make(REDIS_REPLY_STRING);
    size_t len = (size_t)take(in, 1);

    reply->len = len < in->left ? len : in->left;
    reply->str = calloc(1, reply->len + 1);
    memcpy(reply->str, in->at, reply->len);
    in->at += reply->len;
    in->left -= reply->len;
    return reply;
}

static redisReply *make_array(size_t room)
{
    redisReply *reply = make(REDIS_REPLY_ARRAY);

    reply->element = calloc(room + 1, sizeof(*reply->element));
    return reply;
}

static void add(redisReply *array, redisReply *element)
{
    array->element[array->elements++] = element;
}

static redisReply *take_entry(struct input *in)
{
    redisReply *entry = make_array(3), *node = make_array(2);

    add(entry, take_integer(in, 2));
    add(entry, take_integer(in, 2));
    add(node, take_text(in));
    add(node, take_integer(in, 2));
    add(entry, node);
    return entry;
}

static redisReply *take_array(struct input *in, size_t count, unsigned depth);

static redisReply *take_element(struct input *in, unsigned depth)
{
    switch (take(in, 1) % 6) {
    case 0:
        return take_integer(in, 2);
    case 1:
        return take_text(in);
    case 2:
        return make(REDIS_REPLY_NIL);
    case 3:
        return take_integer(in, 8);
    case 4:
        return take_array(in, depth < DEPTH_MAX ? (size_t)take(in, 1) : 0, depth + 1);
    default:
        return take_entry(in);
    }
}

static redisReply *take_array(struct input *in, size_t count, unsigned depth)
{
    redisReply *array = make_array(count);

    while (in->left && array->elements < count)
        add(array, take_element(in, depth));
    return array;
}

static void check_address(const struct redis_address *address)
{
    assert(*address->host && strlen(address->host) < sizeof(address->host));
    assert(address->port >= 1 && address->port <= 65535);
}

static void check_who(const struct redis_map *map, unsigned char who)
{
    assert(who == REDIS_NO_MASTER || who < map->master_count);
}

static void check_map(const struct redis_map *map, unsigned buckets)
{
    assert(map->covered <= REDIS_SLOTS && map->master_count <= buckets + 1);
    for (unsigned i = 0; i < map->master_count; i++)
        check_address(&map->masters[i]);
    for (unsigned bucket = 0; bucket < buckets; bucket++)
        check_who(map, map->of_bucket[bucket]);
    check_who(map, map->of_meta);
}

static void read_error(struct input *in, const struct redis_address *asked)
{
    char *error = calloc(1, in->left + 1);
    struct redis_address to = {.port = -1};
    enum redis_redirect redirect;

    memcpy(error, in->at, in->left);
    redirect = redis_redirect_read(error, asked, &to);
    if (redirect == REDIS_MOVED || redirect == REDIS_ASK)
        check_address(&to);
    else
        assert(to.port == -1);
    free(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct redis_address asked = {.host = "asked", .port = 1};
    struct input in = {data, size};
    unsigned first = (unsigned)take(&in, 1), buckets = 1 + first % REDIS_BUCKETS_MAX;
    struct redis_map map;
    redisReply *reply;

    if (first & 0x80) {
        read_error(&in, &asked);
        return 0;
    }
    reply = take_array(&in, ELEMENTS_MAX, 0);
    if (redis_map_read(&map, reply, &asked, buckets, BYTES("dq:meta")) == STATUS_OK)
        check_map(&map, buckets);
    freeReplyObject(reply);
    return 0;
}
