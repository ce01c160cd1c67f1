package suggest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
)

// Path finds the path that is there and reads like one that is not: its names differ in
// the kind of blanks, of quotation marks or of dashes, or in how Unicode composes a
// character. It is "" when there is none, and when there are two. Names are those in a
// directory; nil if it cannot be listed.
func Path(path string, names func(dir string) []string) string {
	dir, base := filepath.Split(filepath.Clean(path))
	dir = filepath.Clean(dir)
	if base == "" || dir == path {
		return ""
	}
	there := names(dir)
	if there == nil {
		if dir = Path(dir, names); dir == "" {
			return ""
		}
		there = names(dir)
	}
	found := ""
	for _, name := range there {
		switch {
		case name == base:
			return filepath.Join(dir, name)
		case alike(name) != alike(base):
		case found != "":
			return ""
		default:
			found = filepath.Join(dir, name)
		}
	}
	return found
}

// PathHere is Path for the files of this machine.
func PathHere(path string) string {
	return Path(path, func(dir string) []string {
		f, err := os.Open(dir)
		if err != nil {
			return nil
		}
		defer f.Close()
		names, err := f.Readdirnames(-1)
		if err != nil {
			return nil
		}
		return names
	})
}

// alike returns one text for all names that people cannot tell apart.
func alike(name string) string {
	var b strings.Builder
	for _, r := range norm.NFKC.String(name) {
		switch {
		case unicode.IsSpace(r) || r == '\u2800':
			r = ' '
		case strings.ContainsRune("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad", r): // not seen
			continue
		case strings.ContainsRune("‘’‚‛′`´", r):
			r = '\''
		case strings.ContainsRune("“”„‟″", r):
			r = '"'
		case unicode.Is(unicode.Pd, r) || r == '−':
			r = '-'
		}
		b.WriteRune(r)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Escaped is a text as JSON can have it in ASCII.
func Escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= ' ' && r < unicode.MaxASCII && r != '"' && r != '\\' {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return `"` + b.String() + `"`
}
