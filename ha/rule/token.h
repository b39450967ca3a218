/* The fencing token: who leads, as Redis compares it.
 *
 * A token is an ensemble (a random uuid that a ZooKeeper ensemble gets once) and an epoch, one
 * higher with every election. Within an ensemble the higher epoch wins; tokens of two ensembles
 * cannot be compared. The text has a fixed width, because Lua's numbers are doubles: 32
 * hexadecimal digits, ':', 16 hexadecimal digits.
 *
 * Redis has TOKEN_STANDALONE instead of a token where an operator has given it to standalone
 * nodes; that text counts as an ensemble of its own.
 */
#ifndef DUEQ_HA_RULE_TOKEN_H
#define DUEQ_HA_RULE_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

#define TOKEN_ENSEMBLE_LEN 32
#define TOKEN_TEXT_LEN     (TOKEN_ENSEMBLE_LEN + 1 + 16)
#define TOKEN_STANDALONE   "standalone"
#define TOKEN_EPOCH_MAX    99999999999999999u /* 17 digits; no cluster gets there by elections */

struct token {
    /* Lower-case hexadecimal; or TOKEN_STANDALONE; "": none. */
    char ensemble[TOKEN_ENSEMBLE_LEN + 1];
    uint64_t epoch; /* 0: none */
};

bool token_is_none(const struct token *t);
bool token_is_standalone(const struct token *t);
bool token_equal(const struct token *a, const struct token *b);

/* 32 lower-case hexadecimal digits? */
bool token_is_ensemble(struct bytes text);

/* Writes TOKEN_TEXT_LEN characters and a NUL, TOKEN_STANDALONE, or "" for no token. */
void token_print(const struct token *t, char text[TOKEN_TEXT_LEN + 1]);

/* BAD_REQUEST for any text that is neither a token nor "" (none). */
enum status token_parse(struct token *t, struct bytes text) MUST_CHECK;

/* Parses the text in Redis: a token, "", or TOKEN_STANDALONE. */
enum status token_parse_fence(struct token *t, struct bytes text) MUST_CHECK;

#endif
