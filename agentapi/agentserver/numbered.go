package agentserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/agentapi/agentserver/sequence"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/id"
)

// maxAhead is how many events may follow a gap before the gap is closed. The end of
// a run closes it in any case.
const maxAhead = 256

// numbered is the session socket: events have numbers, by which a new socket goes on
// where the last one ended, and deltas name the event that they belong to.
//
// A stream still begins with the state of now, not with the log from a number: the
// server would send the state last, and drop a client that reads a long log slowly.
type numbered struct {
	s    *stream
	log  sequence.Numbers
	text sequence.Text

	known    bool // log is valid: nothing before its cursor is missing
	repeats  bool // the socket repeats the event of the cursor, to be compared
	synced   bool // the socket said which number it begins with
	through  int  // that number
	caughtUp bool // the socket sent what it had to, and its snapshot
}

var (
	// errRenumbered is a log whose numbers are not those that they were: events that
	// were read are not in it.
	errRenumbered = errors.New("the numbers of the log have changed")
	// errGap is an event that did not come by the socket. A new socket brings it.
	errGap = errors.New("an event is missing")
)

// reasonTooLarge is the reason with which the server closes a socket in place of a
// frame above its limit of 4 MiB. A new socket would end in the same way.
const reasonTooLarge = "frame_too_large"

func (n *numbered) dial(ctx context.Context) (*socket, error) {
	n.synced, n.caughtUp = false, false
	n.text.Interrupted()
	query := url.Values{}
	n.repeats = n.known && n.log.Known()
	switch {
	case n.repeats:
		query.Set("after_seq", strconv.Itoa(n.log.Cursor()-1))
	case n.known:
		query.Set("after_seq", strconv.Itoa(n.log.Cursor()))
	}
	return n.s.conv.dial(ctx, "/sockets/session/", query, readSession)
}

// after is the events socket where numbers do not help: it has no limit for frames,
// and looks for the ids of events.
func (n *numbered) after(err error) source {
	closed, ok := errors.AsType[websocket.CloseError](err)
	tooLarge := ok && closed.Code == websocket.StatusTryAgainLater && closed.Reason == reasonTooLarge
	if !tooLarge && !errors.Is(err, errRenumbered) && !errors.Is(err, errNoUpgrade) {
		return n
	}
	n.s.conv.backend.log.Debug("the session socket cannot be used", "conversation_id", n.s.conv.info.ID, "err", err)
	n.s.conv.unnumbered.Store(true)
	return &reconciled{s: n.s}
}

func (n *numbered) began(bool) {}

// resume leaves all to the new socket. The snapshot of a server that was restarted is
// the last thing that it says.
func (n *numbered) resume(_ context.Context, restarted bool) error {
	n.s.restarted = n.s.restarted || restarted
	return nil
}

func (n *numbered) frame(ctx context.Context, f frame) error {
	if f.note.Type == frameSync {
		return n.sync(ctx, f.note.Through)
	}
	if err := n.settle(ctx); err != nil {
		return err
	}
	switch f.note.Type {
	case frameDurable:
		return n.durable(f.note.Seq, f.event)
	case frameTransient:
		return n.transient(ctx, f.event)
	case frameDelta:
		return n.delta(f.note)
	default:
		return nil
	}
}

// sync begins the frames of a socket.
func (n *numbered) sync(ctx context.Context, through *int) error {
	n.synced, n.through = true, -1
	if through != nil {
		n.through = *through
	}
	if !n.known {
		n.log.BeginAt(n.through)
		return n.settle(ctx)
	}
	if n.through < n.log.Cursor() {
		return errRenumbered
	}
	return nil
}

// settle fetches what came before the first number of a stream that had to begin
// without it.
func (n *numbered) settle(ctx context.Context) error {
	if n.known || !n.synced || !n.s.begun {
		return nil
	}
	err := n.s.catchUp(ctx, n.s.newestAnchors())
	n.known = err == nil
	return err
}

func (n *numbered) durable(seq int, e event.Event) error {
	if n.known && n.log.Differs(seq, e.ID) {
		return errRenumbered
	}
	if seq == n.log.Cursor() {
		n.repeats = false
	}
	n.log.Add(seq, e.ID)
	switch {
	case !n.s.begun:
		return n.s.hold(e)
	case n.log.Ahead() > maxAhead:
		return errGap
	default:
		return n.s.handleLive(e)
	}
}

func (n *numbered) transient(ctx context.Context, e event.Event) error {
	s := n.s
	state, snapshot, err := e.FullState()
	switch {
	case err != nil:
		return &unreadableError{err}
	case snapshot && s.begun:
		return n.snapshot(ctx, e, state)
	case snapshot:
		n.caughtUp = true
		err := s.begin(ctx, e, state)
		n.known = err == nil
		return err
	case s.begun:
		return s.handleLive(e)
	default:
		return nil
	}
}

// snapshot delivers a snapshot of a stream that has begun. The first one of a socket
// follows all that the socket repeats.
func (n *numbered) snapshot(ctx context.Context, e event.Event, state event.State) error {
	s := n.s
	missing := s.incomplete(state)
	switch {
	case n.caughtUp && (missing || n.log.Ahead() > 0 && state.Status != event.Running):
		return errGap
	case !n.caughtUp && n.repeats:
		return errRenumbered
	case !n.caughtUp:
		n.caughtUp = true
		if skipped := n.log.Skip(n.through); skipped || missing {
			// What has not come by now, the server could not read.
			if err := s.catchUp(ctx, s.anchors[:1]); err != nil {
				return err
			}
		}
	}
	return s.deliverUnlessOutdated(e)
}

// delta delivers a piece of a text of which nothing is missing. The rest comes with
// its event. Before the socket has caught up, deltas overtake the events before them.
func (n *numbered) delta(f *sessionFrame) error {
	s := n.s
	if !n.text.Add(&f.Delta, n.caughtUp && s.begun, s.seen.Has) {
		return nil
	}
	return s.handleLive(event.New(id.New(""), s.conv.backend.now().Format(stampLayout), event.SourceAgent, "", f.delta()))
}

func (n *numbered) admits(e event.Event, live bool) bool {
	if live && beginsText(e) && !n.s.has(e) {
		n.text.Taken()
	}
	return true
}

// The types of frames of the session socket. Others are ignored: there may be new
// ones. What it says of an item that starts, the item's deltas say too.
const (
	frameSync      = "sync"      // the first one: the range of the log that follows at once
	frameDurable   = "durable"   // an event of the log, with its number
	frameTransient = "transient" // an event that is only published
	frameDelta     = "delta"     // a piece of the text of an item
)

// sessionFrame is what a frame of the session socket says beside its event.
type sessionFrame struct {
	Type string `json:"type"`
	// Through is the last number of the log, absent if the log is empty.
	Through *int `json:"through_seq"`
	Seq     int  `json:"seq"`

	sequence.Delta
}

// delta is the frame as the events socket would have it.
func (f *sessionFrame) delta() *event.Delta {
	if f.Kind == sequence.Reasoning {
		return &event.Delta{ReasoningContent: &f.Content}
	}
	return &event.Delta{Content: &f.Content}
}

var errNoEvent = errors.New("a frame has no event")

// readSession reads a frame of the session socket.
func readSession(data []byte) (frame, error) {
	var in struct {
		sessionFrame
		Event event.Event `json:"event"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return frame{}, err
	}
	if in.Event.Body == nil && (in.Type == frameDurable || in.Type == frameTransient) {
		return frame{}, errNoEvent
	}
	return frame{event: in.Event, note: &in.sessionFrame}, nil
}
