package agentapi_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
)

func TestErrorHasOneKind(t *testing.T) {
	t.Parallel()
	down := &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "down", Err: io.ErrUnexpectedEOF}
	lost := fmt.Errorf("run: %w", &agentapi.Error{Kind: agentapi.ErrLost, Msg: "lost", Err: fmt.Errorf("reconnect: %w", down)})
	if !errors.Is(lost, agentapi.ErrLost) {
		t.Error("it is not of its own kind")
	}
	if errors.Is(lost, agentapi.ErrUnavailable) {
		t.Error("a run that was lost counts as one that was not started, and could be repeated")
	}
	if got := agentapi.PublicMessage(lost, ""); got != "lost" {
		t.Errorf("public message %q", got)
	}
	if want := "run: lost: reconnect: down: unexpected EOF"; lost.Error() != want {
		t.Errorf("error = %q, want %q: the log needs the whole cause", lost, want)
	}
}

func TestErrorGivesItsCause(t *testing.T) {
	t.Parallel()
	err := &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "down", Err: io.ErrUnexpectedEOF}
	if !errors.Is(err, io.ErrUnexpectedEOF) || err.Error() != "down: unexpected EOF" {
		t.Errorf("the error: %v", err)
	}
}

func TestPublicMessageFallsBack(t *testing.T) {
	t.Parallel()
	if got := agentapi.PublicMessage(io.EOF, "no words"); got != "no words" {
		t.Errorf("got %q", got)
	}
}
