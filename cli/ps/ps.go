// Package ps has the command "ps": it asks the running daemon about the turns of agents,
// and can stop one.
package ps

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/daemon/conversations"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/running"
)

// New makes the command "ps".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List the running turns of the agents, or stop one",
		Long: kit.Long(`
Lists the turns that the daemon runs, and those that wait: model, token, status,
time, cost and conversation (GET /v1/runs). The time is that since the turn
began, or since it waits. The cost is that of the turn's completed steps, if the
LLM's price is known.

The default token and the first key of OHGW_API_KEYS see the turns of all
tokens. Any other token sees its own. The key is OHGW_API_KEY, otherwise the
default token.

--kill stops a turn and those that wait in the same conversation. What the agent
has done stays. The id is that of the conversation, or its first characters.

In a pipe, each turn is one line with tabs between the columns, and the time is
in seconds. With --json the command prints the daemon's answer.`,
			0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example: kit.Examples(
			"ohgw ps",
			"ohgw ps --kill 0198c9d2",
			"ohgw ps --json | jq '.data[].cost'",
		),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &opts) },
	}
	cmd.Flags().StringVar(&opts.Kill, "kill", "", "stop the turn with this `id`")
	err := cmd.RegisterFlagCompletionFunc("kill", completeRuns(a))
	if err != nil {
		panic("cli: " + err.Error()) // The flag is not there: a mistake above.
	}
	opts.flags = kit.AddSettings(cmd, config.ClientSection)
	return cmd
}

// options is what the command takes.
type options struct {
	*kit.App

	flags kit.SettingFlags

	Kill string
}

// run runs the command.
func run(ctx context.Context, o *options) error {
	c, err := o.DaemonClient(ctx, o.flags)
	if err != nil {
		return err
	}
	var list conversations.RunList
	raw, err := c.Get(ctx, "/v1/runs", &list)
	switch {
	case err != nil:
		return err
	case o.Kill != "":
		return kill(ctx, o, c, list.Data)
	case o.JSON:
		return o.PrintRaw(raw)
	}
	if len(list.Data) == 0 {
		o.Hint("No agent is running.")
	}
	return printRuns(o.App, list.Data)
}

func printRuns(a *kit.App, runs []conversations.Run) error {
	t := kit.Table{Header: []string{"MODEL", "TOKEN", "STATUS", "TIME", "COST", "CONVERSATION"}}
	for _, r := range runs {
		status, lasts, cost := r.Status, r.Running, "-"
		if r.Status == conversations.RunWaiting {
			lasts = r.Waited
			if r.Place > 0 {
				status = fmt.Sprintf("%s (%d before it)", r.Status, r.Place)
			}
		}
		if r.Cost > 0 {
			cost = fmt.Sprintf("%.4f USD", r.Cost)
		}
		t.Add(r.Model, orDash(r.Token), status, span(a, lasts), cost, r.Conversation)
	}
	return t.Write(a.Stdout)
}

// span is a number of seconds: for people on a terminal, else as it is.
func span(a *kit.App, seconds float64) string {
	if a.Stdout.TTY() {
		return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("%.3f", seconds)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// kill stops the turn that the person has named.
func kill(ctx context.Context, o *options, c *running.Daemon, runs []conversations.Run) error {
	id, err := conversationOf(runs, o.Kill)
	if err != nil {
		return err
	}
	var answer struct {
		Interrupted bool `json:"interrupted"`
	}
	if _, err := c.Post(ctx, "/v1/conversations/"+id+"/interrupt", &answer); err != nil {
		return err
	}
	if !answer.Interrupted {
		return fault.New("the turn "+id+" has ended already", "list the running turns: ohgw ps", nil)
	}
	if o.JSON {
		return o.PrintJSON(map[string]string{"interrupted": id})
	}
	o.Note("The turn %s was stopped.", id)
	return nil
}

// conversationOf finds the conversation of the run that an id, or its beginning, names.
func conversationOf(runs []conversations.Run, id string) (string, error) {
	var found []string
	for _, r := range runs {
		if strings.HasPrefix(r.Conversation, id) || r.ID == id {
			found = append(found, r.Conversation)
		}
	}
	slices.Sort(found)
	switch found = slices.Compact(found); len(found) {
	case 0:
		return "", fault.New(fmt.Sprintf("no running turn has the ID %q", id), "list the running turns: ohgw ps", nil)
	case 1:
		return found[0], nil
	}
	return "", fault.NewUsage(fmt.Sprintf("%q is the beginning of %d IDs", id, len(found)), "give more characters of the ID: ohgw ps --kill "+found[0])
}

// completeRuns offers the conversations of the running turns. A key press does
// not wait long for them.
func completeRuns(a *kit.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		var list conversations.RunList
		if c, err := a.DaemonClient(ctx, nil); err == nil {
			_, _ = c.Get(ctx, "/v1/runs", &list) // no answer, no offers
		}
		ids := make([]string, 0, len(list.Data))
		for _, r := range list.Data {
			ids = append(ids, r.Conversation+"\t"+r.Model)
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
