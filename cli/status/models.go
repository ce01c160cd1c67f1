package status

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
)

// NewModels makes the command "models".
func NewModels(a *kit.App) *cobra.Command {
	opts := modelsOptions{App: a}
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models that clients can use",
		Long: kit.Long(`
Lists what the running daemon answers to GET /v1/models: the ids to give to a
client. "openhands" is the active profile of OpenHands, "openhands_NAME" the
profile NAME. A token that is limited to models sees only those.

It shows OHGW_API_KEY to the daemon, else the default token. With --json it
prints the daemon's answer as it is.`, 0, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw models", "ohgw models --json | jq -r '.data[].id'"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runModels(cmd.Context(), &opts) },
	}
	opts.flags = kit.AddSettings(cmd, config.ClientSection)
	return cmd
}

// modelsOptions is what the command takes.
type modelsOptions struct {
	*kit.App

	flags kit.SettingFlags
}

// runModels runs the command.
func runModels(ctx context.Context, o *modelsOptions) error {
	c, err := o.DaemonClient(ctx, o.flags)
	if err != nil {
		return err
	}
	var list kit.ModelList
	raw, err := c.Get(ctx, "/v1/models", &list)
	if err != nil {
		return err
	}
	if o.JSON {
		return printRaw(o.App, raw)
	}
	t := kit.Table{Header: []string{"ID", "NAME", "LLM"}}
	for _, m := range list.Data {
		t.Add(m.ID, m.Name, m.Description)
	}
	if len(list.Data) == 0 {
		o.Hint("There are no models: OpenHands has no LLM profile, or the token is limited to others.")
	}
	return t.Write(o.Stdout)
}

// printRaw prints a JSON document of somebody else, indented.
func printRaw(a *kit.App, raw []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(raw), "", "  "); err != nil {
		return fmt.Errorf("print answer: %w", err)
	}
	b.WriteByte('\n')
	return kit.WriteText(a.Stdout, b.String())
}
