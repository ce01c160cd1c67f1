package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachKindOfMessageIsFoundOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	source := `package p

var greeting = "good morning"

const partSQL = "of a statement"

type wire struct {
	Field string ` + "`json:\"a b\" doc:\"no message\"`" + `
}

func f(flags *pflag.FlagSet) error {
	_ = fault.New("cannot read "+name, fmt.Sprintf("run %s again", command), errors.New("short"))
	_ = &fault.Error{Msg: "already there", Code: fault.Conflict, Hint: hint}
	_ = gate.NewProblem(codeBusy, "Try again later.", nil)
	_ = Field{Name: "two words", Help: "listen on this address"}
	flags.BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().StringVar(&name, "name", "", "the name of "+x)
	log.WarnContext(ctx, "disk is full", "error", err)
	query("SELECT name FROM things"+" WHERE id = $1"+partSQL+" FOR UPDATE OF it")
	print("key", fmt.Sprintf("%d of %d files\n", a, b))
	return fmt.Errorf("read %q: %w", name, err)
}

func isBusy(text string) bool { return strings.Contains(text, "try again later") }
`
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a/p/p.go", source)
	write("a/ptest/p.go", `package ptest; var x = "only for tests"`)
	program, err := sources(root)
	if err != nil {
		t.Fatal(err)
	}
	want := `place	kind	code	text	hint
a/p.f	cause		read …: …	
a/p.f	cause		short	
a/p.f	error	Conflict	already there	
a/p.f	error	Failed	cannot read …	run … again
a/p.f	help		do not ask	
a/p.f	help		listen on this address	
a/p.f	help		the name of …	
a/p.f	log		disk is full	
a/p.f	problem	codeBusy	Try again later.	
a/p.f	text		two words	
a/p.f	text		… of … files\n	
a/p.greeting	text		good morning	
`
	if diff := cmp.Diff(want, messageTable(messages(program))); diff != "" {
		t.Errorf("messages() (-want +got):\n%s", diff)
	}
}

// TestMessagesOfTheProgramAreFound fails when a new way to make a kind of
// message is not found.
func TestMessagesOfTheProgramAreFound(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for _, m := range messages(ohgw(t)) {
		count[m.kind]++
		if strings.ContainsAny(messageTable([]message{m}), "\r") {
			t.Errorf("a message of %s is not on one line", m.place)
		}
	}
	for kind, least := range map[string]int{"error": 100, "cause": 300, "problem": 40, "help": 80, "log": 40, "text": 800} {
		if count[kind] < least {
			t.Errorf("found %d messages of kind %s, want at least %d", count[kind], kind, least)
		}
	}
}
