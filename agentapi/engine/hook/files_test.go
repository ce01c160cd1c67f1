package hook

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/hookfile"
)

func TestFilesOfHooks(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(home, ".openhands")
	for _, file := range []string{"guard.sh", "bin/check.py", ".openhands/hooks/guard.sh", ".openhands/settings.json", "a b/guard.sh"} {
		at := filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(home, "guard.sh"), filepath.Join(home, "link")); err != nil {
		t.Skip(err)
	}
	hooks := filepath.Join(base, "hooks")
	for _, c := range []struct {
		command string
		own     bool
		more    map[string]string // beside the directory of hooks
	}{
		{"echo no", true, nil},
		{home + "/guard.sh", true, map[string]string{home + "/guard.sh": home + "/guard.sh"}},
		{"~/guard.sh", true, map[string]string{"~/guard.sh": home + "/guard.sh"}},
		{"python3 $HOME/bin/check.py --all; true", true, map[string]string{"$HOME/bin/check.py": home + "/bin/check.py"}},
		{"exec \"${HOME}\"/bin/check.py", true, map[string]string{"\"${HOME}\"/bin/check.py": home + "/bin/check.py"}},
		{"x=${HOME}/bin/check.py; $x || exit 2", true, map[string]string{"${HOME}/bin/check.py": home + "/bin/check.py"}},
		{"~/link", true, map[string]string{"~/link": home + "/guard.sh"}},
		{"$HOME/.openhands/hooks/guard.sh", true, map[string]string{"$HOME/.openhands/hooks/guard.sh": hooks + "/guard.sh"}},
		{"~/bin", true, nil}, // a directory
		{"/etc/passwd ~/nothing", true, nil},
		{"'" + home + "/a b/guard.sh'", true, nil},
		// The client of a request may not read what the user may.
		{"cat " + home + "/guard.sh ~/.openhands/settings.json", false, nil},
		{"~/.openhands/hooks/guard.sh", false, map[string]string{"~/.openhands/hooks/guard.sh": hooks + "/guard.sh"}},
	} {
		want := map[string]string{hooks: hooks}
		maps.Copy(want, c.more)
		config := hookfile.Config{hookfile.PreToolUse: {{Matcher: "*", Hooks: []hookfile.Hook{{Type: hookfile.TypeCommand, Command: c.command}}}}}
		if got := FilesOf(config, c.own, home, base); !maps.Equal(got, want) {
			t.Errorf("%s: FilesOf = %q, want %q", c.command, got, want)
		}
	}
}
