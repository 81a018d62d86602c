/*
 * Files, descriptors and framed messages. Every descriptor made here is O_CLOEXEC.
 */
#ifndef EVCTL_BASE_FILE_H
#define EVCTL_BASE_FILE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Closes on leaving scope; -1 means none. */
#define FD_AUTO __attribute__((cleanup(fd_close_auto))) int
#define STR_AUTO __attribute__((cleanup(str_free_auto))) char *
void fd_close_auto(int *fd);
void str_free_auto(char **s);
/* Closes *fd if it is open and sets it to -1; errno is kept. */
void fd_close(int *fd);

/*
 * Opens what is beneath a directory: the kernel itself refuses what would leave it, by "..", by
 * link or by a rename under way (EXDEV), and magic links (ELOOP).
 */
enum beneath {
	BENEATH_LINKS, /* links are followed as long as they stay beneath */
	BENEATH_PLAIN, /* a link anywhere is ELOOP */
	BENEATH_MOUNT, /* likewise, and another file system is EXDEV */
};
int fd_open_beneath(int dir, const char *path, int flags, enum beneath how);

/* Reads or writes exactly n bytes, through EINTR. -1 with errno; a short read is errno 0. */
int fd_read_full(int fd, void *p, size_t n);
int fd_write_full(int fd, const void *p, size_t n);
/* Appends all that fd has to b, up to b's limit (exceeding it sets b->failed, errno EFBIG). 0/-1.
 */
int fd_read_all(int fd, struct buf *b);

/* Whole file into b. Code ERR_NOTFOUND if it is not there, ERR_USAGE if over b's limit. */
int file_read(const char *path, struct buf *b, struct err *e);
/* Renames within one directory; EEXIST where there is one of the new name, EINVAL where the file
 * system cannot tell. */
int file_rename_new(int dir, const char *name, const char *to);

/* Writes a new file beside path, syncs, and renames it over path. mode as in open(2). */
int file_write_atomic(const char *path, const void *p, size_t n, mode_t mode, struct err *e);
/* mkdir -p; new directories get mode. An existing directory is fine. */
int file_mkdirs(const char *path, mode_t mode, struct err *e);
/* rm -r beneath an open directory, never following a link, and of all that is in one, however deep.
 * 0 if all went; -1 with errno. Nobody else may be moving directories about in there. */
int file_remove_tree(int at, const char *name);
int file_empty_dir(int dir);
bool file_exists(const char *path);
/* The kind of network file system that it is on, or NULL. */
const char *file_network(const char *path);
/* A new string "a/b"; the caller frees. */
char *path_join(const char *a, const char *b);
/* Anonymous sealed memory holding the bytes, positioned at 0; -1 on failure. */
int fd_from_bytes(const char *name, const void *p, size_t n);
/* One that is readable as soon as one of these is, or its other end is closed; -1. */
int fd_any(const int *fds, size_t n);
/* The local port of an Internet socket; 0 where it has none, or fd is none. */
uint16_t fd_port(int fd);

/* CLOCK_MONOTONIC and CLOCK_REALTIME in milliseconds. */
int64_t clock_mono_ms(void);
int64_t clock_real_ms(void);
/* "2026-01-31T12:00:05Z" of ms since the epoch; buf holds at least 24. */
const char *clock_text(int64_t ms, char *buf, size_t n);

/*
 * Framed messages on a stream socket: a 4-byte little-endian length, then the bytes, with up to
 * FRAME_MAX_FDS descriptors attached to the first byte. Both sides are evctl's own programs unless
 * a caller says otherwise; lengths are checked against the buffer's limit before memory is taken.
 */
#define FRAME_MAX_FDS 32
int frame_send(int sock, const void *p, size_t n, const int *fds, size_t nfds, struct err *e);
/*
 * Waits until deadline (CLOCK_MONOTONIC ms; -1 for ever). Fills b (cleared first), fds and *nfds
 * (in: room, out: received; may be NULL for none). 1 got one, 0 end of stream, -1 error
 * (ERR_TIMEOUT when the deadline passed). Received descriptors are close-on-exec.
 */
int frame_recv(int sock, struct buf *b, int *fds, size_t *nfds, int64_t deadline, struct err *e);

#endif
