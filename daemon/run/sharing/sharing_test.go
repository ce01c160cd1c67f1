package sharing_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/sharing"
)

func text(s string) turn.Update     { return turn.Update{Kind: turn.Text, Text: s} }
func progress(s string) turn.Update { return turn.Update{Kind: turn.Progress, Text: s} }

func TestALogThatIsReadAgainShowsWhatIsNew(t *testing.T) {
	t.Parallel()
	var e sharing.Echo
	var shown []string
	read := func(updates ...turn.Update) {
		e.Again()
		for _, u := range updates {
			if u, ok := e.Pass(u); ok {
				shown = append(shown, u.Text)
			}
		}
	}
	read(progress("ls"), text("Hel"), text("lo"))
	read(progress("ls"), text("Hello"), progress("ls"), text(" you"))
	read(progress("ls"), text("Hello"), progress("ls"), text(" you"))
	if want := []string{"ls", "Hel", "lo", "ls", " you"}; !slices.Equal(shown, want) {
		t.Errorf("shown: %q, want %q", shown, want)
	}
	read(text("another"))
	if last := shown[len(shown)-1]; last != "another" {
		t.Errorf("a log with another text shows %q", last)
	}
}

func TestAKeyHasOneConversation(t *testing.T) {
	t.Parallel()
	a, again, b := sharing.Conversation("a"), sharing.Conversation("a"), sharing.Conversation("b")
	if a != again || a == b || a[14] != '4' {
		t.Errorf("conversations %s and %s of one key, %s of another", a, again, b)
	}
}

func TestALongMessageIsNotNoted(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 2 << 20} {
		data, err := sharing.About{Answer: "a", Message: &sharing.Message{Text: strings.Repeat("<", size)}}.Bytes()
		if err != nil {
			t.Fatalf("Bytes: %v", err)
		}
		got := sharing.Read(data)
		if got.Answer != "a" || (got.Message == nil) != (size > 1<<20) {
			t.Errorf("of a message of %d bytes: %.100s", size, data)
		}
	}
}
