package responses

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/openai"
)

// ApprovalPrefix begins the id of an item that asks for a confirmation. The
// digits of its response follow, then its place among the actions that wait.
const ApprovalPrefix = "mcpr_"

// ResponseOf is the id of the response that an item with this id belongs to; empty
// where the id cannot be one of a response.
func ResponseOf(item string) string {
	kind, digits, _ := strings.Cut(item, "_")
	switch kind + "_" {
	case ApprovalPrefix, "msg_", "rs_", "fc_":
	case "call_": // which is one in a response, and has no number
		digits += "0"
	default:
		return ""
	}
	if len(digits) < 33 || !valid(openai.ResponsePrefix+digits[:32]) || strings.Trim(digits[32:], "0123456789") != "" {
		return ""
	}
	return openai.ResponsePrefix + digits[:32]
}

// Ending is how a run ends as a response.
type Ending struct {
	Status     string // completed, incomplete, failed or cancelled
	Code       string // of a failure, from OpenAI's list
	Message    string // of a failure or a cancellation
	Answer     string // what the agent said last
	Notice     string // what the person must know beside it
	Refusal    string // why there is no answer in the form of [Config.Form]; empty: there is
	Incomplete string // why, for an incomplete response
	// Waiting are the actions that wait for a confirmation; see
	// [Config.AsksApproval].
	Waiting   []openai.OutputItem
	Usage     openai.Usage
	Extension *openai.Extension
}

// Config is what a Live needs.
type Config struct {
	// Response has all that is known of the response before its run: no id yet.
	Response openai.Response
	// Record is stored with the response, unless it is Unstored; nil: nothing is
	// remembered of the response.
	Record *Record
	Store  *Store
	// Asked stands for what was said up to the answer, so that a client that sends
	// it again with the answer is known to go on; empty: it is not remembered.
	Asked chats.Digest
	// Steps shows the text of every step as it is written; without it only the
	// final answer is a message.
	Steps bool
	// Form says that the answer has a form: no text of a step is a message then.
	// With Steps it is reasoning.
	Form bool
	// Function is the client's function whose arguments the answer is; empty: it
	// is a message.
	Function string
	// AsksApproval tells the actions that wait as items, not in words.
	AsksApproval bool
	// Silent shows no progress.
	Silent bool
	// Conclude says how a run ended.
	Conclude func(turn.Result, error) Ending
	// Failed is told what could not be stored at the end. May be nil.
	Failed func(error)
	Now    func() time.Time
}

// Live is a response that is being made, or has just been. It is the observer of
// the run that makes it: the events of its stream are made once, with one number
// each, for all who read it.
type Live struct {
	cfg Config

	disk  sync.Mutex // held while the record is written; taken before mu
	begun bool       // the record of the run is stored, or never will be
	saved bool       // the response is stored

	mu      sync.Mutex
	res     openai.Response
	events  *openai.ResponseEvents
	frames  []openai.StreamEvent
	size    int
	ended   bool
	waits   bool          // for its run
	changed chan struct{} // closed with the next event
}

// NewLive makes a response. It has no id before its run is admitted.
func NewLive(cfg Config) *Live {
	l := &Live{cfg: cfg, res: cfg.Response, changed: make(chan struct{})}
	l.events = openai.NewResponseEvents(&l.res)
	l.events.NewID = l.itemID
	l.events.Emit = l.emit
	return l
}

// itemID names the next item of the output: after its response, so that a client
// that sends the item back names the response with it. The caller holds l.mu.
func (l *Live) itemID(prefix string) string {
	return prefix + strings.TrimPrefix(l.res.ID, openai.ResponsePrefix) + strconv.Itoa(len(l.res.Output))
}

// isStored reports whether the response can be retrieved.
func (l *Live) isStored() bool { return l.cfg.Record != nil && !l.cfg.Record.Unstored }

// emit takes an event. The caller holds l.mu.
func (l *Live) emit(e openai.StreamEvent) {
	l.frames = append(l.frames, e)
	l.size += len(e.Data)
	close(l.changed)
	l.changed = make(chan struct{})
}

// Admitted names the response. It is run.Observer's.
func (l *Live) Admitted(conversation, answer string, created time.Time) {
	l.disk.Lock()
	defer l.disk.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.res.ID, l.res.Created, l.res.Status = openai.ResponsePrefix+answer, created.Unix(), openai.ResponseInProgress
	if l.cfg.Record != nil {
		l.cfg.Record.ID, l.cfg.Record.Conversation, l.cfg.Record.Created = l.res.ID, conversation, created
	}
	l.waits = l.cfg.Record == nil || l.cfg.Record.Status == "" // else an earlier process has begun it
	if l.isStored() {
		l.saved = !l.waits
		l.res.Conversation = conversation
		l.cfg.Store.add(l)
	}
	l.events.Begin()
}

// Begin stores the response before its run starts. It is run.Observer's.
func (l *Live) Begin(base turn.Baseline) error {
	if l.cfg.Record == nil {
		return nil
	}
	l.disk.Lock()
	defer l.disk.Unlock()
	l.begun = true
	l.mu.Lock()
	l.waits = false
	rec := *l.cfg.Record
	rec.Status, rec.Base = openai.ResponseInProgress, base
	if !rec.Unstored {
		rec.Object = l.object()
	}
	l.mu.Unlock()
	err := l.cfg.Store.begin(rec)
	l.saved = l.saved || err == nil
	return err
}

// Update takes in a piece of the run. It is run.Observer's.
func (l *Live) Update(u turn.Update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case u.Kind == turn.Text && l.cfg.Steps && !l.cfg.Form:
		l.events.Text(u.Text)
	case u.Kind == turn.Text && l.cfg.Steps && !l.cfg.Silent:
		l.events.Thought(u.Text)
	case u.Kind == turn.Progress && u.Text != "" && !l.cfg.Silent:
		l.events.Progress(u.Text)
	}
}

// End completes the response and stores it. It is run.Observer's.
func (l *Live) End(res turn.Result, err error, began bool) {
	e := l.cfg.Conclude(res, err)
	l.disk.Lock()
	defer l.disk.Unlock()
	l.begun = true
	l.mu.Lock()
	l.finish(e)
	rec, frames := l.cfg.Record, l.frames
	var object []byte
	said := l.said()
	if l.isStored() {
		object = l.object()
	}
	l.mu.Unlock()
	if rec == nil {
		return
	}
	if began {
		ended := *rec
		ended.Last, ended.Ended = res.Last, l.cfg.Now()
		l.cfg.Store.words.add(ended, l.cfg.Asked, said)
	}
	if rec.Unstored {
		if rec.Claims {
			l.cfg.Store.Release(rec.Previous)
		}
		return
	}
	if storeErr := l.cfg.Store.end(rec, e.Status, object, res.Last, frames, began); storeErr != nil && l.cfg.Failed != nil {
		l.cfg.Failed(storeErr)
	}
}

// said is the answer in the forms in which clients send it back: all that was said,
// and what was said last. The caller holds l.mu.
func (l *Live) said() (forms []string) {
	all := ""
	for _, item := range l.res.Output {
		switch {
		case item.Message:
			all += item.Text
			forms = []string{item.Text}
		case item.Function != "":
			all += item.Arguments
			forms = []string{item.Arguments}
		}
	}
	return append(forms, all)
}

// Finish completes a response that no run makes.
func (l *Live) Finish(e Ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finish(e)
}

// finish makes the last events. The caller holds l.mu.
func (l *Live) finish(e Ending) {
	if l.ended {
		return
	}
	l.ended, l.waits = true, false
	l.res.Extension = e.Extension
	switch e.Status {
	case openai.ResponseFailed, openai.ResponseCancelled:
		// A stream has no event for a cancelled response.
		l.res.Status = openai.ResponseFailed
		l.res.Error = &openai.ResponseError{Code: e.Code, Message: e.Message, Type: openai.TypeServer}
		l.events.Fail(e.Code, e.Message)
		if e.Status == openai.ResponseCancelled {
			l.res.Status, l.res.Error = e.Status, nil
		}
		return
	}
	l.res.Status, l.res.Completed, l.res.Incomplete, l.res.Usage = e.Status, l.cfg.Now().Unix(), e.Incomplete, &e.Usage
	l.answer(e.Answer)
	notice := e.Notice
	asks := l.cfg.AsksApproval && len(e.Waiting) > 0
	if asks {
		notice = ""
	}
	if e.Refusal != "" && !asks {
		l.events.Refuse(e.Refusal)
	}
	if notice != "" {
		if e.Answer != "" {
			l.events.Text("\n\n")
		}
		l.events.Text(notice)
	}
	for i, item := range e.Waiting {
		if asks {
			item.ID = ApprovalPrefix + strings.TrimPrefix(l.res.ID, openai.ResponsePrefix) + strconv.Itoa(i)
			l.events.Ask(item)
		}
	}
	l.events.End()
}

// answer adds the final answer, unless it was added while it was made. The caller
// holds l.mu.
func (l *Live) answer(text string) {
	switch {
	case l.cfg.Function != "" && text != "":
		l.events.Call(l.cfg.Function, text)
	case !l.cfg.Steps || l.cfg.Form:
		l.events.Text(text)
	}
}

// object is the response as JSON. One in the background says that it waits for its
// run. The caller holds l.mu.
func (l *Live) object() []byte {
	res := l.res
	if l.waits && res.Background {
		res.Status = openai.ResponseQueued
	}
	data, err := res.MarshalJSON()
	if err != nil {
		return nil // there are only texts and numbers in it
	}
	return data
}

// Size is how many bytes the response keeps. It is run.Observer's.
func (l *Live) Size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// ID is the id of the response.
func (l *Live) ID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.res.ID
}

// Object is the response as it is now, as JSON.
func (l *Live) Object() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.object()
}

// Said is how many bytes of text the response has.
func (l *Live) Said() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events.Said()
}

// Event waits for the event with this number. The error is io.EOF after the last
// one, or ctx's.
func (l *Live) Event(ctx context.Context, number int) (openai.StreamEvent, error) {
	for {
		l.mu.Lock()
		if number < len(l.frames) {
			e := l.frames[number]
			l.mu.Unlock()
			return e, nil
		}
		ended, changed := l.ended, l.changed
		l.mu.Unlock()
		if ended {
			return openai.StreamEvent{}, io.EOF
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return openai.StreamEvent{}, ctx.Err()
		}
	}
}

// Beat adds an event without news, unless one of this number is there already or
// the response has ended.
func (l *Live) Beat(number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended && len(l.frames) == number {
		l.events.Beat()
	}
}

// Ended waits for the end of the response.
func (l *Live) Ended(ctx context.Context) error {
	for {
		l.mu.Lock()
		ended, changed := l.ended, l.changed
		l.mu.Unlock()
		if ended {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
