/* Answers as Redis would send them, read by hiredis's own reader, for tests of decode.h. */
#ifndef DUEQ_NODE_STORE_REDIS_WIRE_TESTS_REPLY_FIXTURE_H
#define DUEQ_NODE_STORE_REDIS_WIRE_TESTS_REPLY_FIXTURE_H

#include "base/tests/unit.h"
#include "node/store/redis/wire/decode.h"

#define NOW "1800000000000"

/* Of a reserved job: TTR 60,000, due 7, stamp 513, delay 9. */
#define HEADER                       \
    "\3\0\2\0\0\xEA\x60\0\0\0\0\0\7" \
    "\0\0\0\0\2\1\0\0\0\0\x09"

/* An op of the verb, that has asked for two or three of what it may ask for. */
struct op op_of(enum op_verb verb);

/* Decodes `text`, in which "\n" stands for "\r\n" and which is `len` bytes long. What the op
 * borrows from the answer lives until the next one is decoded, or reply_fini. */
enum reply_meaning decode_bytes(struct op *op, const char *text, size_t len);

#define DECODE(op, text) decode_bytes(op, text, sizeof(text) - 1)

/* What follows decodes the `i`-th of the `count` ops of a call; 0, 1: the only one. */
void decode_part_of(unsigned i, unsigned count);

/* Element by element, where they are not text: begins with what stands at the head of every
 * answer that is OK; decode_built puts the number of elements before it. */
void build(void);
void build_number(int64_t number);
void build_bytes(struct bytes bytes);
enum reply_meaning decode_built(struct op *op);

/* What the last one that was REPLY_LARGE said. */
size_t large_bytes(void);

int reply_fini(void **state);

#endif
