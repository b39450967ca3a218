#include "ha/peer/wire.h"

#include <inttypes.h>

#include "base/encoding.h"

static const struct {
    const char *word;
    const char *fields; /* a single letter is a field, a longer word is itself */
} kinds[] = {
#define X(name, word, fields) {word, fields},
    PEER_MESSAGE_LIST(X)
#undef X
};

static const struct {
    const char *word;
    const char *text;
} refusals[] = {
#define X(name, word, text) {word, text},
    PEER_REFUSAL_LIST(X)
#undef X
};

const char *peer_refusal_text(enum peer_refusal refusal)
{
    return refusals[refusal].text;
}

/* ---- the pieces ---- */

static bool parse_hex64(struct bytes text, uint64_t *number)
{
    unsigned char at[8];

    if (!hex_read(text, at, sizeof(at)))
        return false;
    *number = 0;
    for (size_t i = 0; i < sizeof(at); i++)
        *number = *number << 8 | at[i];
    return true;
}

static bool parse_decimal(struct bytes text, uint64_t *number)
{
    uint64_t n = 0;

    if (text.len == 0 || (text.len > 1 && text.at[0] == '0'))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = (unsigned)(text.at[i] - '0');

        if (digit > 9 || n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *number = n;
    return true;
}

static bool parse_refusal(struct bytes text, enum peer_refusal *refusal)
{
    for (unsigned i = 0; i < PEER_REFUSAL_COUNT; i++) {
        if (bytes_equal(text, bytes_of_text(refusals[i].word))) {
            *refusal = (enum peer_refusal)i;
            return true;
        }
    }
    return false;
}

bool peer_wire_is_name(struct bytes name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_.:-";

    if (name.len == 0 || name.len > PEER_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!memchr(allowed, name.at[i], sizeof(allowed) - 1))
            return false;
    return true;
}

/* ---- one field ---- */

static void print_field(char field, const struct peer_message *m, struct buf *to)
{
    char token[TOKEN_TEXT_LEN + 1];

    switch (field) {
    case 'n':
        buf_add_text(to, m->node);
        break;
    case 'i':
        buf_printf(to, "%016" PRIx64, m->incarnation);
        break;
    case 'c':
        hex_add(to, m->challenge, sizeof(m->challenge));
        break;
    case 'm':
        hex_add(to, m->mac, sizeof(m->mac));
        break;
    case 'r':
        buf_add_text(to, refusals[m->refusal].word);
        break;
    case 's':
        buf_printf(to, "%016" PRIx64, (uint64_t)m->session.session);
        break;
    case 'p':
        hex_add(to, m->session.password, sizeof(m->session.password));
        break;
    case 't':
        token_print(&m->token, token);
        buf_add_text(to, token);
        break;
    case 'q':
        buf_printf(to, "%" PRIu64, m->seq);
        break;
    case 'd':
        buf_printf(to, "%" PRId64, m->session_ms);
        break;
    }
}

static bool parse_field(char field, struct bytes text, struct peer_message *m)
{
    uint64_t number;

    switch (field) {
    case 'n':
        if (!peer_wire_is_name(text))
            return false;
        memcpy(m->node, text.at, text.len);
        return true;
    case 'i':
        return parse_hex64(text, &m->incarnation) && m->incarnation != 0;
    case 'c':
        return hex_read(text, m->challenge, sizeof(m->challenge));
    case 'm':
        return hex_read(text, m->mac, sizeof(m->mac));
    case 'r':
        return parse_refusal(text, &m->refusal);
    case 's':
        if (!parse_hex64(text, &number))
            return false;
        m->session.session = (int64_t)number;
        return true;
    case 'p':
        return hex_read(text, m->session.password, sizeof(m->session.password));
    case 't':
        return token_parse(&m->token, text) == STATUS_OK && !token_is_none(&m->token);
    case 'q':
        return parse_decimal(text, &m->seq);
    case 'd':
        if (!parse_decimal(text, &number) || number < COORD_TIMEOUT_MIN_MS ||
            number > COORD_TIMEOUT_MAX_MS)
            return false;
        m->session_ms = (int64_t)number;
        return true;
    }
    return false;
}

/* ---- a line ---- */

/* Takes the next word and the one space behind it off `text`. */
static struct bytes take_word(struct bytes *text)
{
    const char *space = text->len ? memchr(text->at, ' ', text->len) : NULL;
    size_t len = space ? (size_t)(space - text->at) : text->len;
    size_t gone = space ? len + 1 : len;
    struct bytes word = bytes_of(text->at, len);

    *text = bytes_of(text->at + gone, text->len - gone);
    return word;
}

void peer_wire_print(const struct peer_message *m, struct buf *to)
{
    struct bytes fields = bytes_of_text(kinds[m->kind].fields);

    buf_add_text(to, kinds[m->kind].word);
    while (fields.len) {
        struct bytes field = take_word(&fields);

        buf_add_char(to, ' ');
        if (field.len == 1)
            print_field(field.at[0], m, to);
        else
            buf_add_bytes(to, field);
    }
    buf_add_char(to, '\n');
}

static bool parse_fields(struct peer_message *m, struct bytes fields, struct bytes line)
{
    while (fields.len) {
        struct bytes field = take_word(&fields), word = take_word(&line);

        if (field.len == 1 ? !parse_field(field.at[0], word, m) : !bytes_equal(field, word))
            return false;
    }
    return line.len == 0;
}

enum status peer_wire_parse(struct peer_message *m, struct bytes line)
{
    struct bytes rest = line, word = take_word(&rest);
    struct peer_message got = {0};

    if (line.len >= PEER_LINE_MAX || (line.len && line.at[line.len - 1] == ' '))
        return STATUS_BAD_REQUEST;
    for (unsigned i = 0; i < PEER_MESSAGE_COUNT; i++) {
        if (!bytes_equal(word, bytes_of_text(kinds[i].word)))
            continue;
        got.kind = (enum peer_message_kind)i;
        if (!parse_fields(&got, bytes_of_text(kinds[i].fields), rest))
            return STATUS_BAD_REQUEST;
        *m = got;
        return STATUS_OK;
    }
    return STATUS_BAD_REQUEST;
}
