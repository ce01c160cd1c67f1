package repocheck_test

import (
	"slices"
	"strings"
	"testing"
)

// TestCommentsArePlain reads the comments of every folder, but of those in
// comments-unread.txt. Folders leave that list; new ones do not get into it.
func TestCommentsArePlain(t *testing.T) {
	t.Parallel()
	unread := strings.Fields(read(t, "tools/repocheck/testdata/comments-unread.txt"))
	if !slices.IsSorted(unread) {
		t.Error("comments-unread.txt is not sorted")
	}
	found := map[string]int{}
	for _, s := range sources(t) {
		for _, group := range s.tree.Comments {
			for _, o := range offences(group.Text()) {
				if found[s.dir]++; !slices.Contains(unread, s.dir) {
					t.Errorf("%s:%d says %s", s.name, s.line(group.Pos()), o)
				}
			}
		}
	}
	for _, dir := range unread {
		if found[dir] == 0 {
			t.Errorf("the comments of %s are plain; remove it from comments-unread.txt", dir)
		}
	}
}
