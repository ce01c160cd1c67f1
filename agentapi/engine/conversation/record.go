package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// What is stored at once and what with the next event that is.
const (
	durable = true
	lazily  = false
)

// timestampFormat is OpenHands': local, without a zone, with microseconds.
const timestampFormat = "2006-01-02T15:04:05.000000"

// append adds an event to the branch, stores and publishes it, without the
// values of secrets. The event that it gives is as body says.
func (b *branch) append(source string, body event.Body, sync bool) (event.Event, error) {
	return b.appendAs(b.cfg.NewID(), source, body, sync)
}

// appendAs is append with the id that the event gets.
func (b *branch) appendAs(id, source string, body event.Body, sync bool) (event.Event, error) {
	parent := b.head
	if parent == "" && b.dir.Len() > 0 {
		parent = store.Root
	}
	e := event.New(id, b.stamp(), source, parent, body)
	told := event.New(e.ID, e.Timestamp, source, parent, masked(b.cfg.Secrets, body))
	err := b.dir.Append(told, sync)
	_ = b.dir.Foreign() // What others add during a run is on a branch of theirs.
	if err != nil {
		return e, err
	}
	if _, state := body.(*event.StateUpdate); !state {
		b.head = e.ID
		b.dir.State.LeafEventID, b.dir.State.HeadIsEmpty = e.ID, false
		weight := b.view.Append(told)
		b.follow(e)
		if b.tokens > 0 {
			b.tokens += weight.Tokens(b.perImage())
		}
	}
	b.unsettled = true
	b.weigh()
	b.door.watchers.publish(told)
	return e, nil
}

func (b *branch) stamp() string { return b.cfg.Now().Format(timestampFormat) }

// update reports and records that a field of the state has changed.
func (b *branch) update(key string, value any) error { return b.record(key, value, lazily) }

func (b *branch) record(key string, value any, sync bool) error {
	data, err := plainjson.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", key, err)
	}
	_, err = b.append(event.SourceEnvironment, &event.StateUpdate{Key: key, Value: data}, sync)
	return err
}

func (b *branch) setStatus(s event.Status) error {
	b.dir.State.Status = s
	return b.update(event.KeyStatus, s)
}

// save writes the base state.
func (b *branch) save(sync bool) error {
	data, err := b.stats.stored()
	if err != nil {
		return err
	}
	b.dir.State.Stats = data
	if err := b.dir.AddCalls(b.stats.fresh); err != nil { // the sums are what counts
		b.cfg.Log.Warn("the statistics lack calls of the model", "conversation", b.id, "err", err)
	}
	b.stats.fresh = b.stats.fresh[:0]
	b.unsettled = true
	return b.dir.SaveState(sync)
}

// state is the part of the state that the seam knows.
func (b *branch) state() event.State {
	s := b.dir.State
	return event.State{
		ID: s.ID, Status: s.Status, LastUserMessageID: s.LastUserMessageID, LeafEventID: s.LeafEventID,
		Stats: b.stats.totals(), Workspace: s.Workspace, Tags: s.Tags,
		ConfirmationPolicy: s.ConfirmationPolicy, SecurityAnalyzer: s.SecurityAnalyzer,
	}
}

// snapshot is a full_state update. It leaves the agent out, and with it
// whatever could be secret.
func (b *branch) snapshot() event.Event {
	s := b.dir.State
	// These are strings, numbers and JSON that was read or made before.
	value, err := plainjson.Marshal(struct {
		event.State

		MaxIterations int `json:"max_iterations"`
	}{b.state(), s.MaxIterations})
	if err != nil {
		b.cfg.Log.Error("encode full_state", "conversation", b.id, "err", err)
		value = json.RawMessage(`{}`)
	}
	return b.unstored(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyFullState, Value: value})
}

// unstored makes an event that is only published.
func (b *branch) unstored(source string, body event.Body) event.Event {
	return event.New(b.cfg.NewID(), b.stamp(), source, "", body)
}

// updateStats records the statistics if they have changed.
func (b *branch) updateStats(was int) error {
	if b.stats.calls == was {
		return nil
	}
	return b.update(event.KeyStats, b.stats.snapshot())
}

// replace changes a member of the state, and tells of it.
func (b *branch) replace(key string, member *json.RawMessage, value json.RawMessage) error {
	old := *member
	if string(old) == string(value) {
		return nil
	}
	*member = value
	if err := b.save(durable); err != nil {
		*member = old
		return b.storageError(err)
	}
	return b.storageError(b.update(key, value))
}

// changed keeps and tells a state that no run has changed.
func (b *branch) changed() error {
	err := b.save(lazily)
	b.settle.Reset(settleAfter)
	b.door.watchers.publish(b.snapshot())
	return b.storageError(err)
}

// settleAfter is how long nothing has to happen until the disk is asked to
// keep what a run has left. Turns that follow each other quickly ask once.
const settleAfter = 200 * time.Millisecond

// settled puts on the disk what only the log of a machine that dies would know.
func (b *branch) settled() {
	b.settle.Stop()
	b.unsettled = false
	if b.door.lost != nil {
		return
	}
	if err := errors.Join(b.dir.Touch(b.cfg.Now(), ""), b.dir.Flush()); err != nil {
		b.cfg.Log.Error("save conversation", "conversation", b.id, "err", err)
	}
}

// storageError is an error of the disk, in words for people.
func (b *branch) storageError(err error) error {
	if err == nil {
		return nil
	}
	return &agentapi.Error{
		Kind: agentapi.ErrUnavailable,
		Msg:  "The conversation cannot be written to the disk of ohgw serve; free disk space or make ohgw's state directory writable, then send the message again.",
		Err:  fmt.Errorf("write to %s: %w", b.dir.Path(), err),
	}
}

// notifyAgent sends the agent a message in the name of its environment.
func (b *branch) notifyAgent(text string) error {
	_, err := b.append(event.SourceEnvironment, &event.Message{
		LLMMessage: message("user", texts(text)), ActivatedSkills: []string{}, ExtendedContent: []event.Content{},
	}, durable)
	return err
}
