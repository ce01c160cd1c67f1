package owners_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/daemon/owners"
)

const (
	one = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e"
	two = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9f"
)

func want(t *testing.T, s *owners.Store, conversation, token string) {
	t.Helper()
	if got, err := s.Owner(conversation); got != token || err != nil {
		t.Errorf("the owner of %s is %q, %v; want %q", conversation, got, err, token)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOwnersAreKnownUntilTheyAreForgotten(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"on disk": t.TempDir(), "in memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := owners.Open(dir)
			want(t, s, one, "")
			must(t, s.Claim(one, "alice"))
			must(t, s.Claim(two, "bob"))
			want(t, s, one, "alice")
			want(t, s, two, "bob")
			if dir != "" {
				s = owners.Open(dir)
				want(t, s, one, "alice")
			}
			must(t, s.Forget(one))
			want(t, s, one, "")
			must(t, s.Claim(one, "carol"))
			want(t, s, one, "carol")
			want(t, s, two, "bob")
		})
	}
}

// A line that a full disk or a crash cut off names no owner, and the next line
// is whole.
func TestALineThatWasCutOffCountsForNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := owners.Open(dir)
	must(t, s.Claim(one, "alice"))
	must(t, s.Claim(two, "bob"))
	path := filepath.Join(dir, "owners", one[:2])
	data, err := os.ReadFile(path)
	must(t, err)
	for cut := range data {
		must(t, os.WriteFile(path, data[:cut], 0o600))
		for conversation, token := range map[string]string{one: "alice", two: "bob"} {
			if got, err := s.Owner(conversation); err != nil || got != "" && got != token {
				t.Fatalf("cut at %d: the owner of %s is %q, %v", cut, conversation, got, err)
			}
		}
		must(t, s.Claim(one, "carol"))
		want(t, s, one, "carol")
	}
}

// Before, nothing followed the mark of the last line.
func TestAFileOfAnEarlierVersionIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "owners", one[:2])
	must(t, os.Mkdir(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte("\n"+one+" alice;\n"+two+" bob;\n"+one+" carol;\n"+two+" ;"), 0o600))
	s := owners.Open(dir)
	want(t, s, one, "carol")
	want(t, s, two, "")
	must(t, s.Claim(two, "dave"))
	want(t, s, one, "carol")
	want(t, s, two, "dave")
}

// What is gone takes no room for long.
func TestFilesDoNotGrowWithWhatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var last string
	for life := range 3 { // restarts
		s := owners.Open(dir)
		must(t, s.Claim(one, "alice"))
		for i := range 2000 {
			last = fmt.Sprintf("01%06d-f0a5-4b1c-8e3d-%012d", i, life)
			must(t, s.Claim(last, "bob"))
			must(t, s.Forget(last))
		}
	}
	info, err := os.Stat(filepath.Join(dir, "owners", "01"))
	must(t, err)
	if info.Size() > 64<<10 {
		t.Errorf("%d bytes for one conversation", info.Size())
	}
	want(t, owners.Open(dir), one, "alice")
	want(t, owners.Open(dir), last, "")
}

func TestWhatIsNoConversationHasNoOwner(t *testing.T) {
	t.Parallel()
	s := owners.Open(t.TempDir())
	for _, id := range []string{"", "../../x", "0198C9D2-F0A5-4B1C-8E3D-4F5A6B7C8D9E"} {
		if err := s.Claim(id, "alice"); err == nil {
			t.Errorf("%q can be owned", id)
		}
	}
	for _, token := range []string{"", "a b", "a\nb", "a;"} {
		if err := s.Claim(one, token); err == nil {
			t.Errorf("%q can own", token)
		}
	}
}

func BenchmarkOwner(b *testing.B) {
	s := owners.Open(b.TempDir())
	for i := range 400 { // 100,000 conversations in 256 files
		if err := s.Claim(fmt.Sprintf("01%06d-f0a5-4b1c-8e3d-4f5a6b7c8d9e", i), "0123456789abcdef"); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if owner, err := s.Owner("01000007-f0a5-4b1c-8e3d-4f5a6b7c8d9e"); owner == "" || err != nil {
			b.Fatal(err)
		}
	}
}
