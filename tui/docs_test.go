package tui

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocumentListsEveryKey keeps the tables of docs/chat.md those of /help.
func TestDocumentListsEveryKey(t *testing.T) {
	t.Parallel()
	const name, begin, end = "../docs/chat.md", "<!-- keys -->\n", "<!-- end of keys -->\n"
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the marks are gone")
	}
	var want strings.Builder
	for _, r := range helpRows() {
		switch {
		case r[0] == "":
		case r[1] == "":
			want.WriteString("\n| " + r[0] + " | |\n|---|---|\n")
		case !strings.HasPrefix(r[0], "Mouse") && !strings.HasPrefix(r[0], "Pictures"):
			want.WriteString("| `" + strings.ReplaceAll(r[0], ", ", "`, `") + "` | " + r[1] + " |\n")
		}
	}
	want.WriteString("\n")
	if *update {
		if err := os.WriteFile(name, []byte(before+begin+want.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		got = want.String()
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
