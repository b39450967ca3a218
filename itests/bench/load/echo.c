#include "itests/bench/load/echo.h"

#include <stdlib.h>

#include "itests/bench/load/die.h"
#include "itests/bench/load/protocol.h"

static struct bytes first_line(struct bytes in)
{
    const char *end = memchr(in.at, '\n', in.len);

    return bytes_of(in.at, end ? (size_t)(end - in.at) + 1 : 0);
}

/* {"method":"Service.Pop",...,"id":7} */
static size_t echo_gmq(struct bytes in, struct buf *out)
{
    struct bytes line = first_line(in);
    const char *colon = line.len ? memrchr(line.at, ':', line.len) : NULL;
    unsigned long tag;

    if (!colon)
        return line.len;
    tag = strtoul(colon + 1, NULL, 10);
    if (starts_with(line, BYTES("{\"method\":\"Service.Pop\"")))
        buf_printf(out,
                   "{\"id\":%lu,\"result\":{\"TTR\":60,\"body\":\"\",\"consume_num\":0,"
                   "\"delay\":0,\"id\":\"1\",\"status\":3,\"topic\":\"bench-0\"},"
                   "\"error\":null}\n",
                   tag);
    else
        buf_printf(out, "{\"id\":%lu,\"result\":\"success\",\"error\":null}\n", tag);
    return line.len;
}

static void http_reply(struct buf *out, const char *status, const char *body)
{
    buf_printf(out, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", status, strlen(body), body);
}

static size_t echo_http(struct bytes in, struct buf *out)
{
    struct bytes rest = after(in, BYTES("\r\n\r\n"));
    struct bytes head = bytes_of(in.at, in.len - rest.len);
    struct bytes digits = after(head, BYTES("\r\nContent-Length: "));
    struct bytes line = first_line(head);
    size_t length = digits.len ? strtoul(digits.at, NULL, 10) : 0;

    if (!ends_with(head, BYTES("\r\n\r\n")) || rest.len < length)
        return 0;
    if (after(line, BYTES("/pop?")).len)
        http_reply(out, "200 OK",
                   "{\"topic\":\"bench-0\",\"jobs\":[{\"id\":\"1\",\"topic\":\"bench-0\","
                   "\"body\":\"\",\"lease\":\"1\"}]}");
    else if (after(line, BYTES("/ack ")).len)
        buf_add_text(out, "HTTP/1.1 204 No Content\r\n\r\n");
    else
        http_reply(out, "201 Created", "{\"id\":\"1\",\"due_ms\":1}");
    return head.len + length;
}

/* put <priority> <delay> <ttr> <bytes> */
static size_t put_bytes(struct bytes line)
{
    const char *blank = memrchr(line.at, ' ', line.len);

    return blank ? strtoul(blank + 1, NULL, 10) + 2 : 0;
}

static size_t echo_beanstalk(struct bytes in, struct buf *out)
{
    struct bytes line = first_line(in);
    size_t whole = line.len;

    if (starts_with(line, BYTES("put ")))
        whole += put_bytes(line);
    if (whole == 0 || in.len < whole)
        return 0;
    if (whole > line.len)
        buf_add_text(out, "INSERTED 1\r\n");
    else if (starts_with(line, BYTES("delete ")))
        buf_add_text(out, "DELETED\r\n");
    else
        buf_add_text(out, "RESERVED 1 0\r\n\r\n");
    return whole;
}

echo_function *echo_find(const char *protocol)
{
    static const struct {
        const char *protocol;
        echo_function *echo;
    } echoes[] = {
        {"gmq", echo_gmq},
        {"http", echo_http},
        {"beanstalk", echo_beanstalk},
    };

    for (size_t i = 0; i < sizeof(echoes) / sizeof(*echoes); i++) {
        if (!strcmp(echoes[i].protocol, protocol))
            return echoes[i].echo;
    }
    die("there is no echo for %s", protocol);
}
