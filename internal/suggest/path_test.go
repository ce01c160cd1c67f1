package suggest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/suggest"
)

func TestPathThatReadsAlike(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		there []string
		typed string
		want  string
	}{
		"narrow blank":            {[]string{"Shot 9.41\u202fAM.png"}, "Shot 9.41 AM.png", "Shot 9.41\u202fAM.png"},
		"no-break blank":          {[]string{"a\u00a0b"}, "a b", "a\u00a0b"},
		"the other way":           {[]string{"a b"}, "a\u3000b", "a b"},
		"two blanks":              {[]string{"a  b"}, "a b", "a  b"},
		"a blank at the end":      {[]string{"notes.txt "}, "notes.txt", "notes.txt "},
		"decomposed":              {[]string{"Cafe\u0301.md"}, "Caf\u00e9.md", "Cafe\u0301.md"},
		"composed":                {[]string{"\u00dcber"}, "U\u0308ber", "\u00dcber"},
		"Hangul":                  {[]string{"\u1112\u1161\u11ab\u1100\u1173\u11af.txt"}, "\ud55c\uae00.txt", "\u1112\u1161\u11ab\u1100\u1173\u11af.txt"},
		"kana":                    {[]string{"\u30ab\u3099.txt"}, "\u30ac.txt", "\u30ab\u3099.txt"},
		"apostrophe":              {[]string{"don’t"}, "don't", "don’t"},
		"dash":                    {[]string{"2024–2025.csv"}, "2024-2025.csv", "2024–2025.csv"},
		"zero width":              {[]string{"a\u200bb"}, "ab", "a\u200bb"},
		"in a directory":          {[]string{"Bücher 1/a\u202fb.txt"}, "Bu\u0308cher 1/a b.txt", "Bücher 1/a\u202fb.txt"},
		"two of them":             {[]string{"a\u202fb", "a\u00a0b"}, "a b", ""},
		"another name":            {[]string{"abc"}, "abd", ""},
		"another case":            {[]string{"ABC"}, "abc", ""},
		"no directory":            {nil, "x/y/z", ""},
		"a directory that is one": {[]string{"a\u202fb"}, "a b/c", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, there := range test.there {
				path := filepath.Join(dir, there)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Skip(err) // not every file system has every name
				}
			}
			want := test.want
			if want != "" {
				want = filepath.Join(dir, want)
			}
			if got := suggest.PathHere(filepath.Join(dir, test.typed)); got != want {
				t.Errorf("PathHere = %+q, want %+q", got, want)
			}
		})
	}
}

func TestEscaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a b": `"a b"`, "a\u202fb": `"a\u202fb"`, "😀\"": `"\ud83d\ude00\u0022"`} {
		if got := suggest.Escaped(text); got != want {
			t.Errorf("Escaped = %s, want %s", got, want)
		}
	}
}
