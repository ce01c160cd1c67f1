package connect

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/connect"
	"github.com/ohgw/ohgw/internal/fault"
)

func openTestFile(t *testing.T, path string) (*clientFile, connect.Client) {
	t.Helper()
	a := clitest.New(t, nil).App
	c, _, ok := connect.Find("litellm")
	if !ok {
		t.Fatal("no client litellm")
	}
	f, err := openClientFile(a, c, path)
	if err != nil {
		t.Fatal(err)
	}
	return f, c
}

func writeTestFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAClientFileThatChangesMeanwhileStays(t *testing.T) {
	t.Parallel()
	const theirs = "theirs: true\n"
	for name, change := range map[string]func(*clientFile, connect.Client) error{
		"written":  func(f *clientFile, c connect.Client) error { _, err := f.write(c, "ours: true\n"); return err },
		"put back": func(f *clientFile, _ connect.Client) error { return f.restore("ours: true\n", true) },
		"removed":  func(f *clientFile, _ connect.Client) error { return f.restore("", false) },
	} {
		for _, there := range []bool{true, false} {
			path := filepath.Join(t.TempDir(), "config.yaml")
			if there {
				writeTestFile(t, path, "a: 1\n")
			}
			f, c := openTestFile(t, path)
			writeTestFile(t, path, theirs)
			if err := change(f, c); fault.CodeOf(err) != fault.Conflict {
				t.Errorf("%s: %v", name, err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != theirs {
				t.Errorf("%s: file = %q, error %v", name, got, err)
			}
		}
	}
}

func TestALinkToAClientFileStays(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := t.TempDir()
	link, target := filepath.Join(dir, "link.yaml"), filepath.Join(dir, "target.yaml")
	if err := os.Symlink("target.yaml", link); err != nil {
		t.Fatal(err)
	}
	f, c := openTestFile(t, link)
	if _, err := f.write(c, "ours: true\n"); err != nil {
		t.Fatal(err)
	}
	f, _ = openTestFile(t, link)
	if err := f.restore("", false); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != "target.yaml" {
		t.Errorf("the link is %q, %v", to, err)
	}
	if _, err := os.Stat(target); !os.IsNotExist(err) {
		t.Errorf("what the link names: %v", err)
	}
}
