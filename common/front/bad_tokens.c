#include "front/bad_tokens.h"

#include "base/file.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define WAYS 4
#define SETS 1024
#define MINUTE_MS 60000

struct bad_count {
	char network[64];
	int64_t since; /* CLOCK_MONOTONIC ms */
	int n;
};

struct bad_tokens {
	pthread_mutex_t lock;
	uint64_t seed; /* so that nobody knows whose places meet */
	struct bad_count set[SETS][WAYS];
};

static void of_v6(const struct in6_addr *a, struct client *c)
{
	struct in6_addr net = *a;
	if (IN6_IS_ADDR_V4MAPPED(a)) {
		inet_ntop(AF_INET, a->s6_addr + 12, c->text, sizeof c->text);
		memcpy(c->network, c->text, sizeof c->network);
		return;
	}
	memset(net.s6_addr + 8, 0, 8);
	inet_ntop(AF_INET6, a, c->text, sizeof c->text);
	inet_ntop(AF_INET6, &net, c->network, sizeof c->network);
}

void client_of(const struct sockaddr *sa, socklen_t len, struct client *c)
{
	*c = (struct client){0};
	if (sa->sa_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
		inet_ntop(AF_INET, &((const struct sockaddr_in *)sa)->sin_addr, c->text,
			sizeof c->text);
		memcpy(c->network, c->text, sizeof c->network);
	} else if (sa->sa_family == AF_INET6 && len >= sizeof(struct sockaddr_in6)) {
		of_v6(&((const struct sockaddr_in6 *)sa)->sin6_addr, c);
	}
}

int client_parse(const char *text, struct client *c)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	*c = (struct client){0};
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		client_of((struct sockaddr *)&v4, sizeof v4, c);
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		client_of((struct sockaddr *)&v6, sizeof v6, c);
	return c->text[0] ? 0 : -1;
}

struct bad_tokens *bad_tokens_new(void)
{
	struct bad_tokens *t = calloc(1, sizeof *t);
	if (!t || getrandom(&t->seed, sizeof t->seed, 0) != sizeof t->seed) {
		free(t);
		return NULL;
	}
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

/* FNV-1a. */
static size_t place_of(const struct bad_tokens *t, const char *network)
{
	uint64_t h = t->seed ^ 0xcbf29ce484222325u;
	for (; *network; network++)
		h = (h ^ (unsigned char)*network) * 0x100000001b3u;
	return (size_t)((h ^ h >> 32) % SETS);
}

/* Under the lock: the one of this network, or the oldest, made its own. */
static struct bad_count *find(struct bad_tokens *t, const char *network)
{
	struct bad_count *set = t->set[place_of(t, network)], *oldest = set;
	for (size_t i = 0; i < WAYS; i++) {
		if (strcmp(set[i].network, network) == 0)
			return &set[i];
		if (set[i].since < oldest->since)
			oldest = &set[i];
	}
	*oldest = (struct bad_count){0};
	snprintf(oldest->network, sizeof oldest->network, "%s", network);
	return oldest;
}

bool bad_tokens_add(struct bad_tokens *t, const struct client *c)
{
	int64_t now = clock_mono_ms();
	if (!c->network[0])
		return false;
	pthread_mutex_lock(&t->lock);
	struct bad_count *n = find(t, c->network);
	if (!n->n || now - n->since >= MINUTE_MS) {
		n->since = now;
		n->n = 0;
	}
	bool many = n->n >= BAD_TOKENS_MOST;
	n->n += !many;
	pthread_mutex_unlock(&t->lock);
	return many;
}
