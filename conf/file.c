#include "conf/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES 4096

/* Returns false with errno set, EFBIG when there is more than `bytes_max`. */
static bool read_all(int fd, size_t bytes_max, struct buf *to)
{
    size_t start = to->len;

    for (;;) {
        ssize_t got = read(fd, buf_reserve(to, CHUNK_BYTES), CHUNK_BYTES);

        if (got == 0)
            return true;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        to->len += (size_t)got;
        if (to->len - start > bytes_max) {
            errno = EFBIG;
            return false;
        }
    }
}

enum status file_read(const char *path, size_t bytes_max, mode_t forbidden, struct buf *to,
                      struct buf *why)
{
    size_t before = to->len;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    bool ok = false;

    if (fd < 0 || fstat(fd, &about) < 0)
        buf_printf(why, "cannot open it: %s", strerror(errno));
    else if (about.st_mode & forbidden)
        buf_printf(why, "its mode is %04o: others may read it; chmod o-r",
                   (unsigned)about.st_mode & 07777);
    else if (!(ok = read_all(fd, bytes_max, to)) && errno == EFBIG)
        buf_printf(why, "it is larger than %zu bytes", bytes_max);
    else if (!ok)
        buf_printf(why, "cannot read it: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    if (!ok)
        to->len = before;
    return ok ? STATUS_OK : STATUS_IO_ERROR;
}
