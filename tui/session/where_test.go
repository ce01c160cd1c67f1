package session_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/session"
)

// places describes directories in the way of a test.
func places(dir string) session.Where {
	if dir == "" {
		return session.Where{}
	}
	return session.Where{Dir: "at " + dir, Branch: "main"}
}

// named are the directories that went with the questions.
func (s *script) named() []string {
	var dirs []string
	for _, q := range s.asked {
		dirs = append(dirs, q.Workspace)
	}
	return dirs
}

func TestANewConversationWorksWhereTheChatWasOpened(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{gateway.Started{Workspace: "/work/real"}, done()}}
	talk(t, s, func(c *session.Config) { c.Start.Workspace, c.Locate = "/work", places }, func(c *chat) {
		c.do(c.Submit("one", "one"))
		if got := c.Where.String(); got != "at /work/real (main)" {
			t.Errorf("it works in %q", got)
		}
		c.do(c.Submit("two", "two"))
		c.do(c.New())
		if got := c.Where.String(); got != "at /work (main)" {
			t.Errorf("the new one works in %q", got)
		}
		c.do(c.Submit("three", "three"))
		if diff := cmp.Diff([]string{"/work", "/work", "/work"}, s.named()); diff != "" {
			t.Errorf("named (-want +got):\n%s", diff)
		}
	})
}

// A conversation keeps its directory: to name one could only fail.
func TestAResumedConversationKeepsItsDirectory(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{gateway.Started{Workspace: "/own"}, done()}}
	talk(t, s, func(c *session.Config) { c.Start.Workspace, c.Locate = "/work", places }, func(c *chat) {
		c.do(c.Continue(session.Conversation{ID: "old", Workspace: "/own"}))
		if got := c.Where.Dir; got != "at /own" {
			t.Errorf("it works in %q", got)
		}
		c.do(c.Submit("one", "one"))
		c.do(c.Submit("two", "two"))
		if diff := cmp.Diff([]string{"", ""}, s.named()); diff != "" {
			t.Errorf("named (-want +got):\n%s", diff)
		}
	})
}

func TestADirectoryOfTheGatewayIsNotNamed(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{gateway.Started{Workspace: "/state/workspaces/1"}, done()}}
	talk(t, s, func(c *session.Config) { c.Locate = places }, func(c *chat) {
		c.do(c.Submit("one", "one"))
		c.do(c.Submit("two", "two"))
		if diff := cmp.Diff([]string{"", ""}, s.named()); diff != "" || c.Dir() != "/state/workspaces/1" {
			t.Errorf("it works in %q; named (-want +got):\n%s", c.Dir(), diff)
		}
	})
}

func TestTheFirstConversationOfAChatMayInsistOnADirectory(t *testing.T) {
	t.Parallel()
	for insists, want := range map[bool]string{true: "/there", false: ""} {
		s := &script{pieces: []gateway.Piece{gateway.Started{}, done()}}
		start := func(c *session.Config) {
			c.Start.Conversation, c.Start.Resumes, c.Start.Insists = "old", "/there", insists
		}
		talk(t, s, start, func(c *chat) {
			c.do(c.Submit("one", "one"))
			if diff := cmp.Diff([]string{want}, s.named()); diff != "" {
				t.Errorf("insists %t: named (-want +got):\n%s", insists, diff)
			}
		})
	}
}

func TestTheConfirmationModeGoesWithEachQuestion(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{gateway.Started{}, done()}}
	talk(t, s, nil, func(c *chat) {
		for _, mode := range []gateway.Confirmation{"", gateway.ConfirmAlways, gateway.ConfirmNever} {
			c.Confirmation = mode
			c.do(c.Submit("go", "go"))
			if got := s.asked[len(s.asked)-1].Confirmation; got != mode {
				t.Errorf("the mode is %q, want %q", got, mode)
			}
		}
	})
}
