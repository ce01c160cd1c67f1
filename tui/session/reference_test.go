package session

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMentionsBeginWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"@a and (@b/c.go), @d.":      {"a", "b/c.go),", "d."},
		`see @"my notes.txt" and @x`: {"my notes.txt", "x"},
		`@"open`:                     nil,
		"me@example.org @ x":         nil,
		"line\n@x":                   {"x"},
		"'@x' `@y`":                  {"x'", "y`"},
		strings.Repeat("@a ", 100):   strings.Fields(strings.Repeat("a ", maxReferences)),
	} {
		var got []string
		for _, m := range mentions(text) {
			got = append(got, m.path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestAnOutputKeepsItsFence(t *testing.T) {
	t.Parallel()
	o := Output{Line: "cat x", Dir: "/src", Text: "a\n```\nb", How: "exit code 0"}
	if got, want := o.message(), "I ran a command in /src (exit code 0):\n````\n$ cat x\na\n```\nb\n````\n\n"; got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
}

func TestFastOutputKeepsItsEnd(t *testing.T) {
	t.Parallel()
	o := newOutput()
	for range 10 {
		_, _ = o.Write([]byte(strings.Repeat("x", shellBatch)))
	}
	_, _ = o.Write([]byte("end"))
	o.finish(0, nil)
	msg := o.take()
	if len(msg.text) != shellBatch || !strings.HasSuffix(msg.text, "xend") || msg.cut != 9*shellBatch+3 || !msg.over {
		t.Errorf("%d bytes, %d cut, over %v", len(msg.text), msg.cut, msg.over)
	}
}
