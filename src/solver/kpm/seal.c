/* The seal at the end of a moments file: the CRC-32 of all bytes before it. HDF5 pays no heed to what follows its own
   end, and drops it when another program changes the file. It is looked at first, for HDF5 reads freed memory and worse
   where its own tables are damaged. */
#include "moments.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static void seal_text(char seal[WISP__SEAL + 1], uLong crc)
{
    snprintf(seal, WISP__SEAL + 1, "wisp-crc32=%08lx\n", (unsigned long)crc);
}

void wisp__seal_make(char seal[WISP__SEAL + 1], const void *image, size_t size)
{
    seal_text(seal, crc32_z(crc32_z(0, NULL, 0), image, size));
}

/* All of it, from an offset on. */
static bool read_whole(int fd, char *to, size_t bytes, int64_t from)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pread(fd, to + done, bytes - done, from + (int64_t)done);
        if (n == 0 || (n < 0 && errno != EINTR)) return false;
        if (n > 0) done += (size_t)n;
    }
    return true;
}

wisp_status wisp__seal_check(wisp_ctx *ctx, int fd, const char *path)
{
    enum { PIECE = 1 << 16 };
    char piece[PIECE], found[WISP__SEAL + 1] = "", right[WISP__SEAL + 1];
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < WISP__SEAL) return WISP_OK;
    const int64_t end = st.st_size - WISP__SEAL;
    if (!read_whole(fd, found, WISP__SEAL, end)) return WISP_OK;
    seal_text(right, 0);
    if (strncmp(found, right, strcspn(right, "=") + 1) != 0) return WISP_OK; /* there is none */
    uLong crc = crc32_z(0, NULL, 0);
    for (int64_t at = 0; at < end; at += PIECE) {
        const size_t n = (size_t)(end - at < PIECE ? end - at : PIECE);
        errno = EIO; /* it became shorter meanwhile */
        if (!read_whole(fd, piece, n, at)) return wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: %s", path, strerror(errno));
        crc = crc32_z(crc, (const Bytef *)piece, n);
    }
    seal_text(right, crc);
    if (!strcmp(found, right)) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_FORMAT,
                          "%s: the file is damaged: its bytes do not have the checksum at its end; compute the moments "
                          "anew",
                          path);
}
