package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
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

// load reads what the directory holds and repairs what a crash has left.
func (c *Conversation) load() error {
	if err := c.stats.load(c.dir.State.Stats); err != nil {
		return &store.DamageError{File: "base_state.json", Err: fmt.Errorf("stats: %w", err)}
	}
	c.stats.begin(c.choice.Usage, c.dir.State.Agent)
	head := c.dir.Head()
	s := &c.dir.State
	if n := c.dir.CutOff(); n > 0 {
		c.cfg.Log.Warn("an event of the conversation is missing on the disk; those behind it are left out", "conversation", c.id, "left_out", n, "directory", c.dir.Path())
		c.notices = append(c.notices, gapText(n))
	}
	// A base state that lags behind does not know of the run that it lags by.
	lags := s.LeafEventID != head
	// Nor does one of a message that was to be answered.
	crashed := s.Status == event.Running || lags && (c.dir.LastStatus() == event.Running || s.LeafEventID != "" && c.dir.Unanswered(head))
	defer c.dir.Release() // the view has what is sent; the rest is on the disk
	if err := c.branch(head); err != nil {
		return err
	}
	if c.head != "" {
		s.LeafEventID, s.HeadIsEmpty = c.head, false
	}
	return c.recover(crashed)
}

// gapText says that events are left out.
func gapText(n int) string {
	return fmt.Sprintf("An event of this conversation is missing on the disk. What was said and done behind it, %d more events, is not known here any more. "+
		"Its files stay in the directory of the conversation, with names that end in .beyond-gap.", n)
}

// recover repairs what a crash has left of the branch at hand. crashed says that
// the process before this one died during a run.
func (c *Conversation) recover(crashed bool) error {
	s := &c.dir.State
	if s.Status == event.Paused && len(c.open) > 0 && c.mustAsk(c.open) {
		// OpenHands takes the next message for an approval. Nobody has given one.
		if err := c.setStatus(event.Waiting); err != nil {
			return err
		}
		return c.save(durable)
	}
	// What waits for a person, or was paused, is to be done. Everything else
	// that has no result died with its process.
	// A pause that the base state has from before the run that died is not the
	// end of that run.
	paused := s.Status == event.Paused && !crashed
	if s.Status == event.Waiting || paused || !crashed && len(c.open) == 0 {
		return nil
	}
	if err := errors.Join(c.backToAction(), c.repair(leftBehind)); err != nil {
		return err
	}
	if crashed {
		if err := c.setStatus(event.Failed); err != nil {
			return err
		}
	}
	return c.save(durable)
}

// backToAction makes the action that died the head, so that its result follows it, as
// OpenHands has it. What stands behind it otherwise, such as its analysis, is shown to
// no model. Of several actions each would lose the others: their results follow each
// other.
func (c *Conversation) backToAction() error {
	if len(c.open) != 1 || c.open[0].ID == c.head {
		return nil
	}
	events, err := c.dir.Branch(c.head)
	if err != nil {
		return err
	}
	id := c.open[0].ID
	for _, e := range slices.Backward(events) {
		if e.ID == id {
			break
		}
		switch e.Body.(type) {
		case *event.SecurityAnalysis, *event.HookExecution:
		default:
			return nil
		}
	}
	// First the state, then the result: a log whose state names what the branch has no
	// more ends there.
	c.head, c.dir.State.LeafEventID = id, id
	return c.save(durable)
}

// append adds an event to the branch, stores and publishes it, without the
// values of secrets. The event that it gives is as body says.
func (c *Conversation) append(source string, body event.Body, sync bool) (event.Event, error) {
	return c.appendAs(c.cfg.NewID(), source, body, sync)
}

// appendAs is append with the id that the event gets.
func (c *Conversation) appendAs(id, source string, body event.Body, sync bool) (event.Event, error) {
	parent := c.head
	if parent == "" && c.dir.Len() > 0 {
		parent = store.Root
	}
	e := event.New(id, c.stamp(), source, parent, body)
	told := event.New(e.ID, e.Timestamp, source, parent, masked(c.cfg.Secrets, body))
	err := c.dir.Append(told, sync)
	_ = c.dir.Foreign() // What others add during a run is on a branch of theirs.
	if err != nil {
		return e, err
	}
	if _, state := body.(*event.StateUpdate); !state {
		c.head = e.ID
		c.dir.State.LeafEventID, c.dir.State.HeadIsEmpty = e.ID, false
		weight := c.view.Append(told)
		c.follow(e)
		if c.tokens > 0 {
			c.tokens += weight.Tokens(c.perImage())
		}
	}
	c.unsettled = true
	c.weigh()
	c.door.watchers.publish(told)
	return e, nil
}

// follow keeps what is to be known of the branch at hand.
func (c *Conversation) follow(e event.Event) {
	switch b := e.Body.(type) {
	case *event.Action:
		c.known.remember(b)
		if executable(b) {
			c.open = append(c.open, e)
		}
	case *event.Observation:
		c.answered(b.ActionID, b.ToolCallID)
	case *event.UserReject:
		c.answered(b.ActionID, b.ToolCallID)
	case *event.AgentError:
		c.answered("", b.ToolCallID)
	case *event.SystemPrompt:
		c.introduced = true
	case *event.Condensation:
		c.known.answers[b.LLMResponseID] = true
	case *event.Message:
		c.known.answers[b.LLMResponseID] = true
		if e.Source == event.SourceUser {
			c.trace.Reset()
			return
		}
	}
	c.trace.Add(e)
}

// conceal notes the open actions whose arguments held a secret. What is stored
// has a mark in its place, with which the call would do something else.
func (c *Conversation) conceal() {
	c.concealed = make(map[string]bool)
	for _, e := range c.open {
		if strings.Contains(e.Body.(*event.Action).ToolCall.Arguments, secretenv.Mark) {
			c.concealed[e.ID] = true
		}
	}
}

func executable(a *event.Action) bool { return len(a.Action) > 0 && string(a.Action) != "null" }

// answered takes an action from the open ones: the one that the result names,
// or else the first with that call. A result that comes too late for its action
// answers no other one.
func (c *Conversation) answered(actionID, callID string) {
	i := slices.IndexFunc(c.open, func(e event.Event) bool { return e.ID == actionID })
	if i < 0 && !c.dir.Has(actionID) {
		i = slices.IndexFunc(c.open, func(e event.Event) bool { return e.Body.(*event.Action).ToolCallID == callID })
	}
	if i >= 0 {
		c.open = slices.Delete(c.open, i, i+1)
	}
}

func (c *Conversation) stamp() string { return c.cfg.Now().Format(timestampFormat) }

// update reports and records that a field of the state has changed.
func (c *Conversation) update(key string, value any) error { return c.record(key, value, lazily) }

func (c *Conversation) record(key string, value any, sync bool) error {
	data, err := plainjson.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", key, err)
	}
	_, err = c.append(event.SourceEnvironment, &event.StateUpdate{Key: key, Value: data}, sync)
	return err
}

func (c *Conversation) setStatus(s event.Status) error {
	c.dir.State.Status = s
	return c.update(event.KeyStatus, s)
}

// save writes the base state.
func (c *Conversation) save(sync bool) error {
	data, err := c.stats.stored()
	if err != nil {
		return err
	}
	c.dir.State.Stats = data
	if err := c.dir.AddCalls(c.stats.fresh); err != nil { // the sums are what counts
		c.cfg.Log.Warn("the statistics lack calls of the model", "conversation", c.id, "err", err)
	}
	c.stats.fresh = c.stats.fresh[:0]
	c.unsettled = true
	return c.dir.SaveState(sync)
}

// state is the part of the state that the seam knows.
func (c *Conversation) state() event.State {
	s := c.dir.State
	return event.State{
		ID: s.ID, Status: s.Status, LastUserMessageID: s.LastUserMessageID, LeafEventID: s.LeafEventID,
		Stats: c.stats.totals(), Workspace: s.Workspace, Tags: s.Tags,
		ConfirmationPolicy: s.ConfirmationPolicy, SecurityAnalyzer: s.SecurityAnalyzer,
	}
}

// snapshot is a full_state update. It leaves the agent out, and with it
// whatever could be secret.
func (c *Conversation) snapshot() event.Event {
	s := c.dir.State
	// These are strings, numbers and JSON that was read or made before.
	value, err := plainjson.Marshal(struct {
		event.State

		MaxIterations int `json:"max_iterations"`
	}{c.state(), s.MaxIterations})
	if err != nil {
		c.cfg.Log.Error("encode full_state", "conversation", c.id, "err", err)
		value = json.RawMessage(`{}`)
	}
	return c.unstored(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyFullState, Value: value})
}

// unstored makes an event that is only published.
func (c *Conversation) unstored(source string, body event.Body) event.Event {
	return event.New(c.cfg.NewID(), c.stamp(), source, "", body)
}

// texts is content of one text, none if it is empty.
func texts(s string) []event.Content {
	if s == "" {
		return []event.Content{}
	}
	return []event.Content{event.Text(s)}
}

// message is a message in the form in which Python loads it.
func message(role string, content []event.Content) event.LLMMessage {
	return event.LLMMessage{Role: role, Content: content, ThinkingBlocks: []json.RawMessage{}}
}

// introduce writes the system prompt, if the log has none yet.
func (c *Conversation) introduce() error {
	if c.introduced {
		return nil
	}
	p := c.systemPrompt()
	p.Tools = make([]json.RawMessage, len(c.tools.defs))
	for i, d := range c.tools.defs {
		p.Tools[i] = d.Stored()
	}
	_, err := c.append(event.SourceAgent, p, lazily)
	return err
}

// userMessage writes a message of the user with what belongs to it.
func (c *Conversation) userMessage(d *delivery) error {
	s := &c.dir.State
	text := plainText(d.content)
	if c.cfg.Titles && s.LastUserMessageID == "" {
		defer c.entitle(c.cfg.Secrets.Mask(text))
	}
	extended, activated := c.cfg.Prompt.Message(text, s.ActivatedSkills)
	extended = append(c.news(), extended...)
	id := d.id
	if id == "" {
		id = c.cfg.NewID()
	}
	added, refusal, err := c.beforeMessage(id, text)
	if err != nil {
		return err
	}
	extended = append(extended, added...)
	body := &event.Message{
		LLMMessage: message("user", d.content), ActivatedSkills: list(activated), ExtendedContent: list(extended), Sender: d.sender,
	}
	e, err := c.appendAs(id, event.SourceUser, body, durable)
	if err != nil {
		return err
	}
	if refusal != "" {
		s.BlockedMessages[id] = c.cfg.Secrets.Mask(refusal)
	}
	s.LastUserMessageID, c.replied = e.ID, false
	if len(activated) == 0 {
		return nil
	}
	s.ActivatedSkills = append(s.ActivatedSkills, activated...)
	return c.update("activated_knowledge_skills", s.ActivatedSkills)
}

// news are the notices that the log does not have.
func (c *Conversation) news() (content []event.Content) {
	if len(c.notices) == 0 {
		return nil
	}
	log, err := c.dir.Events()
	if err != nil { // then they are told once more
		c.cfg.Log.Warn("read the log", "conversation", c.id, "err", err)
	}
	for _, text := range c.notices {
		notice := event.Notice(text)
		told := slices.ContainsFunc(log, func(e event.Event) bool {
			m, ok := e.Body.(*event.Message)
			return ok && slices.ContainsFunc(m.ExtendedContent, func(item event.Content) bool { return item.Text == notice.Text })
		})
		if !told {
			content = append(content, notice)
		}
	}
	c.notices = nil
	return content
}

// list is l, empty instead of nil: Python wants a list.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
