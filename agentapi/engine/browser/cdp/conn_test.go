package cdp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/browser/cdp"
)

// far is the end of a connection that Chromium has.
type far struct {
	commands *bufio.Reader
	answers  io.WriteCloser
}

func connect(t *testing.T, events func(cdp.Event)) (*cdp.Conn, far) {
	t.Helper()
	read, in := io.Pipe()
	out, write := io.Pipe()
	c := cdp.New(in, out, events)
	t.Cleanup(func() { _ = c.Close() })
	return c, far{bufio.NewReader(read), write}
}

// command reads the next command.
func (f far) command(t *testing.T) (id int64, method string) {
	t.Helper()
	data, err := f.commands.ReadBytes(0)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	var m struct {
		ID     int64
		Method string
	}
	if err := json.Unmarshal(data[:len(data)-1], &m); err != nil {
		t.Errorf("sent %q: %v", data, err)
	}
	return m.ID, m.Method
}

func (f far) say(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(f.answers, text+"\x00"); err != nil {
		t.Error(err)
	}
}

func TestAnswersReachTheirCommands(t *testing.T) {
	t.Parallel()
	seen := make(chan cdp.Event, 1)
	c, f := connect(t, func(e cdp.Event) { seen <- e })
	go func() {
		if id, method := f.command(t); id != 1 || method != "Page.enable" {
			t.Errorf("command %d is %s", id, method)
		}
		f.say(t, `{"method":"Target.targetCreated","params":{"a":1},"sessionId":"S"}`)
		f.say(t, `{"id":99,"result":{}}`) // of a command that has been given up
		f.say(t, `{"id":1,"result":{"x":"y"}}`)
		f.command(t)
		f.say(t, `{"id":2,"error":{"code":-32000,"message":"No such thing"}}`)
	}()
	var got struct{ X string }
	if err := c.Call(t.Context(), "", "Page.enable", nil, &got); err != nil || got.X != "y" {
		t.Errorf("answer %+v, %v", got, err)
	}
	if e := <-seen; e.Method != "Target.targetCreated" || e.Session != "S" || string(e.Params) != `{"a":1}` {
		t.Errorf("event %+v", e)
	}
	refused, ok := errors.AsType[*cdp.Error](c.Call(t.Context(), "S", "Page.no", nil, nil))
	if !ok || refused.Code != -32000 || refused.Message != "No such thing" {
		t.Errorf("refusal %+v", refused)
	}
}

func TestACommandEndsWithItsContextAndWithTheConnection(t *testing.T) {
	t.Parallel()
	c, f := connect(t, func(cdp.Event) {})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		f.command(t)
		cancel()
		f.command(t)
		_ = f.answers.Close()
	}()
	if err := c.Call(ctx, "", "Page.enable", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a command that was given up", err)
	}
	if err := c.Call(t.Context(), "", "Page.enable", nil, nil); !errors.Is(err, cdp.ErrClosed) {
		t.Errorf("error %v of a command that Chromium's end has cut off", err)
	}
	<-c.Done()
	if err := c.Call(t.Context(), "", "Page.enable", nil, nil); !errors.Is(err, cdp.ErrClosed) {
		t.Errorf("error %v after the end", err)
	}
}
