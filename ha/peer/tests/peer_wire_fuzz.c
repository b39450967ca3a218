/* Any bytes as a line: a message that is read prints as the same line. */
#include <stdint.h>
#include <stdlib.h>

#include "ha/peer/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes line = bytes_of((const char *)data, size);
    struct buf printed = BUF_INIT;
    struct peer_message m;

    if (peer_wire_parse(&m, line) == STATUS_OK) {
        peer_wire_print(&m, &printed);
        printed.len--;
        if (!bytes_equal(buf_bytes(&printed), line))
            abort();
    }
    buf_fini(&printed);
    return 0;
}
