#include "ha/rule/token.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool token_is_none(const struct token *t)
{
    return t->ensemble[0] == '\0';
}

bool token_is_standalone(const struct token *t)
{
    return !strcmp(t->ensemble, TOKEN_STANDALONE);
}

bool token_equal(const struct token *a, const struct token *b)
{
    return a->epoch == b->epoch && !strcmp(a->ensemble, b->ensemble);
}

void token_print(const struct token *t, char text[TOKEN_TEXT_LEN + 1])
{
    if (token_is_none(t))
        text[0] = '\0';
    else if (token_is_standalone(t))
        snprintf(text, TOKEN_TEXT_LEN + 1, "%s", TOKEN_STANDALONE);
    else
        snprintf(text, TOKEN_TEXT_LEN + 1, "%s:%016" PRIx64, t->ensemble, t->epoch);
}

/* The value of a lower-case hexadecimal digit, or -1. */
static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool are_digits(const char *at, unsigned count)
{
    while (count && digit_of(*at) >= 0)
        at++, count--;
    return count == 0;
}

bool token_is_ensemble(struct bytes text)
{
    return text.len == TOKEN_ENSEMBLE_LEN && are_digits(text.at, TOKEN_ENSEMBLE_LEN);
}

enum status token_parse(struct token *t, struct bytes text)
{
    struct token parsed = {.epoch = 0};
    const char *epoch = text.at + TOKEN_ENSEMBLE_LEN + 1;

    if (text.len == 0) {
        *t = parsed;
        return STATUS_OK;
    }
    if (text.len != TOKEN_TEXT_LEN || !are_digits(text.at, TOKEN_ENSEMBLE_LEN) ||
        epoch[-1] != ':' || !are_digits(epoch, 16))
        return STATUS_BAD_REQUEST;
    memcpy(parsed.ensemble, text.at, TOKEN_ENSEMBLE_LEN);
    for (int i = 0; i < 16; i++)
        parsed.epoch = parsed.epoch << 4 | (unsigned)digit_of(epoch[i]);
    *t = parsed;
    return STATUS_OK;
}

enum status token_parse_fence(struct token *t, struct bytes text)
{
    if (!bytes_equal(text, BYTES(TOKEN_STANDALONE)))
        return token_parse(t, text);
    *t = (struct token){.ensemble = TOKEN_STANDALONE};
    return STATUS_OK;
}
