// Package pool has the commands about the agent-servers of a pool.
package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/setup/agents"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/suggest"
)

// New makes the command "pool".
func New(a *kit.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pool COMMAND",
		Short: "List and drain the agent-servers of a pool",
		Long: `Lists and drains the agent-servers of a pool: "ohgw serve" with several
--agent-server, or with one of the form dns+http://NAME:PORT.

A server that drains gets no new conversations. Those that it has continue there.
Gateways that share a state (--state) all follow. Without one, the commands are for
the daemon of this user, which need not run.`,
		Example: kit.Examples("ohgw pool list", "ohgw pool drain http://10.0.0.7:8000", "ohgw pool up http://10.0.0.7:8000"),
		Args:    kit.UnknownCommand,
		RunE:    kit.ShowHelp,
	}
	flags := kit.AddSettingsTo(cmd, cmd.PersistentFlags(), config.StateSection, config.ClientSection)
	cmd.AddCommand(newList(a, flags), newDrain(a, flags), newUp(a, flags))
	return cmd
}

const (
	// patience bounds a command.
	patience = 30 * time.Second
	// completionTime bounds a key press.
	completionTime = time.Second
)

// options is what all commands take.
type options struct {
	*kit.App

	flags kit.SettingFlags
}

// notes are the notes of a pool, with the database that has them; nil for files.
type notes struct {
	placement.Placer

	db  *pg.DB
	dir string // of the files
}

// with opens the notes of the pool for a command.
func (o *options) with(ctx context.Context, limit time.Duration, do func(context.Context, *config.Settings, *notes) error) error {
	s, err := o.Settings(o.flags)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if s.State.Shared() {
		db, err := o.Setup().Database(s)
		if err != nil {
			return err
		}
		defer db.Close()
		return do(ctx, s, &notes{Placer: db.Placement(), db: db})
	}
	placer, end, err := agents.PoolNotes(o.Setup(), s)
	if err != nil {
		return err
	}
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, s, &notes{Placer: placer, dir: dirs.State}), end())
}

// fault is an error of the notes for people.
func (n *notes) fault(err error) error {
	switch {
	case err == nil:
		return nil
	case n.db != nil:
		return setup.StateFault(n.db, err)
	}
	return fault.New("the notes of the pool cannot be read or written", "make them readable and writable: chmod -R u+rwX "+fault.Word(n.dir), err)
}

// find is the server that a person names: by its name, with or without its scheme.
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

// noPool is the error where no server ever joined.
func noPool() error {
	return fault.NewUsage("there is no pool of agent-servers", "start one: ohgw serve --agent-server URL --agent-server URL")
}

func bare(name string) string {
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	}
	return strings.TrimRight(name, "/")
}

// complete offers the names of the servers.
func (o *options) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = o.with(cmd.Context(), completionTime, func(ctx context.Context, _ *config.Settings, n *notes) error { // without names there is nothing to offer
		list, err := n.Servers(ctx)
		for _, s := range list {
			names = append(names, s.Name+"\t"+string(s.State))
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
