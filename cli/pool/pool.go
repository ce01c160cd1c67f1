// Package pool has the commands about the agent-servers of a pool.
package pool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/suggest"
	"github.com/ohgw/ohgw/setup/database"
	"github.com/ohgw/ohgw/setup/serverpool"
)

// New makes the command "pool".
func New(a *kit.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pool COMMAND",
		Short: "List and drain the agent-servers of a pool",
		Long: `Lists and drains the agent-servers of a pool: "ohgw serve" with several
--agent-server, or with one of the form dns+http://NAME:PORT.

A server that drains gets no new conversations. Those that it has continue there.
The commands are for the daemon of this user, which does not have to run. With
--state they are for all gateways that share the database.`,
		Example: kit.Examples("ohgw pool list", "ohgw pool drain http://10.0.0.7:8000", "ohgw pool up http://10.0.0.7:8000"),
		Args:    kit.UnknownCommand,
		RunE:    kit.ShowHelp,
	}
	flags := kit.AddSettingsTo(cmd, cmd.PersistentFlags(), config.StateSection)
	cmd.AddCommand(newList(a, flags), newDrain(a, flags), newUp(a, flags))
	return cmd
}

const (
	// patience bounds a command that asks a database.
	patience = 30 * time.Second
	// completionTime bounds a key press.
	completionTime = time.Second
)

// options is what all commands take.
type options struct {
	*kit.App

	flags kit.SettingFlags
}

// notes are the notes of a pool.
type notes struct {
	placement.Placer

	db    *pg.DB // that has them; nil: they are files
	state string // the directory of the files
}

// notes opens the notes of the pool.
func (o *options) notes() (*notes, error) {
	s, err := o.Settings(o.flags)
	if err != nil {
		return nil, err
	}
	if s.State.Shared() {
		db, err := database.Open(o.Setup(), s)
		if err != nil {
			return nil, err
		}
		return &notes{Placer: db.Placement(), db: db}, nil
	}
	placer, err := serverpool.Notes(o.Setup())
	if err != nil {
		return nil, err
	}
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return nil, err
	}
	return &notes{Placer: placer, state: dirs.State}, nil
}

// close ends the connections to the database.
func (n *notes) close() {
	if n.db != nil {
		n.db.Close()
	}
}

// fault returns an error of the notes for people.
func (n *notes) fault(err error) error {
	switch {
	case err == nil:
		return nil
	case n.db != nil:
		return database.Fault(n.db, err)
	}
	return fault.New("the notes of the pool cannot be read or written", "make them readable and writable: chmod -R u+rwX,go-w "+shellword.Of(n.state), err)
}

// find returns the server that a person names: by its name, with or without its scheme.
func (n *notes) find(ctx context.Context, name string) (placement.Server, error) {
	list, err := n.Servers(ctx)
	if err != nil {
		return placement.Server{}, n.fault(err)
	}
	var names []string
	for _, s := range list {
		if s.Name == name || bare(s.Name) == bare(name) {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if len(list) == 0 {
		return placement.Server{}, noPool()
	}
	hint := "ohgw pool list shows the agent-servers"
	if near := suggest.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return placement.Server{}, fault.NewUsage(fmt.Sprintf("the pool has no agent-server %q", name), hint)
}

// noPool returns the error where no server ever joined.
func noPool() error {
	return fault.NewUsage("there is no pool of agent-servers", "start one: ohgw serve --agent-server URL --agent-server OTHER")
}

func bare(name string) string {
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	}
	return strings.TrimRight(name, "/")
}

// complete offers the names of the servers.
func (o *options) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	n, err := o.notes()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer n.close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	list, _ := n.Servers(ctx) // without names there is nothing to offer
	names := make([]string, 0, len(list))
	for _, s := range list {
		names = append(names, s.Name+"\t"+string(s.State))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// set drains a server, or ends that.
func (o *options) set(ctx context.Context, name string, drain bool) error {
	n, err := o.notes()
	if err != nil {
		return err
	}
	defer n.close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	server, err := n.find(ctx, name)
	if err != nil {
		return err
	}
	if err := n.Drain(ctx, server.Name, drain); err != nil {
		return n.fault(err)
	}
	if o.JSON {
		state := agentapi.MemberUp
		if drain {
			state = agentapi.MemberDraining
		}
		return o.PrintJSON(map[string]string{"server": server.Name, "state": string(state)})
	}
	if !drain {
		o.Note("%s gets new conversations.", server.Name)
		return nil
	}
	o.Note("%s gets no new conversations. Those that it has continue there.", server.Name)
	list, err := n.Servers(ctx)
	if err != nil {
		return n.fault(err)
	}
	if !slices.ContainsFunc(list, func(s placement.Server) bool { return s.State == agentapi.MemberUp }) {
		o.Note("warning: no agent-server of the pool gets new conversations now; end that with: ohgw pool up %s", shellword.Of(server.Name))
	}
	return nil
}
