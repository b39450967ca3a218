#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/api/tests/api_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Work in several operations rests so long between two of them, at most. */
#define BETWEEN_OPS_MS 100

void call_and_break_off(struct fixture *f, const char *method, const char *path,
                        const char *body, enum op_verb verb)
{
    unsigned long before = memory_store_count(f->ms, verb);
    struct client c = connect_client(f);

    memory_store_hold(f->ms);
    send_call(&c, method, path, body);
    AWAIT(f, memory_store_count(f->ms, verb) == before + 1);
    reset(&c);
    fixture_pass(f, 100);
    memory_store_unhold(f->ms);
    AWAIT(f, memory_store_in_flight(f->ms) == 0);
    AWAIT(f, http_port(f->http)->stats.connections == 0);
    fixture_pass(f, 2 * BETWEEN_OPS_MS);
}

void assert_error(const char *reply, int code, const char *word)
{
    char start[64];

    assert_code(reply, code);
    snprintf(start, sizeof(start), "{\"error\":{\"code\":\"%s\",\"message\":\"", word);
    assert_starts(json_of(reply), start);
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

void assert_time(const char *reply, const char *name, int64_t time_ms)
{
    int64_t found_ms = strtoll(member_of(reply, name), NULL, 10);

    assert_true(found_ms >= time_ms && found_ms < time_ms + 30000);
}

void push(struct fixture *f, const char *topic, const char *job)
{
    char path[256];

    snprintf(path, sizeof(path), "/v1/topics/%s/jobs", topic);
    assert_code(call(f, "POST", path, job), 201);
}

const char *pop_lease(struct fixture *f, const char *topic)
{
    char path[256];

    snprintf(path, sizeof(path), "/v1/topics/%s/pop", topic);
    return member_of(call(f, "POST", path, NULL), "lease");
}

const char *with_lease(const char *lease, const char *more)
{
    static char text[128];

    snprintf(text, sizeof(text), "{\"lease\":\"%s\"%s}", lease, more);
    return text;
}

const char *state_of(struct fixture *f, const char *topic, const char *id)
{
    char path[512];
    const char *reply;

    snprintf(path, sizeof(path), "/v1/topics/%s/jobs/%s", topic, id);
    reply = call(f, "GET", path, NULL);
    if (strstr(reply, "HTTP/1.1 404 "))
        return "";
    assert_code(reply, 200);
    return member_of(reply, "state");
}
