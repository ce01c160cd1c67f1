package tui

import (
	"context"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
)

func TestPastedLinesAreOnePlainMessage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		input []string
		want  string
	}{
		"then Enter":             {[]string{"one\ntwo", ""}, "one\ntwo"},
		"the last line unended":  {[]string{"one\ntwo", "three"}, "one\ntwo\nthree"},
		"CRLF, an empty line":    {[]string{"one\r\n\r\ntwo\r", ""}, "one\n\ntwo"},
		"it begins like a shell": {[]string{"!rm x\n/quit", ""}, "!rm x\n/quit"},
		"in two parts":           {[]string{"one\ntwo", "three\nfour", ""}, "one\ntwo\nthree\nfour"},
		"behind a backslash":     {[]string{`see\`, "one\ntwo", ""}, "see\none\ntwo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{answer: says(gateway.Started{}, gateway.Text("done"), finished())}
			got := onPaper(t, s, nil, append(tc.input, "/quit")...)
			s.asks(t, 1, gateway.Question{Text: tc.want})
			counts(t, got, map[string]int{" pasted. Enter sends them": len(tc.input) - 1 - map[bool]int{true: 1}[name == "behind a backslash"]})
		})
	}
}

func TestLinesTypedDuringARunAreNoPaste(t *testing.T) {
	t.Parallel()
	s := &script{}
	s.answer = func(_ context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		time.Sleep(5 * time.Minute) // Two lines are typed in this time.
		say(gateway.Started{})
		say(finished())
		return nil
	}
	onPaper(t, s, nil, "one", "two", "three", "/quit")
	if len(s.asked) != 3 || s.asked[2].Text != "three" {
		t.Errorf("asked %+v", s.asked)
	}
}
