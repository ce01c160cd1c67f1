// Package frontmatter finds the front matter of the Markdown files of OpenHands: skills,
// commands and agent definitions. It does not parse it.
package frontmatter

import (
	"bytes"

	"github.com/ohgw/ohgw/internal/pattern"
)

// boundary is the line around the front matter: three dashes or more.
var boundary = pattern.Of(`(?m)^-{3,}\s*$`)

// Split parts the front matter of a file from its body, as OpenHands does. first
// is the number of the line at which the head begins. Without a head all is body.
func Split(data []byte) (head, body []byte, first int, closed bool) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // as editors of Windows begin a file
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	text := bytes.TrimSpace(data)
	skipped := bytes.Count(data[:bytes.Index(data, text)], []byte("\n"))
	open := boundary().FindIndex(text)
	if open == nil || open[0] != 0 {
		return nil, text, 0, true
	}
	rest := text[open[1]:]
	end := boundary().FindIndex(rest)
	if end == nil {
		return nil, text, 0, false
	}
	first = skipped + bytes.Count(text[:open[1]], []byte("\n")) + 1
	return rest[:end[0]], bytes.TrimSpace(rest[end[1]:]), first, true
}
