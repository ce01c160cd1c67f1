package conversations

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
)

// earlier tells an agent, before a message of a run, the messages that clients
// added to its conversation: each once.
type earlier struct {
	items        *clientitems.Store
	logger       *slog.Logger
	conversation string
	message      string

	found  bool               // clients added something
	told   clientitems.Change // what is told with this message
	marked bool               // that is stored
}

// NewEarlier returns run.Config's Earlier.
func NewEarlier(items *clientitems.Store, logger *slog.Logger) func(conversation, message string) run.Earlier {
	return func(conversation, message string) run.Earlier {
		return &earlier{items: items, logger: logger, conversation: conversation, message: message}
	}
}

// Compose implements run.Earlier. It quotes the items that the agent does not know
// yet, and remembers them for Begin.
func (e *earlier) Compose() (text string, err error) {
	rec, err := e.items.Load(e.conversation)
	if errors.Is(err, clientitems.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	e.found = true
	var turns []openai.Turn
	for _, item := range rec.Items {
		if m := openai.ReadItem(item.Data); m.Role != "" && !item.Told {
			turns, e.told.Told = append(turns, openai.Turn{Role: m.Role, Text: m.Text}), append(e.told.Told, item.ID)
		}
	}
	n := len(turns) - e.repeated(turns)
	e.told.Taken = e.told.Told[n:]
	return openai.QuoteAdded(turns[:n], openai.MaxQuote), nil
}

// Begin implements run.Earlier. It marks the items just before the message is sent: a
// crash between the two leaves them untold, and none is told twice.
func (e *earlier) Begin() error {
	if len(e.told.Told) == 0 {
		return nil
	}
	err := e.items.Update(e.conversation, func(*clientitems.Record) (clientitems.Change, error) { return e.told, nil })
	e.marked = err == nil
	if errors.Is(err, clientitems.ErrNotFound) {
		return nil // deleted meanwhile
	}
	return err
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

// End implements run.Earlier. It takes the marks back if the run did not begin.
func (e *earlier) End(began bool) {
	if !e.found || !began && !e.marked {
		return
	}
	err := e.items.Update(e.conversation, func(rec *clientitems.Record) (clientitems.Change, error) {
		if !began {
			return clientitems.Change{Untold: e.told.Told}, nil
		}
		return clientitems.Change{Used: !rec.Used}, nil
	})
	if err != nil && !errors.Is(err, clientitems.ErrNotFound) {
		e.logger.Error("cannot note what an agent was told", "conversation_id", e.conversation, "err", err)
	}
}
