package session_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/tui/session"
)

func TestAChatThatEndsSaysHowToGoOnAndWhatIsLeft(t *testing.T) {
	t.Parallel()
	resume := func(id string) string { return "resume " + id }
	left := func(dir string) string {
		if dir == "" {
			return ""
		}
		return "files in " + dir
	}
	for name, tt := range map[string]struct {
		hints session.Hints
		convo session.Conversation
		want  []string
	}{
		"nothing was asked":    {session.Hints{Resume: resume, Left: left}, session.Conversation{ID: "a", Workspace: "/w"}, nil},
		"nobody tells":         {session.Hints{}, session.Conversation{ID: "a", Turns: 1, Workspace: "/w"}, nil},
		"nothing is left":      {session.Hints{Resume: resume, Left: left}, session.Conversation{ID: "a", Turns: 1}, []string{"Continue later with: resume a"}},
		"files are left":       {session.Hints{Resume: resume, Left: left}, session.Conversation{ID: "a", Turns: 2, Workspace: "/w"}, []string{"Continue later with: resume a", "files in /w"}},
		"files, and no resume": {session.Hints{Left: left}, session.Conversation{ID: "a", Turns: 2, Workspace: "/w"}, []string{"files in /w"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.hints.Leave(tt.convo)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
