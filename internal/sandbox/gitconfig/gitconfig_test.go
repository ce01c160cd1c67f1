package gitconfig_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/sandbox/gitconfig"
)

func TestOnlyWhatRunsNothingIsTakenOver(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	home := t.TempDir()
	name := `Ada "the \ first" Lovelace; # 1`
	write(t, filepath.Join(home, "work"), "[user]\n\temail = ada@example.org\n")
	write(t, filepath.Join(home, ".gitconfig"), `[user]
	name = "Ada \"the \\ first\" Lovelace; # 1"
	signingkey = ABCDEF
[include]
	path = work
[init]
	defaultBranch = trunk
[core]
	fsmonitor = /bin/false
	autocrlf = input
	sshCommand = ssh -i key
[alias]
	st = !sh
[credential]
	helper = store
[commit]
	gpgsign = true
`)
	got := gitconfig.Of(t.Context(), home, []string{"PATH=" + filepath.Dir(git), "GIT_CONFIG_GLOBAL=" + filepath.Join(home, "other")})
	file := filepath.Join(t.TempDir(), "config")
	write(t, file, got)
	out, err := exec.CommandContext(t.Context(), git, "config", "--file", file, "--list").Output()
	if err != nil {
		t.Fatalf("git does not read it: %v\n%s", err, got)
	}
	want := []string{"user.name=" + name, "user.email=ada@example.org", "init.defaultbranch=trunk", "core.autocrlf=input", ""}
	if diff := cmp.Diff(want, strings.Split(string(out), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsSet(t *testing.T) {
	t.Parallel()
	if got := gitconfig.Of(t.Context(), t.TempDir(), []string{"PATH=" + os.Getenv("PATH")}); got != "" {
		t.Errorf("%q without a configuration", got)
	}
	if got := gitconfig.Of(t.Context(), t.TempDir(), []string{"PATH=" + t.TempDir()}); got != "" {
		t.Errorf("%q without git", got)
	}
}

func TestValuesStayInTheirLine(t *testing.T) {
	t.Parallel()
	got := gitconfig.Format([]byte("user.name\na\n[alias]\nx = !sh\x00user.email\nfirst\x00user.email\nlast\x00"))
	want := "[user]\n\tname = \"a\\n[alias]\\nx = !sh\"\n[user]\n\temail = \"last\"\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
