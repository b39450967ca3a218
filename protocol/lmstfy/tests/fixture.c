#include "base/tests/unit.h"

#include "protocol/lmstfy/tests/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/access/audit.h"
#include "protocol/lmstfy/lmstfy.h"

int lmstfy_up(void **state)
{
    return fixture_up_app(state, &lmstfy_app, NULL);
}

static void send_request(struct client *c, const char *line, const char *headers,
                         const char *body)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s HTTP/1.1\r\nHost: h\r\n%s", line, headers);
    if (body)
        buf_printf(&text, "Content-Length: %zu\r\n", strlen(body));
    buf_printf(&text, "\r\n%s", body ? body : "");
    say_bytes(c, buf_bytes(&text));
    buf_fini(&text);
}

const char *request_with(struct fixture *f, const char *line, const char *headers,
                         const char *body)
{
    struct client c = connect_client(f);
    struct buf with = BUF_INIT;
    const char *reply;

    buf_printf(&with, "Connection: close\r\n%s", headers);
    send_request(&c, line, buf_text(&with), body);
    buf_fini(&with);
    reply = receive_all(&c);
    leave(&c);
    return reply;
}

const char *request(struct fixture *f, const char *line, const char *body)
{
    return request_with(f, line, "", body);
}

const char *request_on(struct client *c, const char *line, const char *body)
{
    send_request(c, line, "", body);
    return receive(c);
}

void assert_nothing(const char *reply)
{
    assert_code(reply, 204);
    assert_string_equal(json_of(reply), "");
}

const char *member_of(const char *reply, const char *name)
{
    static char value[512];
    char key[64];
    const char *at;
    size_t len;

    snprintf(key, sizeof(key), "\"%s\":", name);
    assert_has(json_of(reply), key);
    at = strstr(json_of(reply), key) + strlen(key);
    at += *at == '"';
    len = strcspn(at, "\",}]");
    assert_true(len < sizeof(value));
    memcpy(value, at, len);
    value[len] = '\0';
    return value;
}

const char *publish(struct fixture *f, const char *path)
{
    char line[256];
    const char *reply;

    snprintf(line, sizeof(line), "PUT %s", path);
    reply = request(f, line, "body");
    assert_code(reply, 201);
    return member_of(reply, "job_id");
}

/* ---- the audit log ---- */

static struct audit *audit;
static char file[64], lines[8192];

void audit_begin(struct fixture *f)
{
    snprintf(file, sizeof(file), "/tmp/dueq-lmstfy-audit-%d", (int)getpid());
    audit = audit_new();
    assert_int_equal(audit_use(audit, file), STATUS_OK);
    f->options.audit = audit;
    http_reload(http_port(f->http), &f->options);
}

const char *audit_lines(void)
{
    FILE *in = fopen(file, "r");
    size_t len;

    assert_non_null(in);
    len = fread(lines, 1, sizeof(lines) - 1, in);
    lines[len] = '\0';
    fclose(in);
    return lines;
}

void audit_end(void)
{
    audit_free(audit);
    unlink(file);
}
