/*
 * Python's encodings that a source file can declare, glibc's names for them, and where the two
 * differ. Those of Python that are not here cannot be: in UTF-16 and EBCDIC a cookie is none.
 */
#include "scan/codec.h"

static const char16_t cp1006_high[] =
	u"                                 \u06F0\u06F1\u06F2\u06F3\u06F4\u06F5\u06F6\u06F7\u06F8"
	u"\u06F9\u060C\u061B\u00AD\u061F\uFE81\uFE8D\uFE8E\uFE8E\uFE8F\uFE91\uFB56\uFB58\uFE93"
	u"\uFE95\uFE97\uFB66\uFB68\uFE99\uFE9B\uFE9D\uFE9F\uFB7A\uFB7C\uFEA1\uFEA3\uFEA5\uFEA7"
	u"\uFEA9\uFB84\uFEAB\uFEAD\uFB8C\uFEAF\uFB8A\uFEB1\uFEB3\uFEB5\uFEB7\uFEB9\uFEBB\uFEBD"
	u"\uFEBF\uFEC1\uFEC5\uFEC9\uFECA\uFECB\uFECC\uFECD\uFECE\uFECF\uFED0\uFED1\uFED3\uFED5"
	u"\uFED7\uFED9\uFEDB\uFB92\uFB94\uFEDD\uFEDF\uFEE0\uFEE1\uFEE3\uFB9E\uFEE5\uFEE7\uFE85"
	u"\uFEED\uFBA6\uFBA8\uFBA9\uFBAA\uFE80\uFE89\uFE8A\uFE8B\uFEF1\uFEF2\uFEF3\uFBB0\uFBAE"
	u"\uFE7C\uFE7D";

static const char16_t mac_arabic_high[] =
	u"\u00C4\u00A0\u00C7\u00C9\u00D1\u00D6\u00DC\u00E1\u00E0\u00E2\u00E4\u06BA\u00AB\u00E7"
	u"\u00E9\u00E8\u00EA\u00EB\u00ED\u2026\u00EE\u00EF\u00F1\u00F3\u00BB\u00F4\u00F6\u00F7"
	u"\u00FA\u00F9\u00FB\u00FC !\"#$\u066A&'()*+\u060C-./\u0660\u0661\u0662\u0663\u0664\u0665"
	u"\u0666\u0667\u0668\u0669:\u061B<=>\u061F\u274A\u0621\u0622\u0623\u0624\u0625\u0626\u0627"
	u"\u0628\u0629\u062A\u062B\u062C\u062D\u062E\u062F\u0630\u0631\u0632\u0633\u0634\u0635"
	u"\u0636\u0637\u0638\u0639\u063A[\\]^_\u0640\u0641\u0642\u0643\u0644\u0645\u0646\u0647"
	u"\u0648\u0649\u064A\u064B\u064C\u064D\u064E\u064F\u0650\u0651\u0652\u067E\u0679\u0686"
	u"\u06D5\u06A4\u06AF\u0688\u0691{|}\u0698\u06D2";

static const char16_t mac_croatian_high[] =
	u"ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®Š™´¨≠ŽØ∞±≤≥∆µ∂∑∏š∫ªºΩžø¿¡¬√ƒ≈Ć«Č…\u00A0ÀÃÕŒœĐ—“"
	u"”‘’÷◊\uF8FF©⁄€‹›Æ»–·‚„‰ÂćÁčÈÍÎÏÌÓÔđÒÚÛÙıˆ˜¯πË˚¸Êæˇ";

static const char16_t mac_greek_high[] =
	u"Ä¹²É³ÖÜ΅àâä΄¨çéèêë£™îï•½‰ôö¦€ùûü†ΓΔΘΛΞΠß®©ΣΪ§≠°·Α±≤≥¥ΒΕΖΗΙΚΜΦΫΨΩάΝ¬ΟΡ≈Τ«»…\u00A0ΥΧΆΈœ–―“"
	u"”‘’÷ΉΊΌΎέήίόΏύαβψδεφγηιξκλμνοπώρστθωςχυζϊϋΐΰ\u00AD";

/* The first of big5 are its own, the others cp950's too. */
enum { BIG5_OWN = 12 };

static const struct coding_fix big5[] = {{0xA145, 1, 0x2022}, {0xA14E, 1, 0xFF64},
	{0xA1C2, 1, 0x203E}, {0xA1E3, 1, 0x223C}, {0xA1F2, 1, 0x2641}, {0xA1F3, 1, 0x2609},
	{0xA241, 1, 0xFF0F}, {0xA242, 1, 0xFF3C}, {0xA244, 1, 0xA5}, {0xA246, 2, 0xA2},
	{0xA3E1, 1, 0}, {0xF9D6, 41, 0}, {0x80, 1, 0}, {0xC6A1, 1, 0x30FE}, {0xC6A2, 2, 0x309D},
	{0xC6A4, 1, 0x3005}, {0xC6A5, 83, 0x3041}, {0xC6F8, 7, 0x30A1}, {0xC740, 63, 0x30A8},
	{0xC7A1, 16, 0x30E7}, {0xC7B1, 2, 0x414}, {0xC7B3, 1, 0x401}, {0xC7B4, 7, 0x416},
	{0xC7BB, 19, 0x423}, {0xC7CE, 1, 0x451}, {0xC7CF, 26, 0x436}, {0xC7E9, 10, 0x2460},
	{0xC7F3, 10, 0x2474}, {0xC7FD, 2, 0}, {0xC840, 63, 0}, {0xC8A1, 94, 0}, {0}};

static const struct coding_fix big5hkscs[] = {{0x80, 1, 0}, {0x877A, 5, 0}, {0x87A1, 63, 0},
	{0xA15A, 1, 0x2574}, {0xA1C3, 1, 0xFFE3}, {0xA1C5, 1, 0x2CD}, {0xA1FE, 1, 0xFF0F},
	{0xA240, 1, 0xFF3C}, {0xA2CC, 1, 0x5341}, {0xA2CE, 1, 0x5345}, {0}};

static const struct coding_fix cp1006[] = {{0x80, 33, 0x80}, {0}};

static const struct coding_fix cp720[] = {{0x80, 2, 0x80}, {0x84, 1, 0x84}, {0x86, 1, 0x86},
	{0x8D, 4, 0x8D}, {0x91, 2, 0x651}, {0x94, 1, 0xA4}, {0x95, 1, 0x640}, {0x98, 4, 0x621},
	{0x9D, 17, 0x625}, {0xE0, 5, 0x636}, {0xE5, 1, 0x641}, {0xE7, 9, 0x642}, {0xF1, 6, 0x64B},
	{0}};

static const struct coding_fix cp856[] = {{0xEE, 1, 0xAF}, {0xFA, 1, 0xB7}, {0}};

static const struct coding_fix cp864[] = {{0x25, 1, 0x66A}, {0}};

static const struct coding_fix cp932[] = {
	{0x80, 1, 0x80}, {0xA0, 1, 0xF8F0}, {0xFD, 3, 0xF8F1}, {0}};

static const struct coding_fix euc_jis_2004[] = {
	{0xA1BD, 1, 0x2015}, {0xA2D6, 2, 0x2985}, {0x8FA2B7, 1, 0x7E}, {0}};

static const struct coding_fix euc_jisx0213[] = {{0xA1BD, 1, 0x2015}, {0xA2D6, 2, 0x2985},
	{0xAEA1, 1, 0}, {0xAFFE, 1, 0}, {0xCFD4, 1, 0}, {0xCFFE, 1, 0}, {0xF4A7, 1, 0},
	{0xFEFA, 5, 0}, {0x8FA2B7, 1, 0x7E}, {0x8FFDBB, 1, 0x9B1D}, {0}};

static const struct coding_fix euc_jp[] = {{0x80, 14, 0}, {0x90, 16, 0}, {0x8FA2B7, 1, 0x7E}, {0}};

static const struct coding_fix euc_kr[] = {{0x80, 32, 0}, {0xA2E8, 1, 0}, {0xA4D4, 1, 0}, {0}};

static const struct coding_fix gb18030[] = {{0xA6D9, 7, 0xE78D}, {0xA6EC, 2, 0xE794},
	{0xA6F3, 1, 0xE796}, {0xA8BC, 1, 0xE7C7}, {0xFE51, 3, 0xE816}, {0xFE59, 1, 0xE81E},
	{0xFE61, 1, 0xE826}, {0xFE66, 2, 0xE82B}, {0xFE6C, 2, 0xE831}, {0xFE76, 1, 0xE83B},
	{0xFE7E, 1, 0xE843}, {0xFE90, 2, 0xE854}, {0xFEA0, 1, 0xE864}, {0x8135F437, 1, 0x1E3F},
	{0x82359037, 3, 0x9FB4}, {0x82359130, 5, 0x9FB7}, {0x84318236, 4, 0xFE10},
	{0x84318330, 6, 0xFE14}, {0}};

static const struct coding_fix gbk[] = {{0x80, 1, 0}, {0}};

static const struct coding_fix iso2022[] = {{0x4624, 2, 0}, {0x462A, 1, 0}, {0x4920, 1, 0},
	{0x497F, 1, 0}, {0x432268, 1, 0}, {0x442237, 1, 0x7E}, {0}};

static const struct coding_fix iso2022_jisx0213[] = {{0x4F213D, 1, 0x2015}, {0x4F2232, 1, 0x7E},
	{0x4F2256, 2, 0x2985}, {0x4F2E21, 1, 0}, {0x4F2F7E, 1, 0}, {0x4F4F54, 1, 0},
	{0x4F4F7E, 1, 0}, {0x4F7427, 1, 0}, {0x4F7E7A, 5, 0}, {0x51213D, 1, 0x2015},
	{0x512232, 1, 0x7E}, {0x512256, 2, 0x2985}, {0}};

static const struct coding_fix johab[] = {{0x8441, 1, 0x3000}, {0x8442, 2, 0x3131},
	{0x8445, 1, 0x3134}, {0x8448, 1, 0x3137}, {0x8449, 1, 0x3139}, {0x8451, 1, 0x3141},
	{0x8453, 1, 0x3142}, {0x8455, 4, 0x3145}, {0x8459, 5, 0x314A}, {0xD9E8, 1, 0}, {0}};

static const struct coding_fix latin_1[] = {{0x80, 128, 0x80}, {0}};

static const struct coding_fix mac_cyrillic[] = {{0xFF, 1, 0x20AC}, {0}};

static const struct coding_fix mac_farsi[] = {{0xB0, 10, 0x6F0}, {0}};

static const struct coding_fix mac_iceland[] = {{0xA0, 1, 0xDD}, {0xC6, 1, 0x2206}, {0xDC, 1, 0xD0},
	{0xDD, 1, 0xF0}, {0xDE, 1, 0xDE}, {0xDF, 1, 0xFE}, {0xE0, 1, 0xFD}, {0xF0, 1, 0xF8FF}, {0}};

static const struct coding_fix mac_roman[] = {{0xC6, 1, 0x2206}, {0xF0, 1, 0xF8FF}, {0}};

static const struct coding_fix mac_romanian[] = {{0xAE, 1, 0x102}, {0xAF, 1, 0x218},
	{0xBE, 1, 0x103}, {0xBF, 1, 0x219}, {0xC6, 1, 0x2206}, {0xDE, 2, 0x21A}, {0xF0, 1, 0xF8FF},
	{0}};

static const struct coding_fix mac_turkish[] = {{0xC6, 1, 0x2206}, {0xDA, 2, 0x11E},
	{0xDC, 2, 0x130}, {0xDE, 2, 0x15E}, {0xF0, 1, 0xF8FF}, {0xF5, 1, 0xF8A0}, {0}};

static const struct coding_fix palmos[] = {{0x81, 1, 0x81}, {0x8D, 1, 0x2666}, {0x8E, 1, 0x2663},
	{0x8F, 1, 0x2665}, {0x90, 1, 0x2660}, {0x9B, 1, 0x9B}, {0x9D, 2, 0x9D}, {0}};

static const struct coding_fix shift_jis_2004[] = {{0x5C, 1, 0xA5}, {0x7E, 1, 0x203E},
	{0x815C, 1, 0x2015}, {0x815F, 1, 0x5C}, {0x81B0, 1, 0x7E}, {0x81D4, 2, 0x2985}, {0}};

static const struct coding_fix shift_jisx0213[] = {{0x5C, 1, 0xA5}, {0x7E, 1, 0x203E},
	{0x815C, 1, 0x2015}, {0x815F, 1, 0x5C}, {0x81B0, 1, 0x7E}, {0x81D4, 2, 0x2985},
	{0x879F, 1, 0}, {0x889E, 1, 0}, {0x9873, 1, 0}, {0x989E, 1, 0}, {0xEAA5, 1, 0},
	{0xEFF8, 5, 0}, {0xFC5A, 1, 0x9B1D}, {0}};

static const struct coding_fix tis_620[] = {{0x80, 32, 0x80}, {0}};

const struct coding codings[] = {
	{"ascii",
		"646 ansi_x3.4_1968 ansi_x3.4_1986 ansi_x3_4_1968 cp367 csascii ibm367 iso646_us iso_646.irv_1991 iso_ir_6 us us_ascii"},
	{"big5", "big5_tw csbig5 x_mac_trad_chinese", "BIG5", big5},
	{"big5hkscs", "big5_hkscs hkscs", "BIG5-HKSCS", big5hkscs},
	{"charmap", NULL, NULL, latin_1},
	{"cp1006", NULL, NULL, cp1006, .high = cp1006_high},
	{"cp1125", "1125 cp866u ibm1125 ruscii", "CP1125"},
	{"cp1250", "1250 windows_1250", "CP1250"},
	{"cp1251", "1251 windows_1251", "CP1251"},
	{"cp1252", "1252 windows_1252", "CP1252"},
	{"cp1253", "1253 windows_1253", "CP1253"},
	{"cp1254", "1254 windows_1254", "CP1254"},
	{"cp1255", "1255 windows_1255", "CP1255"},
	{"cp1256", "1256 windows_1256", "CP1256"},
	{"cp1257", "1257 windows_1257", "CP1257"},
	{"cp1258", "1258 windows_1258", "CP1258"},
	{"cp437", "437 cspc8codepage437 ibm437", "CP437"},
	{"cp720", NULL, "CP437", cp720},
	{"cp737", NULL, "CP737"},
	{"cp775", "775 cspc775baltic ibm775", "CP775"},
	{"cp850", "850 cspc850multilingual ibm850", "CP850"},
	{"cp852", "852 cspcp852 ibm852", "CP852"},
	{"cp855", "855 csibm855 ibm855", "CP855"},
	{"cp856", NULL, "CP856", cp856},
	{"cp857", "857 csibm857 ibm857", "CP857"},
	{"cp858", "858 csibm858 ibm858", "CP858"},
	{"cp860", "860 csibm860 ibm860", "CP860"},
	{"cp861", "861 cp_is csibm861 ibm861", "CP861"},
	{"cp862", "862 cspc862latinhebrew ibm862", "CP862"},
	{"cp863", "863 csibm863 ibm863", "CP863"},
	{"cp864", "864 csibm864 ibm864", "CP864", cp864},
	{"cp865", "865 csibm865 ibm865", "CP865"},
	{"cp866", "866 csibm866 ibm866", "CP866"},
	{"cp869", "869 cp_gr csibm869 ibm869", "CP869"},
	{"cp874", NULL, "CP874"},
	{"cp932", "932 ms932 ms_kanji mskanji", "CP932", cp932},
	{"cp949", "949 ms949 uhc", "UHC"},
	{"cp950", "950 ms950", "BIG5", big5 + BIG5_OWN},
	{"euc_jis_2004", "euc_jis2004 eucjis2004 jisx0213", "EUC-JISX0213", euc_jis_2004,
		.also = "EUC-JP"},
	{"euc_jisx0213", "eucjisx0213", "EUC-JISX0213", euc_jisx0213, .also = "EUC-JP"},
	{"euc_jp", "eucjp u_jis ujis", "EUC-JP", euc_jp},
	{"euc_kr", "euckr korean ks_c_5601 ks_c_5601_1987 ks_x_1001 ksc5601 ksx1001 x_mac_korean",
		"EUC-KR", euc_kr, CODING_EUC_KR},
	{"gb18030", "gb18030_2000", "GB18030", gb18030},
	{"gb2312",
		"chinese csiso58gb231280 euc_cn euccn eucgb2312_cn gb2312_1980 gb2312_80 iso_ir_58 x_mac_simp_chinese",
		"GB2312"},
	{"gbk", "936 cp936 ms936", "GBK", gbk},
	{"hp_roman8", "cp1051 csHPRoman8 ibm1051 r8 roman8", "HP-ROMAN8"},
	{"hz", "hz_gb hz_gb_2312 hzgb", "GB2312", .kind = CODING_HZ},
	{"idna", NULL, .kind = CODING_IDNA},
	{"iso2022_jp", "csiso2022jp iso2022jp iso_2022_jp", "ISO-2022-JP", NULL, .sets = "(J $@ $B",
		.kind = CODING_ISO_2022},
	{"iso2022_jp_1", "iso2022jp_1 iso_2022_jp_1", "ISO-2022-JP-2", iso2022,
		.sets = "(J $@ $B $(D", .kind = CODING_ISO_2022},
	{"iso2022_jp_2", "iso2022jp_2 iso_2022_jp_2", "ISO-2022-JP-2", iso2022,
		.sets = "(J $@ $B $(D $A $(C .A .F", .kind = CODING_ISO_2022},
	{"iso2022_jp_2004", "iso2022jp_2004 iso_2022_jp_2004", "ISO-2022-JP-3", iso2022_jisx0213,
		.sets = "$B $(Q $(P", .kind = CODING_ISO_2022},
	{"iso2022_jp_3", "iso2022jp_3 iso_2022_jp_3", "ISO-2022-JP-3", iso2022_jisx0213,
		.sets = "$B $(O $(P", .kind = CODING_ISO_2022},
	{"iso2022_jp_ext", "iso2022jp_ext iso_2022_jp_ext", "ISO-2022-JP-2", iso2022,
		.sets = "(J (I $@ $B $(D", .kind = CODING_ISO_2022},
	{"iso2022_kr", "csiso2022kr iso2022kr iso_2022_kr", "ISO-2022-KR", iso2022, .sets = "$)C",
		.kind = CODING_ISO_2022},
	{"iso8859_10", "csisolatin6 iso_8859_10 iso_8859_10_1992 iso_ir_157 l6 latin6",
		"ISO-8859-10"},
	{"iso8859_11", "iso_8859_11 iso_8859_11_2001 thai", "ISO-8859-11"},
	{"iso8859_13", "iso_8859_13 l7 latin7", "ISO-8859-13"},
	{"iso8859_14", "iso_8859_14 iso_8859_14_1998 iso_celtic iso_ir_199 l8 latin8",
		"ISO-8859-14"},
	{"iso8859_15", "iso_8859_15 l9 latin9", "ISO-8859-15"},
	{"iso8859_16", "iso_8859_16 iso_8859_16_2001 iso_ir_226 l10 latin10", "ISO-8859-16"},
	{"iso8859_2", "csisolatin2 iso_8859_2 iso_8859_2_1987 iso_ir_101 l2 latin2", "ISO-8859-2"},
	{"iso8859_3", "csisolatin3 iso_8859_3 iso_8859_3_1988 iso_ir_109 l3 latin3", "ISO-8859-3"},
	{"iso8859_4", "csisolatin4 iso_8859_4 iso_8859_4_1988 iso_ir_110 l4 latin4", "ISO-8859-4"},
	{"iso8859_5", "csisolatincyrillic cyrillic iso_8859_5 iso_8859_5_1988 iso_ir_144",
		"ISO-8859-5"},
	{"iso8859_6",
		"arabic asmo_708 csisolatinarabic ecma_114 iso_8859_6 iso_8859_6_1987 iso_ir_127",
		"ISO-8859-6"},
	{"iso8859_7",
		"csisolatingreek ecma_118 elot_928 greek greek8 iso_8859_7 iso_8859_7_1987 iso_ir_126",
		"ISO-8859-7"},
	{"iso8859_8", "csisolatinhebrew hebrew iso_8859_8 iso_8859_8_1988 iso_ir_138",
		"ISO-8859-8"},
	{"iso8859_9", "csisolatin5 iso_8859_9 iso_8859_9_1989 iso_ir_148 l5 latin5", "ISO-8859-9"},
	{"johab", "cp1361 ms1361", "JOHAB", johab},
	{"koi8_r", "cskoi8r", "KOI8-R"},
	{"koi8_t", NULL, "KOI8-T"},
	{"koi8_u", NULL, "KOI8-U"},
	{"kz1048", "kz_1048 rk1048 strk1048_2002", "RK1048"},
	{"latin_1",
		"8859 cp819 csisolatin1 ibm819 iso8859 iso8859_1 iso_8859_1 iso_8859_1_1987 iso_ir_100 l1 latin latin1",
		NULL, latin_1},
	{"mac_arabic", NULL, NULL, NULL, .high = mac_arabic_high},
	{"mac_croatian", NULL, NULL, NULL, .high = mac_croatian_high},
	{"mac_cyrillic", "maccyrillic", "MAC-CYRILLIC", mac_cyrillic},
	{"mac_farsi", NULL, NULL, mac_farsi, .high = mac_arabic_high},
	{"mac_greek", "macgreek", NULL, NULL, .high = mac_greek_high},
	{"mac_iceland", "maciceland", "MACINTOSH", mac_iceland},
	{"mac_latin2", "mac_centeuro maccentraleurope maclatin2", "MAC-CENTRALEUROPE"},
	{"mac_roman", "macintosh macroman", "MACINTOSH", mac_roman},
	{"mac_romanian", NULL, "MACINTOSH", mac_romanian},
	{"mac_turkish", "macturkish", "MACINTOSH", mac_turkish},
	{"palmos", NULL, "CP1252", palmos},
	{"ptcp154", "cp154 csptcp154 cyrillic_asian pt154", "PT154"},
	{"raw_unicode_escape", NULL, .kind = CODING_RAW_ESCAPES},
	{"shift_jis", "csshiftjis s_jis shiftjis sjis x_mac_japanese", "SJIS"},
	{"shift_jis_2004", "s_jis_2004 shiftjis2004 sjis_2004", "SHIFT_JISX0213", shift_jis_2004},
	{"shift_jisx0213", "s_jisx0213 shiftjisx0213 sjisx0213", "SHIFT_JISX0213", shift_jisx0213},
	{"tis_620", "iso_ir_166 tis620 tis_620_0 tis_620_2529_0 tis_620_2529_1", "TIS-620",
		tis_620},
	{"unicode_escape", NULL, .kind = CODING_ESCAPES},
	{"utf_7", "u7 unicode_1_1_utf_7 utf7", .kind = CODING_UTF_7},
	{"utf_8", "cp65001 u8 utf utf8 utf8_ucs2 utf8_ucs4", .kind = CODING_UTF_8},
	{"utf_8_sig", NULL, .kind = CODING_UTF_8},
};

const size_t coding_count = sizeof(codings) / sizeof(*codings);
