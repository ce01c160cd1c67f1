// Package agents has the commands about the agents that are models.
package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/agentmodels"
	"github.com/ohgw/ohgw/setup/agents"
)

// New makes the command "agents".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "agents COMMAND",
		Short: "List, check and create agents that are models",
		Long: `Lists and checks the agents that the embedded agent offers as models, with the
IDs openhands_agent_NAME: the agent profiles of OpenHands, and agent definitions,
which are Markdown files. Teams of agents have the IDs openhands_team_NAME.

Definitions are in .agents/agents and .openhands/agents, and teams in
.agents/teams, in the directory of --workspace and in your home directory. A file
that you save counts at once.`,
		Example: kit.Examples("ohgw agents list", "ohgw agents new reviewer", "ohgw agents new crew --members reviewer,tester"),
		Args:    kit.UnknownCommand,
		RunE:    kit.ShowHelp,
	}
	opts.flags = kit.AddSettingsNamedTo(cmd, cmd.PersistentFlags(), "workspace")
	cmd.AddCommand(newList(&opts), newShow(&opts), newCheck(&opts), newNew(&opts))
	return cmd
}

// options is what all commands about agents take.
type options struct {
	*kit.App

	flags kit.SettingFlags
}

// open finds the agents.
func (o *options) open() (*agentmodels.Roster, error) {
	s, err := o.Settings(o.flags)
	if err != nil {
		return nil, err
	}
	return agents.OpenRoster(o.Setup(), s)
}

// modelID is the model of an agent.
func modelID(e agentmodels.Entry) string { return openai.ModelPrefix + agentapi.AgentProfile(e.Name) }

// explain turns an error of the roster into one for a person, with the next step.
func explain(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok || err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fault.New("the agents cannot be listed", "ohgw profiles check shows what is wrong with OpenHands' files", err)
}

// unknown returns the error of a name that no agent has.
func unknown(name string, err error) error {
	if !errors.Is(err, agentapi.ErrProfileNotFound) {
		return explain(err)
	}
	return fault.New(fmt.Sprintf("there is no agent %q", name), "ohgw agents list shows the agents, ohgw agents check the files that are not", nil)
}

// completeNames offers the agents.
func completeNames(o *options) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		r, err := o.open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		entries, _, err := r.Read(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, e := range entries {
			names = append(names, cobra.CompletionWithDesc(e.Name, e.Description))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
