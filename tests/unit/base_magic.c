/* Types by content; each shown type also cut short and with a tail, which make it something else.
 */
#include "../lib/tap.h"

#include "base/buf.h"
#include "base/magic.h"

#include <stdlib.h>

struct sample {
	const char *name, *type;
	bool shown;
	const char *bytes;
	size_t n;
};

#define S(name, type, shown, text)                        \
	{                                                 \
		name, type, shown, text, sizeof(text) - 1 \
	}

#define FTYP(brand)  \
	"\0\0\0\x10" \
	"ftyp" brand "\0\0\0\0"
#define MOOV         \
	"\0\0\0\x08" \
	"moov"
#define EBML(len, doctype) "\x1a\x45\xdf\xa3" len "\x42\x82" doctype
#define SEGMENT "\x18\x53\x80\x67\x80"
/* MPEG-1 layer III, 32 kbit/s, 48 kHz: 96 bytes. */
#define MP3                                                                                        \
	"\xff\xfb\x14\x00"                                                                         \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567" \
	"890"                                                                                      \
	"1"

static const struct sample samples[] = {
	S("mp4", "video/mp4", true, FTYP("isom") MOOV),
	S("mp4 with data", "video/mp4", true,
		FTYP("mp42") "\0\0\0\x0c"
			     "mdatabcd" MOOV),
	S("m4a", "audio/mp4", true, FTYP("M4A ") MOOV),
	S("webm", "video/webm", true,
		EBML("\x87", "\x84"
			     "webm") SEGMENT),
	S("mp3", "audio/mpeg", true, MP3 MP3),
	S("mp3 with a tag", "audio/mpeg", true,
		"ID3\4\0\0\0\0\0\5"
		"abcde" MP3 MP3),
	S("wav", "audio/wav", true,
		"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0"
		"\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0"
		"data\2\0\0\0ab"),
	S("gif", "image/gif", true, "GIF89a\1\0\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"),
	S("webp", "image/webp", true, "RIFF\x10\0\0\0WEBPVP8L\4\0\0\0abcd"),
	S("quicktime", "application/octet-stream", false, FTYP("qt  ") MOOV),
	S("heic", "application/octet-stream", false, FTYP("heic") MOOV),
	S("mp4 without a movie", "application/octet-stream", false, FTYP("isom")),
	S("mp4 with a huge box", "application/octet-stream", false,
		FTYP("isom") MOOV "\xff\xff\xff\xff"
				  "mdat"),
	S("matroska", "video/x-matroska", false,
		EBML("\x8b", "\x88"
			     "matroska") SEGMENT),
	S("one mp3 frame", "application/octet-stream", false,
		"\xff\xfb\x14\x00"
		"012"),
	S("svg", "image/svg+xml", false, "<svg xmlns='http://www.w3.org/2000/svg'/>"),
	S("svg after a comment", "image/svg+xml", false, "<?xml version='1.0'?><!-- x --><svg/>"),
	S("html", "text/html", false, "<!DOCTYPE html><p>"),
	S("html in disguise", "text/html", false, "  <SCRIPT>x</SCRIPT>"),
	S("text", "text/plain", false, "hello, w\xc3\xb6rld\n"),
	S("csv", "text/plain", false, "a,b\n1,2\n"),
	S("json", "application/json", false, " {\"a\": 1}"),
	S("nearly json", "text/plain", false, "{\"a\": }"),
	S("not UTF-8", "application/octet-stream", false, "abc\xff"),
	S("zip", "application/zip", false, "PK\3\4...."),
	S("empty", "application/octet-stream", false, ""),
};

/* From memory that ends where the bytes do, for the sanitizer's sake. */
static struct magic look(const char *p, size_t n)
{
	char *copy = malloc(n ? n : 1);
	memcpy(copy, p, n);
	struct magic m = magic_of(copy, n);
	free(copy);
	return m;
}

static void check(struct tap *t, const struct sample *s)
{
	struct magic m = look(s->bytes, s->n);
	is_text(t, m.type, s->type, s->name);
	ok(t, m.inline_ok == s->shown, "%s: %s", s->name, s->shown ? "shown" : "not shown");
	if (!s->shown)
		return;
	size_t cut_shown = 0;
	for (size_t n = 0; n < s->n; n++)
		cut_shown += look(s->bytes, n).inline_ok;
	/* A sound of whole frames is one still. */
	ok(t, cut_shown <= (strncmp(s->name, "mp3", 3) == 0 || strstr(s->name, "data") ? s->n : 1),
		"%s: cut short it is not shown (%zu)", s->name, cut_shown);
	BUF_AUTO b = {0};
	buf_add(&b, s->bytes, s->n);
	buf_adds(&b, "<script>alert(1)</script>");
	if (strncmp(s->name, "mp3", 3) != 0 && strcmp(s->name, "webm") != 0)
		ok(t, !look(b.data, b.len).inline_ok, "%s: with a tail it is not shown", s->name);
}

int main(void)
{
	struct tap t = {0};
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
		check(&t, &samples[i]);
	return tap_done(&t);
}
