package turn

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/ohgw/ohgw/internal/redact"
)

// maxCompared is how large a file may be to be compared, in bytes.
const maxCompared = 1 << 20

// change is what an edit did to a file.
type change struct {
	Old *string `json:"old_content"`
	New *string `json:"new_content"`
}

// changed are the files that an edit changed, by their paths.
func (o *observed) changed() map[string]change {
	if len(o.Commit.Changes) > 0 {
		return o.Commit.Changes
	}
	if o.New == nil && o.Old == nil {
		return nil
	}
	return map[string]change{"": {o.Old, o.New}}
}

// compare sets the diff of an edit: of one file without a header, of several
// with one each. It takes no more time than the size of the files needs.
func (c *Call) compare(files map[string]change) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		patch, ok := patchOf(files[name])
		if !ok {
			c.DiffCut++
			continue
		}
		if patch != "" && len(files) > 1 {
			name = shorten(path.Clean(name), maxPath)
			b.WriteString("--- " + name + "\n+++ " + name + "\n")
		}
		for line := range strings.Lines(patch) {
			switch line[0] {
			case '+':
				c.Added++
			case '-':
				c.Removed++
			}
		}
		b.WriteString(patch)
	}
	kept, missing := firstLines(redact.Text(visible(b.String())), maxDiff)
	c.Diff, c.DiffCut = kept, c.DiffCut+missing
	if len(files) == 1 && c.Path == "" {
		for name := range files {
			c.Path = shorten(name, maxPath)
		}
	}
}

// patchOf writes a change as a unified patch without a header; false if the file is
// too large to be compared.
func patchOf(f change) (patch string, ok bool) {
	before, after := "", ""
	if f.Old != nil {
		before = *f.Old
	}
	if f.New != nil {
		after = *f.New
	}
	if len(before) > maxCompared || len(after) > maxCompared {
		return "", false
	}
	if strings.Contains(before, "\r\n") == strings.Contains(after, "\r\n") || before == "" || after == "" {
		before, after = strings.ReplaceAll(before, "\r\n", "\n"), strings.ReplaceAll(after, "\r\n", "\n")
	}
	patch, err := udiff.ToUnified("a", "b", before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil { // its edits are not its own
		return "", false
	}
	_, patch, _ = strings.Cut(patch, "\n")
	_, patch, _ = strings.Cut(patch, "\n")
	return patch, true
}

// firstLines are the first lines of s, in at most limit bytes of JSON, and how
// many lines are missing.
func firstLines(s string, limit int) (kept string, missing int) {
	end := 0
	for line := range strings.Lines(s) {
		if limit -= encoded(line); limit < 0 {
			return s[:end], strings.Count(s[end:], "\n") + 1
		}
		end += len(line)
	}
	return s, 0
}
