package cloud

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup/accounts"
	"github.com/ohgw/ohgw/setup/library"
)

// livePause is how often the agent-server of a conversation is asked.
const livePause = time.Second

// uuidOf is the id of a conversation as agent-servers write it.
func uuidOf(id string) string {
	if parsed, err := uuid.Parse(id); err == nil {
		return parsed
	}
	return id
}

// live is the agent-server of a conversation that runs. It gets the key of the
// conversation, and no other.
func (o *options) live(ctx context.Context, acc accounts.Account, id string) (library.Library, error) {
	runtime, err := acc.Runtime(ctx, id)
	if err != nil {
		return library.Library{}, err
	}
	return library.At(runtime.Address, runtime.Key.Reveal(), o.Logger("text"))
}

// liveFollower reads the log of the agent-server that runs a conversation.
type liveFollower struct {
	lib library.Library
	id  string
	log *library.Reader
}

func (f *liveFollower) pause() time.Duration { return livePause }
func (f *liveFollower) close()               { _ = f.lib.Close() } // Nothing was changed.

// skip makes all events count as read.
func (f *liveFollower) skip(ctx context.Context) error {
	f.log = f.lib.Reader(f.id)
	if err := f.log.Skip(ctx, 1); err != nil {
		return err
	}
	return f.log.Read(ctx, func(json.RawMessage) error { return nil })
}

// next reads the status first: what is said before a run ends is then in the list.
func (f *liveFollower) next(ctx context.Context) ([]said, event.Status, error) {
	record, err := f.lib.Record(ctx, f.id)
	if err != nil {
		return nil, "", err
	}
	if f.log == nil {
		f.log = f.lib.Reader(f.id)
	}
	var list []said
	err = f.log.Read(ctx, func(raw json.RawMessage) error {
		list = append(list, saidIn(raw))
		return nil
	})
	return list, record.Status, err
}

// saidIn reads what an event says to a person; most say nothing.
func saidIn(raw json.RawMessage) said {
	var e event.Event
	if json.Unmarshal(raw, &e) != nil {
		return said{} // It cannot be read by anybody.
	}
	s := saidBy(account.ReadEvent(raw))
	s.Text = "" // What a failed tool has returned is not said.
	switch b := e.Body.(type) {
	case *event.Message:
		s.Ran = e.Source == event.SourceAgent
		s.Text = event.PlainText(b.LLMMessage.Content)
	case *event.Action:
		s.Ran = true
		s.Text = event.PlainText(b.Thought)
		var action struct {
			Kind    string `json:"kind"`
			Message string `json:"message"`
		}
		if json.Unmarshal(b.Action, &action) == nil && action.Kind == "FinishAction" {
			s.Text = action.Message
		}
	case *event.ConversationError:
		s.Text, s.Failed = b.Code+": "+b.Detail, true
	}
	return s
}
