#include "sandbox/strays.h"
#include "base/file.h"
#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define SHOWN_MAX 5
#define LOOK_MAX 2000
#define DEPTH_MAX 4
#define NAME_MAX_SHOWN 120

/* Caches, as Python and matplotlib make them, are no results. */
static bool is_ours(const char *prefix, const char *name)
{
	return name[0] == '.' || strcmp(name, "__pycache__") == 0 ||
	       (!*prefix && strcmp(name, "outputs") == 0);
}

static void found(struct strays *s, const char *path)
{
	size_t n = strlen(path);
	if (s->shown >= SHOWN_MAX) {
		s->more++;
		return;
	}
	buf_adds(s->out, s->shown++ ? ", " : "");
	text_add_visible(s->out, path, n < NAME_MAX_SHOWN ? n : NAME_MAX_SHOWN, false);
	buf_adds(s->out, n < NAME_MAX_SHOWN ? "" : "...");
}

static void look(struct strays *s, int dir, const char *prefix, int depth)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	if (!d) {
		fd_close(&fd);
		return;
	}
	for (struct dirent *de; s->looked_at < LOOK_MAX && (de = readdir(d));) {
		struct stat sb;
		BUF_AUTO path = {.limit = 4096};
		if (is_ours(prefix, de->d_name))
			continue;
		s->looked_at++;
		if (fstatat(fd, de->d_name, &sb, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		int64_t ns = sb.st_mtim.tv_sec * INT64_C(1000000000) + sb.st_mtim.tv_nsec;
		buf_addf(&path, "%s%s", prefix, de->d_name);
		if (S_ISREG(sb.st_mode) && ns >= s->since_ns)
			found(s, buf_str(&path));
		if (!S_ISDIR(sb.st_mode) || depth == DEPTH_MAX)
			continue;
		FD_AUTO sub =
			openat(fd, de->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		buf_addc(&path, '/');
		if (sub >= 0)
			look(s, sub, buf_str(&path), depth + 1);
	}
	closedir(d);
}

void strays_look(struct strays *s, int dir, const char *prefix)
{
	look(s, dir, prefix, 0);
}

void strays_end(struct strays *s)
{
	if (s->more)
		buf_addf(s->out, " and %d more", s->more);
}
