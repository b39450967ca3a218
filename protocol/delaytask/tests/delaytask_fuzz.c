/* Any bytes as a body: what is read lies in it, a content that passes is text, and a path of a
 * service that passes begins with one '/' and has no dot segment. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/delaytask/codec.h"
#include "protocol/json/read.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_within(struct bytes part, struct bytes whole)
{
    assert(!part.len || (part.at >= whole.at && part.at + part.len <= whole.at + whole.len));
}

static void check_url(struct bytes text)
{
    char *copy = malloc(text.len + 1);

    assert(copy);
    memcpy(copy, text.at, text.len);
    if (delaytask_url_is_fit(bytes_of(copy, text.len))) {
        assert(text.at[0] == '/' && (text.len < 2 || text.at[1] != '/'));
        assert(!memchr(text.at, '\\', text.len) && !memchr(text.at, '\n', text.len));
        assert(text.len < 3 || memcmp(text.at, "/..", 3) != 0 ||
               (text.len > 3 && text.at[3] != '/' && text.at[3] != '?'));
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct delaytask_request request;
    struct buf out = BUF_INIT;
    char room[160], *copy;
    struct bytes text;

    if (!size)
        return 0;
    copy = malloc(2 * size);
    assert(copy);
    memcpy(copy, data, size);
    text = bytes_of(copy, size);
    check_url(text);
    if (!delaytask_read(text, &request, room)) {
        check_within(request.topic, text);
        check_within(request.content, text);
        check_within(request.task_id, text);
        assert(request.topic.len && request.content.len <= size);
        (void)delaytask_refusal_of_add(&request, copy + size);
        delaytask_add_pulled(&out, request.content);
        assert(json_check(buf_bytes(&out)) == JSON_FAULT_NONE);
    }
    buf_fini(&out);
    free(copy);
    return 0;
}
