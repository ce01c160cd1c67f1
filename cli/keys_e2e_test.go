//go:build e2e && linux

package cli_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	// withKeyring is a variable that names a command which runs another one
	// beside a real Secret Service; with --locked, a locked one.
	withKeyring = "OHGW_TEST_WITH_KEYRING"

	insideKeyring = "OHGW_TEST_INSIDE_KEYRING"
	fixtureKey    = "FIXTURE-0123456789-of-a-real-keyring"
)

// beside runs the test of this name again, beside a keyring. It returns false
// there.
func beside(t *testing.T, options ...string) bool {
	t.Helper()
	if os.Getenv(insideKeyring) != "" {
		return false
	}
	tool := os.Getenv(withKeyring)
	if tool == "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not set: a real keyring is required in CI", withKeyring)
		}
		t.Skipf("SKIPPED, NOT TESTED AGAINST A REAL KEYRING: set %s", withKeyring)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tool, append(options, self, "-test.run=^"+t.Name()+"$", "-test.v")...)
	cmd.Env = append(os.Environ(), insideKeyring+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("running the program: %v\n%s", err, out)
	}
	return true
}

// program is the built program and the files of one user of it.
type program struct {
	path string
	home string
	env  []string
	said strings.Builder // all that it ever said
}

// built builds the program for a user who has profiles, and the environment of
// the test as far as the keyring needs it.
func built(t *testing.T, profiles map[string]string) *program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ohgw")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/ohgw/ohgw/cmd/ohgw").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return (&program{path: path}).another(t, profiles)
}

// another is the same program for another user.
func (p *program) another(t *testing.T, profiles map[string]string) *program {
	t.Helper()
	p = &program{path: p.path, home: t.TempDir()}
	p.env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
	for _, name := range []string{"DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"} {
		p.env = append(p.env, name+"="+os.Getenv(name))
	}
	dir := filepath.Join(p.home, ".openhands", "profiles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range profiles {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// run runs the program, which must end with the code, and gives what it says.
func (p *program) run(t *testing.T, code int, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.path, args...)
	cmd.Env, cmd.Stdin = p.env, strings.NewReader(stdin)
	out, _ := cmd.CombinedOutput() // The exit code says it.
	p.said.Write(out)
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("ohgw %s ends with %d, want %d:\n%s", strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

// wantHidden checks that the key is in nothing that was said, and in no file
// below the home directory but these.
func (p *program) wantHidden(t *testing.T, but ...string) {
	t.Helper()
	if strings.Contains(p.said.String(), fixtureKey) {
		t.Error("the program has said the key")
	}
	err := filepath.WalkDir(p.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(fixtureKey)) {
			for _, name := range but {
				if strings.HasSuffix(path, name) {
					return err
				}
			}
			t.Errorf("%s has the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func wantSaid(t *testing.T, said string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("it does not say %q:\n%s", part, said)
		}
	}
}

func TestKeysAreKeptByARealKeyring(t *testing.T) {
	if beside(t) {
		return
	}
	p := built(t, map[string]string{
		"work": `{"model": "anthropic/claude-sonnet-4-5"}`,
		"old":  `{"model": "openai/gpt-5",  "api_key": "` + fixtureKey + `", "x": 1}`,
	})
	p.run(t, 0, fixtureKey+"\n", "keys", "set", "work")
	p.wantHidden(t, "old.json")
	wantSaid(t, p.run(t, 0, "", "keys", "list"), "work\tapi_key\t…ring\t")
	wantSaid(t, p.run(t, 0, "", "keys", "status"), "works\tyes", "key stored for the profile")
	wantSaid(t, p.run(t, 0, "", "keys", "import", "old", "--remove-from-profile"), "old\tapi_key\tmoved")
	p.wantHidden(t)
	text, err := os.ReadFile(filepath.Join(p.home, ".openhands", "profiles", "old.json"))
	if want := `{"model": "openai/gpt-5",  "x": 1}`; err != nil || string(text) != want {
		t.Errorf("the profile is %q, want %q; %v", text, want, err)
	}
	p.run(t, 0, "", "profiles", "rename", "old", "new")
	wantSaid(t, p.run(t, 0, "", "profiles", "list"), "\tnew\topenai/gpt-5\t\tkey stored for the profile\t")
	p.run(t, 0, "", "keys", "remove", "new", "--yes")
	p.run(t, 1, "", "keys", "remove", "new", "--yes")
	p.run(t, 0, "", "profiles", "remove", "work", "--yes")
	if said := p.run(t, 0, "", "keys", "list"); said != "" {
		t.Errorf("left behind:\n%s", said)
	}
	p.wantHidden(t)
}

// What a locked keyring costs: the deadline of a program without a user in front of it,
// once.
func TestALockedKeyringEndsInTime(t *testing.T) {
	if beside(t, "--locked") {
		return
	}
	p := built(t, map[string]string{"work": `{"model": "anthropic/claude-sonnet-4-5", "api_key": "` + fixtureKey + `"}`})
	for _, args := range [][]string{{"set", "work"}, {"status"}, {"import"}, {"remove", "work", "--yes"}} {
		start := time.Now()
		said := p.run(t, 4, fixtureKey, append([]string{"keys"}, args...)...)
		if took := time.Since(start); took > patience {
			t.Errorf("keys %v takes %s", args, took)
		}
		wantSaid(t, said, "--key-store file", "OPENAI_API_KEY")
	}
	p.run(t, 0, "", "profiles", "list") // needs no key
	p.wantHidden(t, "work.json")
}

func TestWithoutADesktopKeysSayWhatElseThereIs(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	p := built(t, map[string]string{"work": `{"model": "anthropic/claude-sonnet-4-5"}`})
	for _, args := range [][]string{{"set", "work"}, {"status"}, {"import"}, {"remove", "work", "--yes"}} {
		wantSaid(t, p.run(t, 4, fixtureKey, append([]string{"keys"}, args...)...), "no D-Bus", "--key-store file", "OPENAI_API_KEY")
	}
	if said := p.run(t, 0, "", "keys", "list"); said != "" {
		t.Errorf("there are keys:\n%s", said)
	}
	p.wantHidden(t)
	p.run(t, 0, fixtureKey, "keys", "set", "work", "--key-store", "file")
	p.wantHidden(t, "keys.json")
	p.env = append(p.env, "OH_SECRET_KEY=a secret")
	p.run(t, 0, fixtureKey+"-2", "keys", "set", "work", "--replace")
	p.wantHidden(t)
}
