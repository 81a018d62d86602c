#include "monitor/listen.h"

#include "base/file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 512
#define SENT_FD 3 /* the first of systemd's: sd_listen_fds(3) */

/* ---- what there is ------------------------------------------------------------------------- */

static bool is_loopback(const struct sockaddr *sa)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)sa;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)sa;
	if (sa->sa_family == AF_UNIX)
		return true;
	if (sa->sa_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return sa->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* By its own word, whatever was asked for. */
static int describe(int fd, char *at, size_t n, bool *local, struct err *e)
{
	struct sockaddr_storage sa = {0};
	socklen_t len = sizeof sa;
	char host[INET6_ADDRSTRLEN], port[8];
	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return err_errno(e, ERR_FAIL, "cannot see where the door listens");
	*local = is_loopback((struct sockaddr *)&sa);
	if (sa.ss_family == AF_UNIX) {
		snprintf(at, n, "unix:%s", ((struct sockaddr_un *)&sa)->sun_path);
		return 0;
	}
	if (getnameinfo((struct sockaddr *)&sa, len, host, sizeof host, port, sizeof port,
		    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return err_set(e, ERR_USAGE, "the door listens on no address that it knows");
	snprintf(at, n, sa.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return 0;
}

/* ---- ways to listen ------------------------------------------------------------------------ */

static int sent_by_systemd(struct err *e)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	int type = 0;
	socklen_t len = sizeof type;
	bool ours = pid && fds && strtol(pid, NULL, 10) == getpid() && strtol(fds, NULL, 10) >= 1;
	if (!ours || getsockopt(SENT_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
		type != SOCK_STREAM) {
		err_set(e, ERR_USAGE, "no listening socket was handed over");
		return err_hint(e, "by systemd: see share/evctl/systemd/evctl-serve.socket");
	}
	fcntl(SENT_FD, F_SETFD, FD_CLOEXEC);
	fcntl(SENT_FD, F_SETFL, O_NONBLOCK);
	return SENT_FD;
}

/* A socket that nobody answers at is what is left of a door. */
static int bind_path(int fd, const struct sockaddr_un *to, struct err *e)
{
	mode_t old = umask(0117);
	int r = bind(fd, (const struct sockaddr *)to, sizeof *to);
	if (r < 0 && errno == EADDRINUSE) {
		FD_AUTO probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(probe, (const struct sockaddr *)to, sizeof *to) < 0 &&
			errno == ECONNREFUSED && unlink(to->sun_path) == 0)
			r = bind(fd, (const struct sockaddr *)to, sizeof *to);
		else
			errno = EADDRINUSE;
	}
	umask(old);
	if (r == 0)
		return 0;
	err_errno(e, errno == EADDRINUSE ? ERR_CONFLICT : ERR_FAIL, "cannot listen at '%s'",
		to->sun_path);
	return err_hint(e, "--listen ANOTHER");
}

static int at_path(const char *path, struct err *e)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	if (!*path || strlen(path) >= sizeof to.sun_path)
		return err_set(e, ERR_USAGE, "'%s' is no path for a socket", path),
		       err_hint(e, "--listen unix:/run/evctl/door");
	memcpy(to.sun_path, path, strlen(path));
	FD_AUTO fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot make a socket");
	if (bind_path(fd, &to, e) < 0)
		return -1;
	if (listen(fd, BACKLOG) < 0)
		return err_errno(e, ERR_FAIL, "cannot listen at '%s'", path);
	int keep = fd;
	fd = -1;
	return keep;
}

static int at_address(const char *where, struct err *e)
{
	static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	const char *colon = strrchr(where, ':');
	struct addrinfo *ai = NULL;
	int on = 1;
	size_t n = colon ? (size_t)(colon - where) : 0;
	bool brackets = n > 2 && where[0] == '[' && where[n - 1] == ']';
	STR_AUTO host = strndup(where + brackets, brackets ? n - 2 : n);
	if (!n || !colon[1] || !host || getaddrinfo(host, colon + 1, &hints, &ai) != 0) {
		err_set(e, ERR_USAGE, "'%s' is no address and port", where);
		return err_hint(e, "--listen 127.0.0.1:8350");
	}
	FD_AUTO fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	int r = fd < 0 ? -1 : bind(fd, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
	if (r < 0 || listen(fd, BACKLOG) < 0)
		return err_errno(e, errno == EADDRINUSE ? ERR_CONFLICT : ERR_FAIL,
			       "cannot listen at '%s'", where),
		       err_hint(e, "--listen ADDR:ANOTHER-PORT");
	int keep = fd;
	fd = -1;
	return keep;
}

int listen_open(const char *where, char *at, size_t n, bool *local, struct err *e)
{
	FD_AUTO fd = strcmp(where, "fd") == 0	       ? sent_by_systemd(e)
		     : strncmp(where, "unix:", 5) == 0 ? at_path(where + 5, e)
						       : at_address(where, e);
	if (fd < 0 || describe(fd, at, n, local, e) < 0)
		return -1;
	int keep = fd;
	fd = -1;
	return keep;
}

/* ---- what else is said --------------------------------------------------------------------- */

int listen_check_url(const char *url, struct err *e)
{
	const char *host = !url				      ? NULL
			   : strncmp(url, "https://", 8) == 0 ? url + 8
			   : strncmp(url, "http://", 7) == 0  ? url + 7
							      : "";
	if (!url || (*host && !strpbrk(host, "/?#@ \t\"\\<>") && strlen(url) < 256))
		return 0;
	err_set(e, ERR_USAGE, "'%.200s' is no address of a door", url);
	return err_hint(e, "--public-url https://NAME[:PORT], with nothing behind");
}

int listen_check_addresses(const struct strv *addresses, struct err *e)
{
	for (size_t i = 0; i < addresses->n; i++) {
		char text[INET6_ADDRSTRLEN];
		unsigned char raw[16];
		const char *a = addresses->v[i];
		int family = strchr(a, ':') ? AF_INET6 : AF_INET;
		if (inet_pton(family, a, raw) != 1 || !inet_ntop(family, raw, text, sizeof text) ||
			strcmp(text, a) != 0) {
			err_set(e, ERR_USAGE, "'%.60s' is no address", a);
			return err_hint(
				e, "--trust-forwarded 127.0.0.1, as short as it is written");
		}
	}
	return 0;
}
