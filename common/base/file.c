#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

void fd_close(int *fd)
{
	int saved = errno;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

void fd_close_auto(int *fd)
{
	fd_close(fd);
}

void str_free_auto(char **s)
{
	free(*s);
}

int fd_open_beneath(int dir, const char *path, int flags, enum beneath how)
{
	static const uint64_t more[] = {[BENEATH_PLAIN] = RESOLVE_NO_SYMLINKS,
		[BENEATH_MOUNT] = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
	struct open_how h = {.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | more[how]};
	int fd, tries = 0;
	do /* EAGAIN: a rename elsewhere raced with the check */
		fd = (int)syscall(SYS_openat2, dir, path, &h, sizeof h);
	while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < 100)));
	return fd;
}

int file_rename_new(int dir, const char *name, const char *to)
{
	/* By number, as not every C library has a function for it. */
	return (int)syscall(SYS_renameat2, dir, name, dir, to, 1u << 0 /* RENAME_NOREPLACE */);
}

int fd_read_full(int fd, void *p, size_t n)
{
	for (char *at = p; n;) {
		ssize_t got = read(fd, at, n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			if (got == 0)
				errno = 0;
			return -1;
		}
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

int fd_write_full(int fd, const void *p, size_t n)
{
	for (const char *at = p; n;) {
		ssize_t put = write(fd, at, n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		at += put;
		n -= (size_t)put;
	}
	return 0;
}

int fd_read_all(int fd, struct buf *b)
{
	char chunk[65536];
	for (;;) {
		ssize_t got = read(fd, chunk, sizeof chunk);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -1 : 0;
		buf_add(b, chunk, (size_t)got);
		if (b->failed) {
			errno = EFBIG;
			return -1;
		}
	}
}

int file_read(const char *path, struct buf *b, struct err *e)
{
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, errno == ENOENT || errno == ENOTDIR ? ERR_NOTFOUND : ERR_FAIL,
			"cannot open '%s'", path);
	if (fd_read_all(fd, b) == 0)
		return 0;
	if (errno == EFBIG)
		return err_set(e, ERR_USAGE, "file is too large: '%s'", path);
	return err_errno(e, ERR_FAIL, "cannot read '%s'", path);
}

int file_write_atomic(const char *path, const void *p, size_t n, mode_t mode, struct err *e)
{
	STR_AUTO tmp = NULL;
	if (asprintf(&tmp, "%s.new.%ld", path, (long)getpid()) < 0) {
		tmp = NULL;
		return err_set(e, ERR_FAIL, "out of memory");
	}
	FD_AUTO fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot create '%s'", tmp);
	if (fd_write_full(fd, p, n) < 0 || fsync(fd) < 0 || rename(tmp, path) < 0) {
		err_errno(e, ERR_FAIL, "cannot write '%s'", path);
		unlink(tmp);
		return -1;
	}
	return 0;
}

int file_mkdirs(const char *path, mode_t mode, struct err *e)
{
	STR_AUTO copy = strdup(path);
	if (!copy)
		return err_set(e, ERR_FAIL, "out of memory");
	for (char *s = copy + 1;; s++) {
		if (*s != '/' && *s != '\0')
			continue;
		char end = *s;
		*s = '\0';
		if (mkdir(copy, mode) < 0 && errno != EEXIST && errno != EISDIR)
			return err_errno(e, ERR_FAIL, "cannot create directory '%s'", copy);
		*s = end;
		if (!end)
			break;
	}
	struct stat st;
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, ERR_FAIL, "not a directory: '%s'", path);
	return 0;
}

/*
 * Removes what can be removed of a directory. A descriptor of the first sub-directory that is not
 * empty; -1 with errno 0 when nothing is left, another errno when something cannot be.
 */
static int clear_level(int dir)
{
	int list = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), sub = -1, error = 0;
	DIR *d = list < 0 ? NULL : fdopendir(list);
	if (!d) {
		fd_close(&list);
		return -1;
	}
	for (struct dirent *de; sub < 0 && error == 0 && (de = readdir(d));) {
		const char *name = de->d_name;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		if (unlinkat(dir, name, 0) == 0 || unlinkat(dir, name, AT_REMOVEDIR) == 0)
			continue;
		if (fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
			sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		error = sub < 0 ? errno : 0;
	}
	closedir(d);
	errno = error;
	return sub;
}

/* Down into whatever is not empty, and up by ".." again, so that any depth takes two descriptors.
 */
int file_empty_dir(int dir)
{
	FD_AUTO at = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	size_t depth = 0;
	while (at >= 0) {
		int next = clear_level(at);
		if (next < 0 && errno)
			return -1;
		if (next < 0 && depth == 0)
			return 0;
		if (next >= 0) {
			depth++;
		} else {
			depth--;
			next = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		}
		fd_close(&at);
		at = next;
	}
	return -1;
}

int file_remove_tree(int at, const char *name)
{
	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (unlinkat(at, name, AT_REMOVEDIR) == 0)
		return 0;
	FD_AUTO root = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return root < 0 || file_empty_dir(root) < 0 ? -1 : unlinkat(at, name, AT_REMOVEDIR);
}

const char *file_network(const char *path)
{
	static const struct {
		uint32_t magic;
		const char *kind;
	} all[] = {{0x6969, "NFS"}, {0xff534d42, "SMB"}, {0xfe534d42, "SMB"}, {0x517b, "SMB"},
		{0x01021997, "9P"}, {0x00c36400, "Ceph"}, {0x5346414f, "AFS"}, {0x6b414653, "AFS"},
		{0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"},
		{0x7461636f, "OCFS2"}, {0x01161970, "GFS2"}, {0x65735546, "FUSE"}};
	struct statfs s;
	if (statfs(path, &s) == 0)
		for (size_t i = 0; i < sizeof all / sizeof *all; i++)
			if ((uint32_t)s.f_type == all[i].magic)
				return all[i].kind;
	return NULL;
}

bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

char *path_join(const char *a, const char *b)
{
	char *out = NULL;
	if (asprintf(&out, "%s/%s", a, b) < 0)
		return NULL;
	return out;
}

int fd_any(const int *fds, size_t n)
{
	int any = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP};
	for (size_t i = 0; any >= 0 && i < n; i++)
		if (epoll_ctl(any, EPOLL_CTL_ADD, fds[i], &ev) < 0)
			fd_close(&any);
	return any;
}

uint16_t fd_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} a = {0};
	socklen_t n = sizeof a;
	if (getsockname(fd, &a.any, &n) < 0)
		return 0;
	if (a.any.sa_family == AF_INET6)
		return ntohs(a.in6.sin6_port);
	return a.any.sa_family == AF_INET ? ntohs(a.in.sin_port) : 0;
}

int fd_from_bytes(const char *name, const void *p, size_t n)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -1;
	if (fd_write_full(fd, p, n) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) <
			0)
		fd_close(&fd);
	return fd;
}

static int64_t clock_ms(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t clock_mono_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

int64_t clock_real_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

const char *clock_text(int64_t ms, char *buf, size_t n)
{
	time_t t = (time_t)(ms / 1000);
	struct tm tm;
	gmtime_r(&t, &tm);
	if (!strftime(buf, n, "%Y-%m-%dT%H:%M:%SZ", &tm) && n)
		buf[0] = '\0';
	return buf;
}

static ssize_t send_some(int sock, const void *p, size_t n, const int *fds, size_t nfds)
{
	struct iovec iov = {.iov_base = (void *)p, .iov_len = n};
	union {
		char bytes[CMSG_SPACE(sizeof(int) * FRAME_MAX_FDS)];
		struct cmsghdr align;
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (nfds) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		struct cmsghdr *c = &control.align;
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
	}
	ssize_t put;
	do
		put = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (put < 0 && errno == EINTR);
	return put;
}

static int wait_for(int sock, short events, int64_t deadline)
{
	for (;;) {
		int timeout = -1;
		if (deadline >= 0) {
			int64_t left = deadline - clock_mono_ms();
			timeout = left <= 0 ? 0 : left > 1 << 30 ? 1 << 30 : (int)left;
		}
		struct pollfd p = {.fd = sock, .events = events};
		int n = poll(&p, 1, timeout);
		if (n > 0)
			return 0;
		if (n == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		if (errno != EINTR)
			return -1;
	}
}

int frame_send(int sock, const void *p, size_t n, const int *fds, size_t nfds, struct err *e)
{
	if (n > UINT32_MAX || nfds > FRAME_MAX_FDS)
		return err_set(e, ERR_FAIL, "message is too large");
	unsigned char head[4] = {(unsigned char)n, (unsigned char)(n >> 8),
		(unsigned char)(n >> 16), (unsigned char)(n >> 24)};
	size_t done = 0;
	while (done < sizeof head + n) {
		const char *at = done < 4 ? (const char *)head + done : (const char *)p + done - 4;
		size_t len = done < 4 ? 4 - done : n + 4 - done;
		ssize_t put = send_some(sock, at, len, fds, done ? 0 : nfds);
		if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			if (wait_for(sock, POLLOUT, -1) < 0)
				return err_errno(e, ERR_FAIL, "cannot send a message");
			continue;
		}
		if (put < 0)
			return err_errno(e, ERR_FAIL, "cannot send a message");
		done += (size_t)put;
	}
	return 0;
}

struct fd_room {
	int *fds;
	size_t n, room;
};

static void take_fds(struct msghdr *msg, struct fd_room *r)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (r->n < r->room)
				r->fds[r->n++] = fd;
			else
				close(fd);
		}
	}
}

/* 1 all read, 0 end of stream before the first byte, -1 errno (0: ended in the middle). */
static int recv_full(int sock, void *p, size_t n, struct fd_room *r, int64_t deadline)
{
	for (size_t got = 0; got < n;) {
		if (wait_for(sock, POLLIN, deadline) < 0)
			return -1;
		union {
			char bytes[CMSG_SPACE(sizeof(int) * FRAME_MAX_FDS)];
			struct cmsghdr align;
		} control;
		struct iovec iov = {.iov_base = (char *)p + got, .iov_len = n - got};
		struct msghdr msg = {.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof control.bytes};
		ssize_t len = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
		if (len < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (len < 0)
			return -1;
		take_fds(&msg, r);
		if (len == 0) {
			errno = 0;
			return got ? -1 : 0;
		}
		got += (size_t)len;
	}
	return 1;
}

static int recv_failed(struct fd_room *r, struct err *e)
{
	int saved = errno;
	for (size_t i = 0; i < r->n; i++)
		close(r->fds[i]);
	r->n = 0;
	if (saved == ETIMEDOUT)
		return err_set(e, ERR_TIMEOUT, "no message in time");
	if (saved == 0)
		return err_set(e, ERR_FAIL, "message ends in the middle");
	errno = saved;
	return err_errno(e, ERR_FAIL, "cannot receive a message");
}

int frame_recv(int sock, struct buf *b, int *fds, size_t *nfds, int64_t deadline, struct err *e)
{
	struct fd_room room = {.fds = fds, .room = nfds ? *nfds : 0};
	unsigned char head[4];
	buf_clear(b);
	if (nfds)
		*nfds = 0;
	int got = recv_full(sock, head, sizeof head, &room, deadline);
	if (got == 0)
		return 0;
	if (got < 0)
		return recv_failed(&room, e);
	size_t n = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
	if (buf_reserve(b, n) < 0) {
		errno = EFBIG;
		return recv_failed(&room, e);
	}
	if (n && recv_full(sock, b->data, n, &room, deadline) != 1)
		return recv_failed(&room, e);
	b->len = n;
	b->data[n] = '\0';
	if (nfds)
		*nfds = room.n;
	return 1;
}
