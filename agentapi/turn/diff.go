package turn

import "strings"

// maxCompared is how large a file may be to be compared, in bytes.
const maxCompared = 1 << 20

// compare sets the diff of an edit.
func (c *Call) compare(before, after string) {
	if len(before) > maxCompared || len(after) > maxCompared {
		c.DiffCut = max(1, strings.Count(after, "\n"))
		return
	}
}
