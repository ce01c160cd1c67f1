//go:build unix

package terminal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool/terminal"
)

// A shell that was changed in one of these ways is the same shell afterwards,
// with the same variables, and tells exit codes.
func TestNothingThatACommandChangesEndsTheShell(t *testing.T) {
	t.Parallel()
	rc := filepath.Join(t.TempDir(), "bashrc")
	const text = "PS1='\\u@\\h:\\w\\$ '\nPS2='> '\nPROMPT_COMMAND='history -a'\nalias ls='ls --color=auto'\n"
	if err := os.WriteFile(rc, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"source " + rc,
		"PS1='$ '",
		"PROMPT_COMMAND='history -a'",
		"unset PROMPT_COMMAND",
		"PROMPT_COMMAND=(true 'echo noise')",
		"export PROMPT_COMMAND",
		"enable -n printf read",
		"enable -n eval builtin",
		"builtin() { echo mine; }",
		"printf() { echo mine; }; read() { echo mine; }; eval() { echo mine; }; unset() { echo mine; }",
		"declare() { echo mine; }; enable() { echo mine; }; set() { echo mine; }; export() { echo mine; }; return() { echo mine; }",
		"alias builtin=false eval=false printf=false unset=false",
		"exec 198<&- 199>&-",
		"for fd in /proc/$$/fd/*; do fd=${fd##*/}; [ $fd -gt 190 ] && [ $fd -lt 250 ] && eval \"exec $fd>&-\"; done",
		"set -a", "set -f", "set -o posix", "set -T", "set +m", "set -u",
		"IFS=0123456789", "shopt -s extdebug", "shopt -s expand_aliases inherit_errexit",
		"trap 'true' DEBUG", "trap 'echo failed >/dev/null' ERR",
		"__ohgw_cmd=; __ohgw_seq=",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			term := open(t, nil)
			sh(t, term, "KEEP=1")
			if got := sh(t, term, command+"; true"); got.code() != 0 || got.Metadata.Suffix != "" && strings.Contains(got.Metadata.Suffix, "shell") {
				t.Errorf("the change: %+v", got)
			}
			for range 2 {
				got := sh(t, term, `echo "$KEEP on"; (exit 3)`)
				if got.Text != "1 on" || got.code() != 3 || got.IsError || got.Metadata.Prefix != "" {
					t.Errorf("after it: %+v", got)
				}
			}
			if got := sh(t, term, `echo "$?"`); got.Text != "3" || got.code() != 0 {
				t.Errorf("the exit code of the call before: %+v", got)
			}
		})
	}
}

// The shell drops the rest of a line when a signal ends it.
func TestAChangedShellThatIsInterruptedGoesOn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a shell waits for")
	}
	term := open(t, quick)
	sh(t, term, "KEEP=1")
	sh(t, term, "PROMPT_COMMAND=true; PS1='$ '; sleep 1000")
	got := input(t, term, "C-c")
	for range 20 {
		if got.code() != -1 {
			break
		}
		got = sh(t, term, "")
	}
	if got.code() != 130 {
		t.Errorf("result = %+v", got)
	}
	if got := over(t, term, sh(t, term, "echo $KEEP on")); got.Text != "1 on" || got.code() != 0 {
		t.Errorf("result = %+v", got)
	}
}

// What cannot be put right is replaced, in the call that did it, and said.
func TestAShellThatDoesNotAnswerIsReplaced(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a shell waits for")
	}
	for _, command := range []string{
		"echo before; readonly PROMPT_COMMAND=true",
		"echo before; exec bash --norc --noprofile --noediting -i",
		"echo before; unset -f __ohgw_arm __ohgw_ready",
		"echo before; enable -n builtin enable unset",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			term := open(t, func(cfg *terminal.Config) {})
			sh(t, term, "GONE=1")
			got := sh(t, term, command)
			if !strings.Contains(got.Text, "before") || !strings.Contains(got.Model, "no longer takes commands") || got.code() != -1 {
				t.Errorf("result = %+v", got)
			}
			if got := sh(t, term, "echo \"[$GONE] on\""); got.Text != "[] on" || got.code() != 0 {
				t.Errorf("result = %+v", got)
			}
		})
	}
}

// A program, or the shell itself, that waits for input is not a broken shell.
func TestAShellThatWaitsForInputIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"read -r a; echo got $a", "mapfile -n 1 -t a; echo got ${a[0]}", "read -n 5 a; echo; echo got $a",
		"select a in x y; do echo got $REPLY; break; done", "head -n 1 | sed 's/^/got /'", "bash --norc --noprofile --noediting -c 'read -r a; echo got $a'",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			term := open(t, func(cfg *terminal.Config) { quiet := 2.0; cfg.Params.NoChangeTimeout = &quiet })
			if got := sh(t, term, command); got.code() != -1 {
				t.Fatalf("result = %+v", got)
			}
			until(t, term, input(t, term, "12345"), "got 12345")
		})
	}
}

func TestAStoppedShellGoesOn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells that a shell is stopped")
	}
	term := open(t, nil)
	if got := sh(t, term, "KEEP=1; suspend -f; echo $KEEP on"); got.Text != "1 on" || got.code() != 0 {
		t.Errorf("result = %+v", got)
	}
}

func TestProgramsDoNotInheritDescriptors(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	term := open(t, nil)
	const list = "ls -l /proc/self/fd | awk '$9 > 2 && $11 !~ /^.proc/ { print $9, $11 }'"
	for _, command := range []string{list, "(" + list + ")", list + " & wait", "bash -c \"" + strings.ReplaceAll(list, "$", `\$`) + "\""} {
		got := sh(t, term, command)
		if ours := regexp.MustCompile(`(?m)^19[89] |pipe:`).FindString(got.Text); ours != "" {
			t.Errorf("%s: text = %s", command, got.Text)
		}
	}
}
