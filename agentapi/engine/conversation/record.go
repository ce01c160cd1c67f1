package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/failure"
	"github.com/ohgw/ohgw/agentapi/engine/masked"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/watch"
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

// appendAs appends an event like append, with the id that it gets.
func (b *branch) appendAs(id, source string, body event.Body, sync bool) (event.Event, error) {
	parent := b.head
	if parent == "" && b.dir.Len() > 0 {
		parent = store.Root
	}
	e := event.New(id, b.cfg.stamp(), source, parent, body)
	told := event.New(e.ID, e.Timestamp, source, parent, masked.Body(b.cfg.Secrets, body))
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
			b.tokens += weight.Tokens(perImage(b.model))
		}
	}
	b.unsettled = true
	b.weigh()
	b.live.send(told)
	return e, nil
}

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
	data, err := b.stats.Stored()
	if err != nil {
		return err
	}
	b.dir.State.Stats = data
	if b.dir.State.AgentState, err = b.asks.Store(b.dir.State.AgentState); err != nil {
		return err
	}
	if err := b.dir.AddCalls(b.stats.TakeFresh()); err != nil { // the sums are what counts
		b.cfg.Log.Warn("the statistics lack calls of the model", "conversation", b.id, "err", err)
	}
	b.unsettled = true
	return b.dir.SaveState(sync)
}

// stored are the state now, and meta.json.
func (b *branch) stored() (s store.State, meta store.RawMeta, err error) {
	s, meta = b.dir.State, b.dir.Meta()
	s.Stats, err = b.stats.Stored()
	return s.Clone(), meta, err
}

// fork is what a copy of the conversation begins with; see [store.Dir.Fork].
func (b *branch) fork(id, from string) (store.State, []event.Event, error) {
	return b.dir.Fork(id, from)
}

// state is the part of the state that the seam knows.
func (b *branch) state() event.State {
	s := b.dir.State
	var asked []event.AskedAction
	if s.Status == event.Waiting {
		asked = b.asks.List(b.open)
	}
	return event.State{
		ID: s.ID, Status: s.Status, LastUserMessageID: s.LastUserMessageID, LeafEventID: s.LeafEventID,
		Stats: b.stats.Totals(), Workspace: s.Workspace, Tags: s.Tags,
		ConfirmationPolicy: s.ConfirmationPolicy, SecurityAnalyzer: s.SecurityAnalyzer, Asked: asked,
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
	return b.live.event(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyFullState, Value: value})
}

// updateStats records the statistics if they have changed.
func (b *branch) updateStats(was int) error {
	if b.stats.Calls() == was {
		return nil
	}
	return b.update(event.KeyStats, b.stats.Snapshot())
}

// The members of the state that replace changes.
const (
	keyPolicy   = "confirmation_policy"
	keyAnalyzer = "security_analyzer"
)

// replace changes a member of the state that is JSON, and publishes it.
func (b *branch) replace(key string, value json.RawMessage) error {
	s := &b.dir.State
	member := map[string]*json.RawMessage{keyPolicy: &s.ConfirmationPolicy, keyAnalyzer: &s.SecurityAnalyzer, keyAgentState: &s.AgentState}[key]
	if string(*member) == string(value) {
		return nil
	}
	if err := b.amend(func(*store.State) { *member = value }); err != nil {
		return err
	}
	return b.storageError(b.update(key, value))
}

// amend changes the state, on the disk too; with an error the state is as it was.
func (b *branch) amend(change func(*store.State)) error {
	old := b.dir.State
	change(&b.dir.State)
	if err := b.save(durable); err != nil {
		b.dir.State = old
		return b.storageError(err)
	}
	return nil
}

// answerWith has another model answer: the stored agent and its tags say which.
func (b *branch) answerWith(choice Choice, agent json.RawMessage) error {
	tags := maps.Clone(b.dir.State.Tags)
	if tags == nil {
		tags = make(map[string]string)
	}
	tags[TagProfile], tags[TagUsage] = choice.Profile, choice.Usage
	if choice.Profile == "" { // the stored agent says which model it is
		delete(tags, TagProfile)
		delete(tags, TagUsage)
	}
	return b.amend(func(s *store.State) { s.Agent, s.Tags = agent, tags })
}

// tag replaces the tags by what change makes of them, and publishes those that are shown.
func (b *branch) tag(change func(now map[string]string) (all, shown map[string]string)) error {
	old := b.dir.State.Tags
	all, shown := change(old)
	if maps.Equal(old, all) {
		return nil
	}
	if err := b.amend(func(s *store.State) { s.Tags = all }); err != nil {
		return err
	}
	return b.storageError(b.update(event.KeyTags, shown))
}

// changed keeps and publishes a state that no run has changed.
func (b *branch) changed() error {
	err := b.save(lazily)
	b.publishState()
	return b.storageError(err)
}

// publishState publishes the state, which the disk is soon asked to keep.
func (b *branch) publishState() {
	b.live.send(b.snapshot())
	b.settleSoon()
}

// settleSoon has the disk asked to keep what it has, unless more comes.
func (b *branch) settleSoon() { b.settle.Reset(settleAfter) }

// pause makes the status paused, and writes a pause into the log. Where the agent has
// answered, the next run has nothing to do.
func (b *branch) pause(answered bool) error {
	b.replied = b.replied || answered
	if err := b.setStatus(event.Paused); err != nil {
		return err
	}
	_, err := b.append(event.SourceUser, &event.Pause{}, durable)
	return err
}

// failUnstored publishes a failure that the disk does not take.
func (b *branch) failUnstored(err error) {
	b.dir.State.Status = event.Failed
	b.live.publish(event.SourceEnvironment, masked.Body(b.cfg.Secrets, failure.Event(err)))
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

// storageError turns an error of the disk into a message with the next step.
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

// watch opens a stream: the state, what was asked for of the log, the state
// again, and then what comes.
func (b *branch) watch(after string) (*watch.Stream, error) {
	snapshot := watch.Events(b.snapshot())
	chunks := []watch.Chunk{snapshot}
	switch after {
	case "":
	case agentapi.FromStart:
		chunks = append(chunks, watch.Log(b.dir.From(0)), snapshot)
	default:
		log, ok := b.dir.After(after)
		if !ok {
			return nil, &agentapi.Error{
				Kind: agentapi.ErrRefused,
				Msg:  fmt.Sprintf("The conversation has no event %q; watch it from the start.", after),
			}
		}
		chunks = append(chunks, watch.Log(log), snapshot)
	}
	return b.live.open(chunks...), nil
}
