#include "base/magic.h"
#include "base/result.h"
#include "base/text.h"

#include <stdint.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct bytes {
	const unsigned char *p;
	size_t n;
};

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t le32(const unsigned char *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static bool at(struct bytes b, size_t off, const char *text, size_t len)
{
	return b.n >= off + len && memcmp(b.p + off, text, len) == 0;
}

#define AT(b, off, text) at(b, off, text, sizeof(text) - 1)

/* The shown types are walked from one end to the other, so that nothing else rides along. */

static bool is_png(struct bytes b)
{
	if (!AT(b, 0, "\x89PNG\r\n\x1a\n") || !at(b, 8, "\0\0\0\x0dIHDR", 8) || b.n < 33)
		return false;
	if (be32(b.p + 16) == 0 || be32(b.p + 20) == 0)
		return false;
	bool data = false;
	for (size_t i = 8; b.n - i >= 12;) {
		size_t len = be32(b.p + i);
		if (len > b.n - i - 12)
			return false;
		if (AT(b, i + 4, "IEND"))
			return data && len == 0 && i + 12 == b.n;
		data = data || AT(b, i + 4, "IDAT");
		i += 12 + len;
	}
	return false;
}

/* Segments up to the first scan, then its end-of-image at the very end. */
static bool is_jpeg(struct bytes b)
{
	bool frame = false;
	if (!AT(b, 0, "\xff\xd8\xff") || b.n < 64 || !at(b, b.n - 2, "\xff\xd9", 2))
		return false;
	for (size_t i = 2; i + 4 <= b.n;) {
		unsigned char marker = b.p[i + 1];
		size_t len = (size_t)b.p[i + 2] << 8 | b.p[i + 3];
		if (b.p[i] != 0xff || marker < 0xc0 || len < 2 || len > b.n - i - 2)
			return false;
		if (marker == 0xda)
			return frame;
		frame = frame ||
			(marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc);
		i += 2 + len;
	}
	return false;
}

static size_t gif_table(unsigned char flags)
{
	return flags & 0x80 ? (size_t)3 << ((flags & 7) + 1) : 0;
}

/* After i: data sub-blocks; past their end, or 0. */
static size_t gif_blocks(struct bytes b, size_t i)
{
	while (i < b.n && b.p[i])
		i += (size_t)b.p[i] + 1;
	return i < b.n ? i + 1 : 0;
}

static bool is_gif(struct bytes b)
{
	bool image = false;
	if ((!AT(b, 0, "GIF87a") && !AT(b, 0, "GIF89a")) || b.n < 14)
		return false;
	for (size_t i = 13 + gif_table(b.p[10]); i && i < b.n;) {
		if (b.p[i] == ';')
			return image && i + 1 == b.n;
		if (b.p[i] == '!') {
			i = gif_blocks(b, i + 2);
		} else if (b.p[i] == ',' && b.n - i > 11) {
			image = true;
			i = gif_blocks(b, i + 11 + gif_table(b.p[i + 9]));
		} else {
			return false;
		}
	}
	return false;
}

/* RIFF of the kind: its length is the file's, and it holds one of the two chunks. */
static bool is_riff(struct bytes b, const char *kind, const char *const *chunks, size_t nchunks)
{
	if (b.n < 20 || !AT(b, 0, "RIFF") || !at(b, 8, kind, 4))
		return false;
	size_t len = (size_t)le32(b.p + 4) + 8;
	if (len != b.n && len + 1 != b.n)
		return false;
	for (size_t i = 12; b.n - i >= 8;) {
		size_t n = le32(b.p + i + 4);
		for (size_t k = 0; k < nchunks; k++)
			if (at(b, i, chunks[k], 4))
				return n <= b.n - i - 8;
		n += n & 1;
		if (n > b.n - i - 8)
			return false;
		i += 8 + n;
	}
	return false;
}

static bool is_webp(struct bytes b)
{
	static const char *const chunks[] = {"VP8 ", "VP8L", "VP8X"};
	return is_riff(b, "WEBP", chunks, COUNT(chunks));
}

static bool is_wav(struct bytes b)
{
	static const char *const format[] = {"fmt "}, *const data[] = {"data"};
	return is_riff(b, "WAVE", format, 1) && is_riff(b, "WAVE", data, 1);
}

/* Boxes from end to end, with a movie among them. */
static bool is_iso_media(struct bytes b)
{
	bool movie = false;
	size_t i = 0;
	if (!AT(b, 4, "ftyp"))
		return false;
	while (b.n - i >= 8) {
		uint64_t len = be32(b.p + i);
		if (len == 1 && b.n - i >= 16)
			len = (uint64_t)be32(b.p + i + 8) << 32 | be32(b.p + i + 12);
		else if (len == 0)
			len = b.n - i;
		if (len < 8 || len > b.n - i)
			return false;
		movie = movie || AT(b, i + 4, "moov") || AT(b, i + 4, "moof");
		i += (size_t)len;
	}
	return movie && i == b.n;
}

static bool brand_in(struct bytes b, const char *const *brands, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (at(b, 8, brands[k], 4))
			return true;
	return false;
}

static bool is_m4a(struct bytes b)
{
	static const char *const brands[] = {"M4A ", "M4B "};
	return brand_in(b, brands, COUNT(brands)) && is_iso_media(b);
}

static bool is_mp4(struct bytes b)
{
	static const char *const brands[] = {"isom", "iso2", "iso3", "iso4", "iso5", "iso6", "iso7",
		"iso8", "iso9", "mp41", "mp42", "avc1", "M4V ", "MSNV", "dash", "mmp4", "f4v "};
	return brand_in(b, brands, COUNT(brands)) && is_iso_media(b);
}

/* An EBML length; 0 where there is none, or it is unknown. */
static size_t ebml_length(struct bytes b, size_t i, uint64_t *value)
{
	if (i >= b.n || b.p[i] == 0)
		return 0;
	size_t len = 1;
	while (!(b.p[i] & (0x80 >> (len - 1))))
		len++;
	if (b.n - i < len)
		return 0;
	*value = b.p[i] & (0xffu >> len);
	for (size_t k = 1; k < len; k++)
		*value = *value << 8 | b.p[i + k];
	return len;
}

/* The header names the type; the next element is the segment. */
static bool is_ebml(struct bytes b, const char *doctype)
{
	uint64_t head, n;
	size_t len = AT(b, 0, "\x1a\x45\xdf\xa3") ? ebml_length(b, 4, &head) : 0;
	if (len == 0 || head > 256 || b.n < 4 + len + head + 4)
		return false;
	size_t end = 4 + len + (size_t)head;
	if (!AT(b, end, "\x18\x53\x80\x67"))
		return false;
	for (size_t i = 4 + len; i + 3 < end;) {
		size_t id = b.p[i] & 0x80 ? 1 : 2;
		size_t l = ebml_length(b, i + id, &n);
		if (l == 0 || n > end - i - id - l)
			return false;
		if (AT(b, i, "\x42\x82"))
			return n == strlen(doctype) && at(b, i + id + l, doctype, (size_t)n);
		i += id + l + (size_t)n;
	}
	return false;
}

/* The length of the MPEG layer III frame at i, 0 if there is none. */
static size_t mp3_frame(struct bytes b, size_t i)
{
	static const unsigned short rates[2][16] = {
		{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0},
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0}};
	static const unsigned hertz[4] = {44100, 48000, 32000, 0};
	if (i + 4 > b.n || b.p[i] != 0xff || (b.p[i + 1] & 0xe6) != 0xe2)
		return 0;
	unsigned version = b.p[i + 1] >> 3 & 3; /* 3: MPEG-1, 2: MPEG-2, 0: MPEG-2.5 */
	unsigned rate = rates[version != 3][b.p[i + 2] >> 4];
	unsigned hz = hertz[b.p[i + 2] >> 2 & 3];
	if (version == 1 || rate == 0 || hz == 0)
		return 0;
	hz >>= version == 3 ? 0 : version == 2 ? 1 : 2;
	return (version == 3 ? 144000u : 72000u) * rate / hz + (b.p[i + 2] >> 1 & 1);
}

/* A tag or none, then frames that follow one another. */
static bool is_mp3(struct bytes b)
{
	size_t i = 0;
	if (AT(b, 0, "ID3") && b.n > 10) {
		for (int k = 6; k < 10; k++)
			i = i << 7 | (b.p[k] & 0x7f);
		i += 10 + (b.p[5] & 0x10 ? 10 : 0);
	}
	for (int frames = 0; frames < 3; frames++) {
		size_t len = i < b.n ? mp3_frame(b, i) : 0;
		if (len == 0)
			return false;
		i += len;
		if (i >= b.n)
			return i == b.n && frames > 0;
	}
	return true;
}

static bool is_webm(struct bytes b)
{
	return is_ebml(b, "webm");
}

static bool is_matroska(struct bytes b)
{
	return is_ebml(b, "matroska");
}

static const struct {
	bool (*is)(struct bytes b);
	struct magic magic;
} walked[] = {
	{is_png, {"image/png", true}},
	{is_jpeg, {"image/jpeg", true}},
	{is_gif, {"image/gif", true}},
	{is_webp, {"image/webp", true}},
	{is_wav, {"audio/wav", true}},
	{is_m4a, {"audio/mp4", true}},
	{is_mp4, {"video/mp4", true}},
	{is_webm, {"video/webm", true}},
	{is_mp3, {"audio/mpeg", true}},
	{is_matroska, {"video/x-matroska", false}},
};

/* Named for the reader's sake; none of these is ever shown. */
static const struct {
	size_t off;
	const char *sig;
	size_t len;
	const char *type;
} signatures[] = {
	{0, "%PDF-", 5, "application/pdf"},
	{0, "PK\3\4", 4, "application/zip"},
	{0, "PK\5\6", 4, "application/zip"},
	{0, "\x1f\x8b", 2, "application/gzip"},
	{0, "BZh", 3, "application/x-bzip2"},
	{0,
		"\xfd"
		"7zXZ",
		5, "application/x-xz"},
	{0, "\x28\xb5\x2f\xfd", 4, "application/zstd"},
	{0, "SQLite format 3", 16, "application/vnd.sqlite3"},
	{0, "PAR1", 4, "application/vnd.apache.parquet"},
	{0,
		"\x7f"
		"ELF",
		4, "application/x-executable"},
	{0, "OggS", 4, "application/ogg"},
	{0, "fLaC", 4, "audio/flac"},
	{0, "II*\0", 4, "image/tiff"},
	{0, "MM\0*", 4, "image/tiff"},
	{0, "%!PS", 4, "application/postscript"},
	{257, "ustar", 5, "application/x-tar"},
};

/* Text of one kind or another; markup by what a browser would take it for. */
static const char *text_type(struct bytes b)
{
	static const struct {
		const char *mark, *type;
	} marks[] = {{"<svg", "image/svg+xml"}, {"<html", "text/html"},
		{"<!doctype html", "text/html"}, {"<script", "text/html"},
		{"<?xml", "application/xml"}};
	size_t i = AT(b, 0, "\xef\xbb\xbf") ? 3 : 0;
	while (i < b.n && strchr(" \t\r\n", b.p[i]) && b.p[i])
		i++;
	if (i < b.n && b.p[i] == '<') {
		size_t look = b.n - i < 4096 ? b.n - i : 4096;
		char head[4097];
		memcpy(head, b.p + i, look);
		head[look] = '\0';
		for (size_t k = 0; k < COUNT(marks); k++)
			if (strcasestr(head, marks[k].mark))
				return marks[k].type;
	}
	if (i < b.n && (b.p[i] == '{' || b.p[i] == '[') && !result_json((const char *)b.p, b.n))
		return "application/json";
	return "text/plain";
}

struct magic magic_of(const void *p, size_t n)
{
	const struct bytes b = {p, n};
	for (size_t i = 0; i < COUNT(walked); i++)
		if (walked[i].is(b))
			return walked[i].magic;
	for (size_t i = 0; i < COUNT(signatures); i++)
		if (at(b, signatures[i].off, signatures[i].sig, signatures[i].len))
			return (struct magic){signatures[i].type, false};
	if (n && !memchr(p, 0, n) && text_is_utf8(p, n))
		return (struct magic){text_type(b), false};
	return (struct magic){"application/octet-stream", false};
}
