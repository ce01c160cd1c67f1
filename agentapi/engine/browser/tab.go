package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/browser/cdp"
	"github.com/ohgw/ohgw/internal/truncate"
)

// The limits of what a page says about itself, in characters.
const (
	maxAddress = 2000
	maxTitle   = 300
	maxDialog  = 500
)

// tab is a page.
type tab struct {
	s        *Session
	c        *chromium
	id       string       // of the target
	session  string       // of the protocol
	crashed  atomic.Bool  // or was given up
	dialogs  atomic.Int32 // that it has shown since it was navigated
	used     bool         // it was navigated
	elements string       // the object with those of the last listing; "" for none
}

// short is the id that the model sees.
func (t *tab) short() string { return t.id[max(0, len(t.id)-4):] }

var (
	errBusy    = errors.New("the page does not answer: its scripts keep it busy. Go to another page, or close the tab")
	errCrashed = errors.New("the page has crashed, or was given up. Its tab is closed; go to another page")
)

// do sends a command to the page.
func (t *tab) do(ctx context.Context, method string, params, result any) error {
	return t.c.call(ctx, t.session, method, params, result)
}

// event takes what happens in the page. It must not wait.
func (t *tab) event(e cdp.Event) {
	switch e.Method {
	case "Page.javascriptDialogOpening":
		var d dialog
		if json.Unmarshal(e.Params, &d) == nil {
			t.c.later(func() { t.answer(d) })
		}
	case "Inspector.targetCrashed":
		t.c.later(func() { t.giveUp("A page has crashed, and its tab was closed.") })
	}
}

// giveUp closes the tab of a page with which nothing can be done. Its process is ended
// before: a page whose scripts never end would hold up others of its site, and closing.
func (t *tab) giveUp(why string) {
	if t.crashed.Swap(true) {
		return
	}
	t.s.note(why)
	ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
	defer cancel()
	t.kill(ctx)
	_ = t.c.do(ctx, "Target.closeTarget", object{"targetId": t.id}, nil)
}

// kill ends the process of the page. It has no time to answer.
func (t *tab) kill(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = t.do(ctx, "Page.crash", nil, nil)
}

// maxDialogs is how many dialogs of one page are answered.
const maxDialogs = 20

// dialog is what a page asks its user.
type dialog struct {
	Type    string `json:"type"` // alert, confirm, prompt, beforeunload
	Message string `json:"message"`
}

// answer answers what a page asks: it may go on, and gets no text.
func (t *tab) answer(d dialog) {
	if t.dialogs.Add(1) > maxDialogs {
		t.giveUp(fmt.Sprintf("A page showed more than %d dialogs, and its tab was closed.", maxDialogs))
		return
	}
	accept := d.Type != "prompt"
	if d.Type != "beforeunload" {
		said := "OK"
		if !accept {
			said = "Cancel"
		}
		t.s.note(fmt.Sprintf("The page showed a dialog (%s), which was answered with %s: %s", d.Type, said, cut(d.Message, maxDialog)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
	defer cancel()
	_ = t.do(ctx, "Page.handleJavaScriptDialog", object{"accept": accept}, nil)
}

// cut is the beginning of a text.
func cut(text string, limit int) string { return truncate.Within(text, limit, "…") }
