package file

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// table is an encoding with one byte for each character.
type table struct {
	name  string
	chars *charmap.Charmap
	// usual tables are taken where others read the same text out of the bytes.
	usual     bool
	languages string // that are written in it
}

const (
	western  = "de fr es pt it nl sv da is fo ca et ga sq"
	central  = "pl cs sk hu hr ro sq de"
	slavic   = "ru uk bg sr"
	baltic   = "lt lv et"
	southern = "mt eo"
)

// tables are all encodings with one byte for each character that are recognised.
var tables = [...]table{
	{"Windows-1252", charmap.Windows1252, true, western},
	{"ISO-8859-15", charmap.ISO8859_15, false, western},
	{"Windows-1250", charmap.Windows1250, false, central},
	{"ISO-8859-2", charmap.ISO8859_2, false, central},
	{"Windows-1251", charmap.Windows1251, true, slavic},
	{"KOI8-R", charmap.KOI8R, false, "ru bg"},
	{"KOI8-U", charmap.KOI8U, false, "ru uk"},
	{"ISO-8859-5", charmap.ISO8859_5, false, slavic},
	{"code page 866", charmap.CodePage866, false, "ru"},
	{"Mac OS Cyrillic", charmap.MacintoshCyrillic, false, "ru"},
	{"Windows-1253", charmap.Windows1253, false, "el"},
	{"ISO-8859-7", charmap.ISO8859_7, false, "el"},
	{"Windows-1254", charmap.Windows1254, true, "tr"},
	{"Windows-1255", charmap.Windows1255, false, "he"},
	{"ISO-8859-8", charmap.ISO8859_8, false, "he"},
	{"Windows-1256", charmap.Windows1256, true, "ar"},
	{"ISO-8859-6", charmap.ISO8859_6, false, "ar"},
	{"Windows-874", charmap.Windows874, true, "th"},
	{"Windows-1257", charmap.Windows1257, false, baltic},
	{"ISO-8859-13", charmap.ISO8859_13, false, baltic},
	{"ISO-8859-4", charmap.ISO8859_4, false, baltic},
	{"ISO-8859-10", charmap.ISO8859_10, false, baltic},
	{"ISO-8859-3", charmap.ISO8859_3, false, southern},
	{"ISO-8859-14", charmap.ISO8859_14, false, "cy"},
}

// oneByte is the encoding that is the first of tables; the next one has the next bit.
// Where two encodings read the same text out of the bytes of a file, both bits are set.
const oneByte encoding = 1 << 8

// tables are those that an encoding stands for, at least one.
func (e encoding) tables() (list []table) {
	for i, t := range tables {
		if e&(oneByte<<i) != 0 {
			list = append(list, t)
		}
	}
	if list == nil { // unknown
		return tables[:1]
	}
	return list
}

func (e encoding) names() string {
	var names []string
	for _, t := range e.tables() {
		names = append(names, t.name)
	}
	return strings.Join(names, " or ")
}

// character is what a byte stands for. A byte that stands for nothing keeps its number.
func (e encoding) character(c byte) rune {
	if r := e.tables()[0].chars.DecodeByte(c); r != utf8.RuneError {
		return r
	}
	return rune(c)
}

// byteOf is how a character is written, which is the same in all of its tables.
func (e encoding) byteOf(r rune) (byte, bool) {
	list := e.tables()
	c, ok := list[0].byteOf(r)
	for _, t := range list[1:] {
		other, known := t.byteOf(r)
		ok = ok && known && other == c
	}
	return c, ok
}

func (t table) byteOf(r rune) (byte, bool) {
	if r >= utf8.RuneSelf && r <= 0xff && t.chars.DecodeByte(byte(r)) == utf8.RuneError {
		return byte(r), true
	}
	return t.chars.EncodeRune(r)
}
