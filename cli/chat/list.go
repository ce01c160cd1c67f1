package chat

import (
	"cmp"
	"strings"
	"time"

	"github.com/ohgw/ohgw/cli/chat/recent"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/tui"
)

// conversationJSON is a conversation of --list.
type conversationJSON struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Model     string    `json:"model"`
	Directory string    `json:"directory"` // empty: not known
	Turns     int       `json:"turns"`
	Used      time.Time `json:"used"`
}

// list prints the conversations of this machine, the latest first: those that
// have a text in their title, in any case.
func (o *options) list(text string) error {
	r, err := recent.Open(o.App)
	if err != nil {
		return err
	}
	all, err := r.Read()
	if err != nil {
		return err
	}
	found := []conversationJSON{}
	for _, c := range all {
		if strings.Contains(strings.ToLower(c.Title), strings.ToLower(text)) {
			found = append(found, jsonOf(c))
		}
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"conversations": found})
	}
	t := kit.Table{Header: []string{"TITLE", "USED", "MODEL", "DIRECTORY", "ID"}}
	for _, c := range found {
		t.Add(cmp.Or(c.Title, "-"), o.TimeText(c.Used), c.Model, cmp.Or(c.Directory, "-"), c.ID)
	}
	if len(found) == 0 {
		o.Hint("There is no such conversation. Start one with: ohgw chat")
	}
	return t.Write(o.Stdout)
}

func jsonOf(c tui.Conversation) conversationJSON {
	return conversationJSON{ID: c.ID, Title: setup.Clean(c.Title), Model: c.Model, Directory: c.Workspace, Turns: c.Turns, Used: c.Used}
}
