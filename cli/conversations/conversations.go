// Package conversations has the commands about the conversations that a backend keeps.
package conversations

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/setup/library"
)

// New makes the command "conversations".
func New(a *kit.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conversations COMMAND",
		Short: "List, read, move and remove conversations",
		Long: `Lists and reads the conversations of the agents, moves them to another machine
and removes them.

They are those of the backend that "ohgw serve" would choose with the same
settings: of the embedded agent, whose files are read, or of an agent-server. No
daemon has to run. A conversation that runs in a daemon is read while it runs.

With --server NAME, the commands list, show, events and remove are about those of
your account on OpenHands Cloud, or on an app-server of yours: see "ohgw server".
"ohgw cloud" starts, continues and downloads these. The beginning of an id is
enough where it is unique.`,
		Example: kit.Examples("ohgw conversations list", "ohgw conversations show 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"),
		Args:    kit.UnknownCommandBut("use ohgw cloud %s", "new", "send", "wake", "tail", "changes", "download", "trajectory", "browse"),
		RunE:    kit.ShowHelp,
	}
	p := &place{kit.OnServer{App: a}}
	p.Flags = kit.AddSettingsNamedTo(cmd, cmd.PersistentFlags(), "backend", "agent-server")
	a.AddServer(cmd, &p.Server, p.Flags, "the conversations on a stored server `NAME` of OpenHands")
	cmd.AddCommand(newList(p), newShow(p), newEvents(p), newFiles(p), newExport(p), newImport(p), newRemove(p))
	return cmd
}

// conversationJSON is a conversation in JSON, of any backend.
type conversationJSON struct {
	ID        string            `json:"id"`
	Title     string            `json:"title"` // empty: none was found yet
	Status    event.Status      `json:"status"`
	Model     string            `json:"model"`
	Directory string            `json:"directory"`
	Cost      float64           `json:"cost"` // US dollars
	Tokens    int64             `json:"tokens"`
	Created   time.Time         `json:"created,omitzero"`
	Updated   time.Time         `json:"updated,omitzero"`
	Tags      map[string]string `json:"tags"`
	LeftOut   int               `json:"events_left_out,omitempty"` // those behind a missing one

	*serverJSON // of a conversation on a server
}

// tellGap says what the log of a conversation lacks, and gives how many events that are.
func (o *oneOptions) tellGap(ctx context.Context, lib control.Library, id string) (leftOut int, err error) {
	r, err := lib.Record(ctx, id)
	if err != nil {
		return 0, library.Fault(err)
	}
	if r.LeftOut > 0 {
		o.Note("An event of this conversation is missing on the disk; what is behind it is left out (events: %d)", r.LeftOut)
	}
	return r.LeftOut, nil
}

// describe reads what the lists show of a record.
func describe(r control.Record) conversationJSON {
	var state struct {
		event.State

		Agent struct {
			LLM struct {
				Model string `json:"model"`
			} `json:"llm"`
		} `json:"agent"`
	}
	_ = json.Unmarshal(r.State, &state) // what cannot be read stays empty
	c := conversationJSON{
		ID: r.ID, Title: r.Title, Status: r.Status, Model: state.Agent.LLM.Model, Directory: state.Workspace.WorkingDir,
		Created: r.Created, Updated: r.Updated, Tags: state.Tags, LeftOut: r.LeftOut,
	}
	for _, m := range state.Stats.UsageToMetrics {
		c.Cost += m.AccumulatedCost
		if m.Usage != nil {
			c.Tokens += m.Usage.PromptTokens + m.Usage.CompletionTokens
		}
	}
	return c
}
