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
Lists the models of the running daemon (GET /v1/models). Use the ids in a
client: "openhands" is OpenHands' active profile, "openhands_NAME" is the
profile NAME. A token that is limited to models sees only those.

The key is OHGW_API_KEY, otherwise the default token. With --json the command
prints the daemon's answer unchanged.`, 0, fault.Usage, fault.Credential, fault.Unreachable),
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
		o.Hint("There are no models: OpenHands has no LLM profile, or this token may not use any of them.")
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
