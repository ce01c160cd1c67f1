package extension

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheNumberOfFilesIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 4 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("1234"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, try := range []struct {
		most limits
		want string
	}{{limits{4, 16}, ""}, {limits{3, 16}, "more than 3 files"}, {limits{4, 15}, "is larger than"}} {
		err := copyTree(dir, filepath.Join(t.TempDir(), "copy"), try.most)
		if (err == nil) != (try.want == "") || err != nil && !strings.Contains(err.Error(), try.want) {
			t.Errorf("%+v: %v", try.most, err)
		}
	}
}
