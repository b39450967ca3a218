#include "protocol/http/message.h"

#include <assert.h>
#include <ctype.h>
#include <strings.h>

#include "base/network.h"

static int hex_value(char c)
{
    if (isdigit((unsigned char)c))
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool url_unescape(struct bytes *text)
{
    char *at = text->len ? memchr(text->at, '%', text->len) : NULL;
    const char *from = at, *end;

    if (!at)
        return true;
    for (end = text->at + text->len; from < end;) {
        int high, low;

        if (*from != '%') {
            *at++ = *from++;
            continue;
        }
        high = end - from > 2 ? hex_value(from[1]) : -1;
        low = high >= 0 ? hex_value(from[2]) : -1;
        if (low < 0)
            return false;
        *at++ = (char)(high << 4 | low);
        from += 3;
    }
    text->len = (size_t)(at - text->at);
    return true;
}

bool url_query_next(struct bytes *rest, struct bytes *name, struct bytes *value)
{
    while (rest->len) {
        *value = bytes_cut(rest, '&');
        if (!value->len)
            continue;
        *name = bytes_cut(value, '=');
        return true;
    }
    return false;
}

static bool form_unescape(struct bytes *text)
{
    const char *end = text->at + text->len;
    char *plus = text->len ? memchr(text->at, '+', text->len) : NULL;

    for (; plus; plus = memchr(plus, '+', (size_t)(end - plus)))
        *plus = ' ';
    return url_unescape(text);
}

int form_next(struct bytes *rest, struct bytes *name, struct bytes *value)
{
    if (!url_query_next(rest, name, value))
        return 0;
    return form_unescape(name) && form_unescape(value) ? 1 : -1;
}

/* ---- host ---- */

/* In any case. */
static bool is_word(struct bytes bytes, struct bytes word)
{
    return bytes.len == word.len && strncasecmp(bytes.at, word.at, word.len) == 0;
}

static bool is_v4_address(struct bytes name)
{
    size_t i = 0;

    while (i < name.len && strchr("0123456789.", name.at[i]))
        i++;
    return name.len && i == name.len;
}

static bool is_listed(struct bytes name, struct bytes names)
{
    while (names.len)
        if (is_word(name, bytes_cut(&names, ',')))
            return true;
    return false;
}

/* Without its port, and the dot that may stand behind a complete name. */
static struct bytes name_of(struct bytes host)
{
    struct bytes name = bytes_cut(&host, ':');

    if (name.len > 1 && name.at[name.len - 1] == '.')
        name.len--;
    return name;
}

/* "[::1]:8000" */
static bool is_v6_address(struct bytes host)
{
    bool has_end = host.len && memchr(host.at, ']', host.len);
    struct bytes address = bytes_cut(&host, ']');
    struct in6_addr ignored;

    if (!has_end || address.at[0] != '[' || (host.len && host.at[0] != ':'))
        return false;
    address = bytes_of(address.at + 1, address.len - 1);
    return address.len && memchr(address.at, ':', address.len) &&
           address_read(address, &ignored);
}

bool host_is_ours(struct bytes host, const char *names)
{
    struct bytes name = name_of(host);

    return !host.len || is_v6_address(host) || is_v4_address(name) ||
           is_word(name, BYTES("localhost")) || !strcmp(names, "*") ||
           is_listed(name, bytes_of_text(names));
}

bool host_is_private(struct bytes host)
{
    static const struct bytes endings[] = {BYTES(".localhost"), BYTES(".local"),
                                           BYTES(".internal"), BYTES(".svc"),
                                           BYTES(".home.arpa")};
    struct bytes name = name_of(host);

    if (name.len && !memchr(name.at, '.', name.len))
        return true;
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
        if (name.len > endings[i].len &&
            is_word(bytes_of(name.at + name.len - endings[i].len, endings[i].len), endings[i]))
            return true;
    return false;
}

/* ---- body ---- */

#define LINE_MAX_BYTES    256 /* a chunk's size and what may follow it: nobody uses that */
#define TRAILER_MAX_BYTES 4096

/* Counts announced content. */
static enum http_error expect_content(struct body *b, uint64_t bytes)
{
    b->state = BODY_DATA;
    b->left = bytes;
    if (bytes > b->max_bytes - b->len)
        return HTTP_ERROR_TOO_LARGE;
    b->len += bytes;
    return HTTP_ERROR_NONE;
}

enum http_error body_begin(struct body *b, const struct head *h, uint64_t max_bytes)
{
    *b = (struct body){.is_chunked = h->is_chunked, .max_bytes = max_bytes};
    if (h->is_chunked)
        b->state = BODY_SIZE;
    else if (h->body_bytes)
        return expect_content(b, h->body_bytes);
    return HTTP_ERROR_NONE;
}

/* `*used`: the bytes of the line with its end; 0: not complete. */
static enum http_error take_line(struct bytes input, size_t *used, struct bytes *line)
{
    size_t room = input.len < LINE_MAX_BYTES ? input.len : LINE_MAX_BYTES;
    const char *end = memchr(input.at, '\n', room);

    if (!end)
        return input.len < LINE_MAX_BYTES ? HTTP_ERROR_NONE : HTTP_ERROR_CHUNK;
    if (end == input.at || end[-1] != '\r')
        return HTTP_ERROR_LINE_END;
    *line = bytes_of(input.at, (size_t)(end - 1 - input.at));
    *used = line->len + 2;
    return memchr(line->at, '\r', line->len) ? HTTP_ERROR_LINE_END : HTTP_ERROR_NONE;
}

/* Nothing but an extension, which is left alone. */
static bool may_follow_size(struct bytes rest)
{
    while (rest.len && (rest.at[0] == ' ' || rest.at[0] == '\t'))
        rest = bytes_of(rest.at + 1, rest.len - 1);
    return rest.len == 0 || rest.at[0] == ';';
}

static enum http_error take_size(struct body *b, struct bytes line)
{
    uint64_t size = 0;
    size_t i = 0;
    int digit;

    for (; i < line.len && (digit = hex_value(line.at[i])) >= 0; i++) {
        if (size >> 56)
            return HTTP_ERROR_TOO_LARGE;
        size = size << 4 | (unsigned)digit;
    }
    if (i == 0 || !may_follow_size(bytes_of(line.at + i, line.len - i)))
        return HTTP_ERROR_CHUNK;
    if (size)
        return expect_content(b, size);
    b->state = BODY_TRAILER;
    return HTTP_ERROR_NONE;
}

static enum http_error take_data_end(struct body *b, struct bytes line)
{
    b->state = BODY_SIZE;
    return line.len ? HTTP_ERROR_CHUNK : HTTP_ERROR_NONE;
}

static enum http_error take_trailer(struct body *b, struct bytes line)
{
    b->trailer_bytes += line.len;
    if (!line.len)
        b->state = BODY_DONE;
    return b->trailer_bytes > TRAILER_MAX_BYTES ? HTTP_ERROR_HEAD : HTTP_ERROR_NONE;
}

static void take_data(struct body *b, struct bytes input, size_t *used, struct bytes *content)
{
    *used = input.len < b->left ? input.len : (size_t)b->left;
    *content = bytes_of(input.at, *used);
    b->left -= *used;
    if (b->left == 0)
        b->state = b->is_chunked ? BODY_DATA_END : BODY_DONE;
}

enum http_error body_take(struct body *b, struct bytes input, size_t *used,
                          struct bytes *content)
{
    static enum http_error (*const takers[])(struct body * b, struct bytes line) = {
        [BODY_SIZE] = take_size,
        [BODY_DATA_END] = take_data_end,
        [BODY_TRAILER] = take_trailer};
    struct bytes line;
    enum http_error error;

    assert(b->state != BODY_DONE && b->state != BODY_LOST);
    *used = 0;
    *content = bytes_of(input.at, 0);
    if (b->state == BODY_DATA) {
        take_data(b, input, used, content);
        return HTTP_ERROR_NONE;
    }
    error = take_line(input, used, &line);
    return error || !*used ? error : takers[b->state](b, line);
}

/* ---- head: bytes ---- */

/* Marks that may stand beside letters and digits: in a token (RFC 9110, 5.6.2), in a request's
 * id, and in a name or an address with its port. */
static const char token_marks[] = "!#$%&'*+-.^_`|~";
static const char id_marks[] = "-_.:";
static const char host_marks[] = "-._~%!$&'()*+;=:[]";

/* How many bytes from the first on are letters, digits or `marks`. */
static size_t span(struct bytes bytes, const char *marks)
{
    size_t n = 0;

    while (n < bytes.len && bytes.at[n] &&
           (isalnum((unsigned char)bytes.at[n]) || strchr(marks, bytes.at[n])))
        n++;
    return n;
}

static bool consists_of(struct bytes bytes, const char *marks)
{
    return span(bytes, marks) == bytes.len;
}

static bool is_token(struct bytes bytes)
{
    return bytes.len && consists_of(bytes, token_marks);
}

static bool is_visible(struct bytes bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        if (bytes.at[i] <= ' ' || bytes.at[i] >= 0x7f)
            return false;
    return true;
}

static bool is_text(struct bytes bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.at[i];

        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static bool begins_with(struct bytes bytes, struct bytes start)
{
    return bytes.len >= start.len && is_word(bytes_of(bytes.at, start.len), start);
}

static struct bytes behind(struct bytes bytes, size_t n)
{
    return bytes_of(bytes.at + n, bytes.len - n);
}

static struct bytes trim(struct bytes bytes)
{
    while (bytes.len && (bytes.at[0] == ' ' || bytes.at[0] == '\t'))
        bytes = behind(bytes, 1);
    while (bytes.len && (bytes.at[bytes.len - 1] == ' ' || bytes.at[bytes.len - 1] == '\t'))
        bytes.len--;
    return bytes;
}

/* Takes the part of `rest` before the first `c`, and drops that `c`; false: there is none. */
static bool cut(struct bytes *rest, char c, struct bytes *front)
{
    const char *at = rest->len ? memchr(rest->at, c, rest->len) : NULL;

    if (!at)
        return false;
    *front = bytes_of(rest->at, (size_t)(at - rest->at));
    *rest = behind(*rest, front->len + 1);
    return true;
}

/* ---- the first line ---- */

/* A proxy's form, http://host/path, is understood and its host ignored. Behind the host stand a
 * path, a query, both or nothing; where no path does, the slash before the host is `root`. */
static bool skip_host(struct bytes *target, struct bytes *root)
{
    struct bytes host;
    size_t len;

    if (begins_with(*target, BYTES("http://")))
        host = behind(*target, 7);
    else if (begins_with(*target, BYTES("https://")))
        host = behind(*target, 8);
    else
        return false;
    len = span(host, host_marks);
    *root = bytes_of(host.at - 1, 1);
    *target = behind(host, len);
    return len && (!target->len || target->at[0] == '/' || target->at[0] == '?');
}

static bool parse_target(struct bytes target, struct head *h)
{
    struct bytes root = BYTES("");

    if (!target.len || !is_visible(target))
        return false;
    if (target.at[0] != '/' && !skip_host(&target, &root))
        return false;
    if (cut(&target, '?', &h->path))
        h->query = target;
    else
        h->path = target;
    if (!h->path.len)
        h->path = root;
    return true;
}

static enum http_error parse_version(struct bytes version, struct head *h)
{
    if (version.len != 8 || memcmp(version.at, "HTTP/", 5) != 0 ||
        !isdigit((unsigned char)version.at[5]) || version.at[6] != '.' ||
        !isdigit((unsigned char)version.at[7]))
        return HTTP_ERROR_REQUEST_LINE;
    if (version.at[5] != '1' || version.at[7] > '1')
        return HTTP_ERROR_VERSION;
    h->is_old = version.at[7] == '0';
    h->is_kept_alive = !h->is_old;
    return HTTP_ERROR_NONE;
}

static enum http_error parse_first_line(struct bytes line, struct head *h)
{
    struct bytes target;

    if (!cut(&line, ' ', &h->method) || !is_token(h->method) || !cut(&line, ' ', &target) ||
        !parse_target(target, h))
        return bytes_equal(h->method, BYTES("PROXY")) ? HTTP_ERROR_PROXY
                                                      : HTTP_ERROR_REQUEST_LINE;
    return parse_version(line, h);
}

/* ---- the headers that are read ---- */

static enum http_error take_length(struct bytes value, struct head *h)
{
    uint64_t length = 0;

    if (h->has_length || !value.len)
        return HTTP_ERROR_LENGTH;
    for (size_t i = 0; i < value.len; i++) {
        if (!isdigit((unsigned char)value.at[i]))
            return HTTP_ERROR_LENGTH;
        if (length > UINT64_MAX / 100)
            return HTTP_ERROR_TOO_LARGE;
        length = length * 10 + (unsigned)(value.at[i] - '0');
    }
    h->has_length = true;
    h->body_bytes = length;
    return HTTP_ERROR_NONE;
}

static enum http_error take_coding(struct bytes value, struct head *h)
{
    if (h->is_chunked)
        return HTTP_ERROR_LENGTH;
    if (!is_word(value, BYTES("chunked")))
        return HTTP_ERROR_CODING;
    h->is_chunked = true;
    return HTTP_ERROR_NONE;
}

/* A list of words; "close" wins over all others. */
static enum http_error take_connection(struct bytes value, struct head *h)
{
    bool is_closed = false, is_kept = false;

    while (value.len) {
        struct bytes word = trim(bytes_cut(&value, ','));

        is_closed |= is_word(word, BYTES("close"));
        is_kept |= is_word(word, BYTES("keep-alive"));
    }
    h->wants_close |= is_closed;
    h->is_kept_alive = !h->wants_close && (h->is_kept_alive || is_kept);
    return HTTP_ERROR_NONE;
}

static enum http_error take_expect(struct bytes value, struct head *h)
{
    if (!is_word(value, BYTES("100-continue")))
        return HTTP_ERROR_EXPECTATION;
    h->expects_continue = !h->is_old;
    return HTTP_ERROR_NONE;
}

static enum http_error take_host(struct bytes value, struct head *h)
{
    if (h->host.at || !value.len || !consists_of(value, host_marks))
        return HTTP_ERROR_NO_HOST;
    h->host = value;
    return HTTP_ERROR_NONE;
}

static enum http_error take_origin(struct bytes value, struct head *h)
{
    h->has_origin = true;
    return HTTP_ERROR_NONE;
}

static enum http_error take_fetch_site(struct bytes value, struct head *h)
{
    h->fetch_site = value;
    return HTTP_ERROR_NONE;
}

static enum http_error take_request_id(struct bytes value, struct head *h)
{
    if (value.len <= REQUEST_ID_MAX && consists_of(value, id_marks))
        h->request_id = value;
    return HTTP_ERROR_NONE;
}

/* Two could be read in two ways. */
static enum http_error take_authorization(struct bytes value, struct head *h)
{
    if (h->authorization.at)
        return HTTP_ERROR_FIELD;
    h->authorization = value;
    return HTTP_ERROR_NONE;
}

static const struct field {
    struct bytes name;
    enum http_error (*take)(struct bytes value, struct head *h);
} fields[] = {
    {BYTES("Content-Length"), take_length},
    {BYTES("Transfer-Encoding"), take_coding},
    {BYTES("Connection"), take_connection},
    {BYTES("Expect"), take_expect},
    {BYTES("X-Request-Id"), take_request_id},
    {BYTES("Host"), take_host},
    {BYTES("Origin"), take_origin},
    {BYTES("Sec-Fetch-Site"), take_fetch_site},
    {BYTES("Authorization"), take_authorization},
};

static enum http_error parse_field(struct bytes line, struct head *h)
{
    struct bytes name;

    if (!cut(&line, ':', &name) || !is_token(name) || !is_text(line))
        return HTTP_ERROR_FIELD;
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        if (is_word(name, fields[i].name))
            return fields[i].take(trim(line), h);
    return HTTP_ERROR_NONE;
}

/* ---- the whole ---- */

enum http_error head_find_end(struct bytes input, size_t *seen, size_t *len)
{
    *len = 0;
    while (*seen < input.len && !*len) {
        const char *end = memchr(input.at + *seen, '\n', input.len - *seen);
        size_t at = end ? (size_t)(end - input.at) : input.len;

        if (at >= HEAD_MAX_BYTES)
            return HTTP_ERROR_HEAD;
        if (end && (at == 0 || end[-1] != '\r'))
            return HTTP_ERROR_LINE_END;
        if (end && at >= 3 && end[-2] == '\n')
            *len = at + 1;
        *seen = end ? at + 1 : at;
    }
    return HTTP_ERROR_NONE;
}

static struct bytes next_line(struct bytes *rest)
{
    struct bytes line = bytes_of(rest->at, 0);

    if (cut(rest, '\n', &line) && line.len)
        line.len--; /* the CR */
    return line;
}

enum http_error head_parse(struct bytes bytes, struct head *out)
{
    struct head h = {.has_length = false};
    enum http_error error = parse_first_line(next_line(&bytes), &h);
    struct bytes line;

    h.fields = bytes;
    line = next_line(&bytes);

    for (unsigned count = 0; !error && line.len; line = next_line(&bytes))
        error = ++count > HEAD_MAX_FIELDS ? HTTP_ERROR_HEAD : parse_field(line, &h);
    if (!error && h.is_chunked && (h.has_length || h.is_old))
        error = HTTP_ERROR_LENGTH;
    if (!error && !h.host.at && !h.is_old)
        error = HTTP_ERROR_NO_HOST;
    if (!error)
        *out = h;
    return error;
}

bool head_next_field(struct bytes *rest, struct bytes *name, struct bytes *value)
{
    struct bytes line = next_line(rest);

    if (!cut(&line, ':', name))
        return false;
    *value = trim(line);
    return true;
}

struct bytes head_field(const struct head *h, const char *name)
{
    struct bytes rest = h->fields, found, value;

    while (head_next_field(&rest, &found, &value))
        if (is_word(found, bytes_of_text(name)))
            return value;
    return bytes_of(NULL, 0);
}

bool head_is_foreign(const struct head *h)
{
    if (!h->fetch_site.at)
        return h->has_origin;
    return !bytes_equal(h->fetch_site, BYTES("same-origin")) &&
           !bytes_equal(h->fetch_site, BYTES("none"));
}
