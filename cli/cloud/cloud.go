// Package cloud has the commands about conversations on a server of OpenHands that
// need the server: start one there, wake it, send messages, follow a run, download
// files. What every backend can do with a conversation is in package conversations.
package cloud

import (
	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/setup/accounts"
)

// New makes the command "cloud".
func New(a *kit.App) *cobra.Command {
	o := &options{kit.OnServer{App: a}}
	cmd := &cobra.Command{
		Use:   "cloud COMMAND",
		Short: "Start, continue and download Cloud conversations",
		Long: `Starts conversations of your account on OpenHands Cloud, or on an app-server of
yours, wakes them, sends messages, follows runs and downloads files. "ohgw login"
stores the key of a server. Without --server, commands use the default server:
see "ohgw server". The beginning of an id is enough where it is unique.

What works with every backend is in "ohgw conversations": with --server NAME, its
commands list, show, events and remove are about that server.`,
		Example: kit.Examples(`ohgw cloud new "Fix the build" --repo acme/teapot --wait`, "ohgw cloud download changes 7f1c"),
		Args:    kit.UnknownCommandBut("use ohgw conversations %s --server NAME", "list", "show", "events", "remove"),
		RunE:    kit.ShowHelp,
	}
	a.AddServer(cmd, &o.Server, nil, "use the stored server `NAME` instead of the default one")
	cmd.AddCommand(newNew(o), newSend(o), newWake(o), newTail(o), newChanges(o), newDownload(o), newTrajectory(o), newBrowse(o))
	return cmd
}

// options is what all commands take.
type options struct{ kit.OnServer }

// oneOptions is what the commands about one conversation take.
type oneOptions struct {
	*options
	ID string
}

// conversationJSON is a conversation after a command, in JSON.
type conversationJSON struct {
	ID     string        `json:"id"`
	Server string        `json:"server"`
	State  account.State `json:"state"`
	WebURL string        `json:"web_url"`

	*endJSON // with --wait or --follow
}

// endJSON is the end of a run, in JSON.
type endJSON struct {
	Status event.Status `json:"status"`
	Answer string       `json:"answer"`
}

// describe is a conversation in JSON, with the end of its run if there is one.
func describe(acc accounts.Account, conv account.Conversation, end *endJSON) conversationJSON {
	return conversationJSON{ID: conv.ID, Server: acc.Server.Name, State: conv.State, WebURL: conv.WebURL, endJSON: end}
}
