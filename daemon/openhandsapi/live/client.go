package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/message"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shape"
	"github.com/ohgw/ohgw/daemon/openhandsapi/socket"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

const (
	// maxOwn is how many frames may wait that are for one socket alone.
	maxOwn = 16
	// maxSaid is how many messages of a client are read before they are taken.
	maxSaid = 64
	// pageSize is how many events of the log are read at once.
	pageSize = 100
)

// errGone says that the client has ended the socket.
var errGone = errors.New("the client is gone")

// client is one socket. One goroutine writes to it, another reads from it, and a third
// asks from time to time whether it is there.
type client struct {
	server *Server
	hub    *hub
	conn   *socket.Conn
	own    chan []byte // frames for this socket alone
}

// said is a frame of the client.
type said struct {
	message control.Message
	err     error // why the frame is not a message
}

// serve runs a socket until its end, and returns why it ended.
func (c *client) serve(ctx context.Context, w watch) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	// What was read is taken when the socket is gone, too: the hub stays for that.
	own, err := c.server.join(c.server.life, c.hub.topic)
	if err != nil {
		return err
	}
	messages := make(chan said, maxSaid)
	c.server.pumps.Go(func() { end(c.listen(ctx, messages)) })
	c.server.pumps.Go(func() {
		defer c.server.leave(own)
		c.take(ctx, messages)
	})
	c.server.pumps.Go(func() { end(c.ping(ctx)) })
	if w.session {
		err = c.writeSession(ctx, w)
	} else {
		err = c.write(ctx, w)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, errSlow) {
		return cause
	}
	return err
}

// write sends the state, the events that were asked for, and then what comes.
func (c *client) write(ctx context.Context, w watch) error {
	at := c.hub.tape.position()
	if err := c.state(ctx); err != nil {
		return err
	}
	var sent map[string]bool // of the log, that may be on the tape as well
	if w.all || w.since != "" {
		began := at
		var err error
		if at, sent, err = c.resend(ctx, w.since); err != nil {
			return err
		}
		if at != began { // the end of a run may have been among what was passed over
			if err := c.state(ctx); err != nil {
				return err
			}
		}
	}
	return c.follow(ctx, at, func(f frame) bool { return f.id != "" && sent[f.id] })
}

// state sends the whole state.
func (c *client) state(ctx context.Context) error {
	e, err := c.stateNow(ctx)
	if err != nil {
		return err
	}
	return c.send(e)
}

func (c *client) stateNow(ctx context.Context) (event.Event, error) {
	value, err := c.hub.state(ctx, nil)
	return event.New(c.server.cfg.NewID(), c.now(), event.SourceEnvironment, "", &event.StateUpdate{Key: event.KeyFullState, Value: value}), err
}

// now is the time as events have it.
func (c *client) now() string { return c.server.cfg.Now().Local().Format("2006-01-02T15:04:05.000000") }

func (c *client) send(e event.Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	return c.conn.Send(socket.Frame(data))
}

// resend sends events of the log, and returns the place on the tape where what follows
// them begins, with the ids of those that may be found behind it once more.
func (c *client) resend(ctx context.Context, since string) (at int, sent map[string]bool, err error) {
	q := control.EventQuery{EventFilter: control.EventFilter{From: since}, Limit: pageSize}
	for {
		at = c.hub.tape.position() // everything before it is in the log by now
		page, err := c.server.cfg.Engine.Search(ctx, c.hub.id, q)
		if err != nil {
			return 0, nil, err
		}
		frames := make([][]byte, 0, len(page.Events))
		sent = make(map[string]bool, len(page.Events))
		for _, raw := range page.Events {
			var e struct {
				ID string `json:"id"`
			}
			_ = json.Unmarshal(raw, &e) // without an id it may come twice
			sent[e.ID] = true
			frames = append(frames, socket.Frame(shape.Listed(raw)))
		}
		if err := c.conn.Send(frames...); err != nil {
			return 0, nil, err
		}
		if page.Next == "" || page.Next == q.Page {
			return at, sent, c.tellLeftOut(page.LeftOut)
		}
		q.Page = page.Next
	}
}

// follow sends what comes, without what was sent already.
func (c *client) follow(ctx context.Context, at int, sent func(frame) bool) error {
	var batch []frame
	var frames [][]byte
	for {
		var more <-chan struct{}
		var err error
		if batch, more, err = c.hub.tape.read(at, batch[:0]); err != nil {
			return err
		}
		if len(batch) == 0 {
			select {
			case <-more:
			case f := <-c.own:
				if err := c.conn.Send(f); err != nil {
					return err
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			continue
		}
		at += len(batch)
		frames = frames[:0]
		for _, f := range batch {
			if !sent(f) {
				frames = append(frames, f.data)
			}
		}
		if err := c.conn.Send(frames...); err != nil {
			return err
		}
	}
}

// listen reads the messages of the client. Its error is the end. Messages wait for
// those before them, while pings and pongs are read.
func (c *client) listen(ctx context.Context, messages chan<- said) error {
	defer close(messages)
	for {
		// A canceled read would end the connection without a word.
		_, data, err := c.conn.Read(context.WithoutCancel(ctx))
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return errGone
		}
		if _, again := socket.AuthFrame(data); again {
			continue // it was let in already
		}
		var next said
		next.message, next.err = message.ReadFrame(data)
		messages <- next
	}
}

// take puts the messages of the client into the conversation, also when it has gone.
func (c *client) take(ctx context.Context, all <-chan said) {
	for next := range all {
		err := next.err
		if err == nil {
			err = c.hub.add(c.server.life, next.message)
		}
		if err != nil {
			c.complain(ctx, err)
		}
	}
}

// complain tells the client what was wrong with its frame.
func (c *client) complain(ctx context.Context, err error) {
	code, detail := "RuntimeError", agentapi.PublicMessage(err, "The message could not be sent")
	if e, ok := errors.AsType[*pydantic.Error](err); ok {
		code, detail = "ValidationError", fmt.Sprint("1 validation error for Message: ", e.Error())
	}
	f, err := c.failure(code, detail)
	if err != nil {
		return // it has strings only
	}
	select {
	case c.own <- f:
	case <-ctx.Done():
	}
}

// failure is the frame for what is wrong with this socket.
func (c *client) failure(code, detail string) ([]byte, error) {
	var body any = event.New(c.server.cfg.NewID(), c.now(), event.SourceEnvironment, "", &event.ServerError{Code: code, Detail: detail})
	if c.hub.session {
		body = errorFrame{Type: "error", Code: code, Detail: detail}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode a failure: %w", err)
	}
	return socket.Frame(data), nil
}

// tellLeftOut says behind the log that it is not all that is on the disk.
func (c *client) tellLeftOut(events int) error {
	if events == 0 {
		return nil
	}
	f, err := c.failure("EventsLeftOut", fmt.Sprintf("An event of this conversation is missing on the disk; what is behind it is left out (events: %d).", events))
	if err != nil {
		return err
	}
	return c.conn.Send(f)
}
