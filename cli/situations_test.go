//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// A situation is something that is broken on a machine where everything else
// works. Doctor finds it, prints a command, and the command repairs it.
type situation struct {
	name   string
	breaks func(*machine)
	// check and finding are the line of doctor: the check's name, and a regular
	// expression for its text and cause.
	check, finding string
	// command is in the repair that doctor prints, word for word, with the names
	// of the machine in place of $ADDRESS and $LLM. It is run by a shell.
	command string
	stdin   string
	serves  bool                        // the command runs until it is stopped
	types   func(command string) string // what a person puts in for a word that only they know
	after   string                      // a regular expression for a line of doctor behind it; empty: the check is ok
}

// machine is the machine of one situation.
type machine struct {
	t        *testing.T
	dir      string
	env      map[string]string
	llm      string // base URL of a scripted LLM
	refusing string // an address that refuses connections
}

func (m *machine) path(rel string) string { return filepath.Join(m.dir, filepath.FromSlash(rel)) }

func (m *machine) write(rel, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(rel)), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.path(rel), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// profile stores an LLM profile and makes it the active one.
func (m *machine) profile(name, text string) {
	m.t.Helper()
	m.write("oh/profiles/"+name+".json", text)
	m.write("oh/settings.json", `{"active_profile": "`+name+`"}`)
}

// program puts a shell script into the PATH.
func (m *machine) program(name, script string) {
	m.t.Helper()
	m.write("bin/"+name, "#!/bin/sh\n"+script)
	if err := os.Chmod(m.path("bin/"+name), 0o700); err != nil {
		m.t.Fatal(err)
	}
}

// shell runs a text as a person would type it.
func (m *machine) shell(text, stdin string) (stdout, all string) {
	m.t.Helper()
	cmd := m.command(text)
	cmd.Stdin = strings.NewReader(stdin)
	var out, both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &both
	_ = cmd.Run() // doctor fails where something is broken
	return out.String(), out.String() + both.String()
}

func (m *machine) command(text string) *exec.Cmd {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), "/bin/sh", "-c", text)
	cmd.Dir = m.path("home")
	cmd.Env = []string{"PATH=" + m.path("bin") + string(os.PathListSeparator) + os.Getenv("PATH")}
	for name, value := range m.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// line is the line of doctor about a check.
func line(output, check string) (found []string) {
	for text := range strings.Lines(output) {
		if columns := strings.Split(strings.TrimSuffix(text, "\n"), "\t"); len(columns) > 2 && columns[1] == check {
			found = append(found, text)
		}
	}
	return found
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, dir: t.TempDir(), llm: newSituationLLM(t), refusing: newRefusing(t)}
	m.env = map[string]string{
		"HOME": m.path("home"), "XDG_RUNTIME_DIR": m.path("run"), "OH_PERSISTENCE_DIR": m.path("oh"), "TERM": "dumb", "LC_ALL": "C.UTF-8",
		"ANSWER": m.llm, "OHGW_ADDR": "127.0.0.1:0", "OHGW_BACKEND": "embedded", fakeKeyringDir: m.path("keyring"), "GORACE": "atexit_sleep_ms=0",
	}
	for _, dir := range []string{"home/.config/ohgw", "home/.local/state/ohgw", "run/ohgw", "keyring", "bin"} {
		if err := os.MkdirAll(m.path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m.profile("work", `{"model": "openai/test", "base_url": "`+m.llm+`"}`)
	return m
}

// TestDoctorRepairs breaks a machine in many ways, runs the command that doctor
// prints, and looks again. With -v it prints the table.
func TestDoctorRepairs(t *testing.T) {
	t.Parallel()
	for _, s := range situations() {
		t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			s.breaks(m)
			s.play(m)
		})
	}
}

// play runs doctor, the command and doctor again.
func (s *situation) play(m *machine) {
	t := m.t
	t.Helper()
	out, all := m.shell("ohgw doctor", "")
	lines := strings.Join(line(out, s.check), "")
	if !regexp.MustCompile(s.finding).MatchString(lines) {
		t.Fatalf("doctor does not find it (%s):\n%s", s.finding, all)
	}
	command := strings.NewReplacer("$ADDRESS", m.refusing, "$LLM", m.llm, "$DIR", m.dir).Replace(s.command)
	if !strings.Contains(lines, command) {
		t.Fatalf("doctor does not print %q:\n%s", command, lines)
	}
	typed := command
	if s.types != nil {
		typed = s.types(command)
	}
	if s.serves {
		defer m.serve(typed)()
		typed = ":"
	}
	out, all = m.shell(typed+" >"+m.path("said")+" 2>&1; ohgw doctor", s.stdin)
	said, err := os.ReadFile(m.path("said"))
	if err != nil {
		t.Fatal(err)
	}
	left := strings.Join(line(out, s.check), "")
	switch {
	case s.after != "":
		if !regexp.MustCompile(s.after).MatchString(all) {
			t.Errorf("after %q no %q:\n%s\n%s", typed, s.after, said, all)
		}
	case regexp.MustCompile(s.finding).MatchString(left) || strings.Contains(left, "failed\t"):
		t.Errorf("after %q it is still there:\n%s\n%s", typed, said, all)
	}
	first, _, _ := strings.Cut(lines, "\n")
	t.Logf("| %s | %s | `%s` | %s |", s.name, m.anonymous(first), m.anonymous(command), m.anonymous(strings.TrimSpace(strings.Split(left, "\n")[0])))
}

// anonymous leaves the places of this machine out of a line, and its columns.
func (m *machine) anonymous(text string) string {
	text = strings.NewReplacer(m.path("home"), "~", m.dir, "…", m.refusing, "127.0.0.1:11434", m.llm, "http://127.0.0.1:8080/v1").Replace(text)
	columns := strings.Split(text, "\t")
	if len(columns) > 3 {
		columns = columns[:4] // without the repair
	}
	return strings.TrimSuffix(strings.ReplaceAll(strings.Join(columns, " · "), "|", "\\|"), " · ")
}

// serve runs a command until the end of the situation, and waits for its daemon.
func (m *machine) serve(command string) (stop func()) {
	m.t.Helper()
	cmd := m.command("exec " + command)
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	waittest.Until(m.t, patience, "the daemon of "+command+" runs", func() (any, bool) {
		_, err := instance.Find(m.path("run/ohgw"))
		return err, err == nil
	})
	return func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // its exit code is that of an interrupt
	}
}

// editor is a program that writes a file in place of a person.
func (m *machine) editor(text string) {
	m.t.Helper()
	m.program("editor", fmt.Sprintf("printf '%%s\\n' '%s' > \"$1\"\n", text))
	m.env["EDITOR"] = m.path("bin/editor")
}
