#include "conf/yaml.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/buf.h"

#define YAML_DEPTH_MAX 8

/* Adds an item without a text; the pointer is valid until the next one is added. */
static struct yaml_item *yaml_items_add(struct yaml_items *items, enum yaml_item_kind kind,
                                        struct bytes path)
{
    struct yaml_item *item;

    items->at = must(reallocarray(items->at, items->count + 1, sizeof(*items->at)));
    item = &items->at[items->count++];
    *item = (struct yaml_item){.kind = kind, .path = bytes_copy(path)};
    return item;
}

void yaml_items_fini(struct yaml_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        free(items->at[i].path);
        free(items->at[i].text);
    }
    free(items->at);
    *items = (struct yaml_items){NULL, 0};
}

struct reader {
    yaml_parser_t parser;
    struct yaml_items *items;
    struct yaml_problem *problem;
    struct buf path; /* of the mapping that is being read, with a dot at its end */
    unsigned depth;
    unsigned rows; /* rows of lists, so far */
    unsigned row;  /* the row being read; 0: none */
};

static struct yaml_mark mark_of(yaml_mark_t mark)
{
    return (struct yaml_mark){(unsigned)mark.line + 1, (unsigned)mark.column + 1};
}

static bool fail(struct reader *r, yaml_mark_t mark, const char *message)
{
    snprintf(r->problem->message, sizeof(r->problem->message), "%s", message);
    r->problem->mark = mark_of(mark);
    return false;
}

static bool fail_as_parser(struct reader *r)
{
    yaml_parser_t *p = &r->parser;
    yaml_mark_t mark = p->problem_mark;

    /* The decoder names no line: show how far the parser had come. */
    if (p->error == YAML_READER_ERROR)
        mark = p->mark;
    if (p->error == YAML_MEMORY_ERROR)
        abort();
    snprintf(r->problem->message, sizeof(r->problem->message), "not valid YAML: %s%s%s",
             p->context ? p->context : "", p->context ? ": " : "",
             p->problem ? p->problem : "unknown problem");
    r->problem->mark = mark_of(mark);
    return false;
}

static bool next(struct reader *r, yaml_event_t *event)
{
    return yaml_parser_parse(&r->parser, event) ? true : fail_as_parser(r);
}

/* Adds the item of the key in r->path. */
static struct yaml_item *add_item(struct reader *r, enum yaml_item_kind kind, yaml_mark_t key,
                                  yaml_mark_t value)
{
    struct yaml_item *item = yaml_items_add(r->items, kind, buf_bytes(&r->path));

    item->row = r->row;
    item->key = mark_of(key);
    item->value = mark_of(value);
    return item;
}

static void add_other(struct reader *r, yaml_mark_t key, const yaml_event_t *event,
                      const char *what)
{
    add_item(r, ITEM_OTHER, key, event->start_mark)->text = bytes_copy(bytes_of_text(what));
}

static bool is_nothing(const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;

    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!*text || !strcmp(text, "~") || !strcmp(text, "null"));
}

static void add_scalar(struct reader *r, yaml_mark_t key, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;

    if (event->data.scalar.tag) {
        add_other(r, key, event, "a value with a tag");
    } else if (strlen(text) != len) {
        add_other(r, key, event, "a text with a NUL character in it");
    } else if (is_nothing(event)) {
        add_item(r, ITEM_NOTHING, key, event->start_mark);
    } else {
        add_item(r, ITEM_TEXT, key, event->start_mark)->text = bytes_copy(bytes_of(text, len));
    }
}

static bool has_room(struct reader *r, yaml_mark_t mark)
{
    return r->items->count < YAML_ITEMS_MAX || fail(r, mark, "too many keys");
}

/* Skips a list whose start has been read. The depth is counted without recursion, and limited
 * because the parser's own cost grows with it. */
static bool skip_list(struct reader *r)
{
    unsigned depth = 1;

    while (depth) {
        yaml_event_t event;
        yaml_event_type_t type;
        yaml_mark_t mark;

        if (!next(r, &event))
            return false;
        type = event.type;
        mark = event.start_mark;
        yaml_event_delete(&event);
        depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        if (depth > YAML_DEPTH_MAX)
            return fail(r, mark, "nested too deeply");
    }
    return true;
}

static bool read_mapping(struct reader *r);
static bool take_value(struct reader *r, yaml_mark_t key, const yaml_event_t *event);

static bool read_section(struct reader *r, yaml_mark_t key, const yaml_event_t *event)
{
    bool ok;

    if (r->depth == YAML_DEPTH_MAX)
        return fail(r, event->start_mark, "nested too deeply");
    add_item(r, ITEM_SECTION, key, event->start_mark);
    r->depth++;
    buf_add_char(&r->path, '.');
    ok = read_mapping(r);
    r->depth--;
    return ok;
}

/* Rows differ by their number only: the path stays that of the list. */
static bool read_rows(struct reader *r)
{
    size_t outer = r->path.len;
    bool ok = true;

    for (;;) {
        yaml_event_t event;
        bool is_end;

        if (!next(r, &event))
            return false;
        is_end = event.type == YAML_SEQUENCE_END_EVENT;
        r->row = is_end ? 0 : ++r->rows;
        ok = is_end ||
             (has_room(r, event.start_mark) && take_value(r, event.start_mark, &event));
        r->path.len = outer;
        yaml_event_delete(&event);
        if (!ok || is_end)
            return ok;
    }
}

static bool read_list(struct reader *r, yaml_mark_t key, const yaml_event_t *event)
{
    if (r->row) {
        add_other(r, key, event, "a list");
        return skip_list(r);
    }
    add_item(r, ITEM_LIST, key, event->start_mark);
    return read_rows(r);
}

/* The value's first event has been read. */
static bool take_value(struct reader *r, yaml_mark_t key, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        add_scalar(r, key, event);
        return true;
    case YAML_MAPPING_START_EVENT:
        return read_section(r, key, event);
    case YAML_SEQUENCE_START_EVENT:
        return read_list(r, key, event);
    default: /* the parser gives no other event here */
        add_other(r, key, event, "an alias");
        return true;
    }
}

static bool read_value(struct reader *r, yaml_mark_t key)
{
    yaml_event_t event;
    bool ok;

    if (!next(r, &event))
        return false;
    ok = take_value(r, key, &event);
    yaml_event_delete(&event);
    return ok;
}

/* One key, whose event has been read, and its value. */
static bool read_pair(struct reader *r, const yaml_event_t *event)
{
    size_t outer = r->path.len;
    bool ok;

    if (event->type != YAML_SCALAR_EVENT)
        return fail(r, event->start_mark, "a key must be a plain word");
    if (event->data.scalar.length > YAML_KEY_BYTES_MAX)
        return fail(r, event->start_mark, "this key is too long");
    if (!has_room(r, event->start_mark))
        return false;
    buf_add_text(&r->path, (const char *)event->data.scalar.value);
    ok = read_value(r, event->start_mark);
    r->path.len = outer;
    return ok;
}

/* The mapping's start has been read. */
static bool read_mapping(struct reader *r)
{
    for (;;) {
        yaml_event_t event;
        bool is_end, ok;

        if (!next(r, &event))
            return false;
        is_end = event.type == YAML_MAPPING_END_EVENT;
        ok = is_end || read_pair(r, &event);
        yaml_event_delete(&event);
        if (!ok || is_end)
            return ok;
    }
}

/* What stands between the start and the end of the document. */
static bool read_root(struct reader *r, const yaml_event_t *event)
{
    if (event->type == YAML_MAPPING_START_EVENT)
        return read_mapping(r);
    if (event->type == YAML_SCALAR_EVENT && is_nothing(event))
        return true;
    return fail(r, event->start_mark, "expected sections with keys, such as \"store:\"");
}

static bool read_stream(struct reader *r)
{
    bool has_document = false, is_end = false, ok = true;

    while (ok && !is_end) {
        yaml_event_t event;

        if (!next(r, &event))
            return false;
        is_end = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT && has_document)
            ok = fail(r, event.start_mark, "a second document");
        else if (event.type == YAML_DOCUMENT_START_EVENT)
            has_document = true;
        else if (event.type != YAML_DOCUMENT_END_EVENT &&
                 event.type != YAML_STREAM_START_EVENT && !is_end)
            ok = read_root(r, &event);
        yaml_event_delete(&event);
    }
    return ok;
}

enum status yaml_read(struct bytes text, struct yaml_items *items, struct yaml_problem *problem)
{
    struct reader r = {.items = items, .problem = problem, .path = BUF_INIT};
    bool ok;

    *items = (struct yaml_items){NULL, 0};
    if (!yaml_parser_initialize(&r.parser))
        abort();
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.at, text.len);
    ok = read_stream(&r);
    yaml_parser_delete(&r.parser);
    buf_fini(&r.path);
    return ok ? STATUS_OK : STATUS_BAD_CONFIG;
}
