#include "manifest/secretish.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n > m && strcasecmp(s + n - m, end) == 0;
}

static bool starts_with(const char *s, const char *start)
{
	return strncasecmp(s, start, strlen(start)) == 0;
}

/* "-----BEGIN RSA PRIVATE KEY-----": words of capitals in between, all on one line. */
static bool has_private_key(const char *data, size_t n)
{
	static const char begin[] = "-----BEGIN ", tail[] = "PRIVATE KEY";
	const char *end = data + n;
	for (const char *p = data; (p = memmem(p, (size_t)(end - p), begin, sizeof begin - 1));) {
		p += sizeof begin - 1;
		size_t room = (size_t)(end - p), len = 0;
		while (len < room && len < 60 &&
			((p[len] >= 'A' && p[len] <= 'Z') || p[len] == ' '))
			len++;
		if (memmem(p, len, tail, sizeof tail - 1))
			return true;
	}
	return false;
}

static bool is_key_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* An access key id: AKIA and 16 of [A-Z0-9], standing alone. */
static bool has_access_key(const char *data, size_t n)
{
	const char *end = data + n;
	for (const char *p = data; (p = memmem(p, (size_t)(end - p), "AKIA", 4)); p++) {
		size_t len = 4;
		while (len < 21 && p + len < end && is_key_char(p[len]))
			len++;
		if (len == 20 && (p == data || !is_key_char(p[-1])))
			return true;
	}
	return false;
}

static const char *by_name(const char *name, const char *data, size_t n)
{
	static const char *const keys[] = {
		".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx", NULL};
	static const char *const names[] = {"credentials", "credentials.json", "secrets.json",
		"secrets.yaml", "secrets.yml", "secrets.toml", ".netrc", ".pgpass", ".pypirc",
		".npmrc", ".htpasswd", "token.json", "service-account.json", "service_account.json",
		"application_default_credentials.json", NULL};
	if (starts_with(name, ".env"))
		return "a .env file";
	if (starts_with(name, "id_rsa") || starts_with(name, "id_dsa") ||
		starts_with(name, "id_ecdsa") || starts_with(name, "id_ed25519"))
		return ends_with(name, ".pub") ? NULL : "named like a private key";
	/* A bundle of roots is a .pem too, and every expert that brings `requests` has one. */
	if (ends_with(name, ".pem") && !memmem(data, n, "-----BEGIN CERTIFICATE-----", 27))
		return "named like a private key";
	for (size_t i = 0; keys[i]; i++)
		if (ends_with(name, keys[i]))
			return "named like a private key";
	for (size_t i = 0; names[i]; i++)
		if (strcasecmp(name, names[i]) == 0)
			return "named like credentials";
	if (starts_with(name, "client_secret") && ends_with(name, ".json"))
		return "named like credentials";
	return NULL;
}

const char *secretish_why(const char *name, const char *data, size_t n)
{
	if (has_private_key(data, n))
		return "holds a private key";
	if (has_access_key(data, n))
		return "holds an access key";
	return by_name(name, data, n);
}
