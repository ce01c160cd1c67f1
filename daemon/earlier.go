package daemon

import (
	"errors"
	"strings"

	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
)

// earlier tells an agent, before a message of a run, the messages that clients
// added to its conversation: each once.
type earlier struct {
	d            *Daemon
	conversation string
	message      string

	found bool     // clients added something
	told  []string // ids of the items that are told with this message
}

// earlier is run.Config's.
func (d *Daemon) earlier(conversation, message string) run.Earlier {
	return &earlier{d: d, conversation: conversation, message: message}
}

// Compose is run.Earlier's. The items are marked before the message is sent: a
// crash between the two leaves them untold, and none is told twice.
func (e *earlier) Compose() (text string, err error) {
	err = e.d.items.Update(e.conversation, func(rec *clientitems.Record) (c clientitems.Change, err error) {
		e.found = true
		var turns []openai.Turn
		for _, item := range rec.Items {
			if m := openai.ReadItem(item.Data); m.Role != "" && !item.Told {
				turns, c.Told = append(turns, openai.Turn{Role: m.Role, Text: m.Text}), append(c.Told, item.ID)
			}
		}
		n := len(turns) - e.repeated(turns)
		c.Taken = c.Told[n:]
		e.told, text = c.Told, openai.QuoteAdded(turns[:n], maxQuote)
		return c, nil
	})
	if errors.Is(err, clientitems.ErrNotFound) {
		return "", nil
	}
	return text, err
}

// repeated is how many of the last turns the message says again: clients that keep
// a history add a message before they send it.
func (e *earlier) repeated(turns []openai.Turn) int {
	said := ""
	for n := 1; n <= len(turns) && turns[len(turns)-n].Role == "user"; n++ {
		if said = strings.TrimSpace(strings.TrimSpace(turns[len(turns)-n].Text) + "\n\n" + said); said == strings.TrimSpace(e.message) {
			return n
		}
	}
	return 0
}

// End is run.Earlier's.
func (e *earlier) End(began bool) {
	if !e.found || !began && len(e.told) == 0 {
		return
	}
	err := e.d.items.Update(e.conversation, func(rec *clientitems.Record) (clientitems.Change, error) {
		if !began {
			return clientitems.Change{Untold: e.told}, nil
		}
		return clientitems.Change{Used: !rec.Used}, nil
	})
	if err != nil && !errors.Is(err, clientitems.ErrNotFound) {
		e.d.cfg.Logger.Error("cannot note what an agent was told", "conversation_id", e.conversation, "err", err)
	}
}
