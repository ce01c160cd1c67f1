package repocheck_test

import "testing"

// TestCommentsArePlain reads the comments of all Go files, tests included.
func TestCommentsArePlain(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, group := range s.tree.Comments {
			for _, o := range offences(group.Text()) {
				t.Errorf("%s:%d says %s", s.name, s.line(group.Pos()), o)
			}
		}
	}
}
