package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
)

func newModels(a *App) *cobra.Command {
	var flags settingFlags
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models that clients can use",
		Long: long(`
Lists what the running daemon answers to GET /v1/models: the ids to give to a
client. "openhands" is the active profile of OpenHands, "openhands_NAME" the
profile NAME. A token that is limited to models sees only those.

It shows OHGW_API_KEY to the daemon, else the default token. With --json it
prints the daemon's answer as it is.`, 0, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           examples("ohgw models", "ohgw models --json | jq -r '.data[].id'"),
		Args:              none(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.models(cmd.Context(), flags) },
	}
	flags = addSettings(cmd, config.ClientSection)
	return cmd
}

// modelList is what is read of the answer to GET /v1/models.
type modelList struct {
	Data []struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"data"`
}

func (a *App) models(ctx context.Context, flags settingFlags) error {
	c, err := a.daemonClient(ctx, flags)
	if err != nil {
		return err
	}
	var list modelList
	raw, err := c.Get(ctx, "/v1/models", &list)
	if err != nil {
		return err
	}
	if a.json {
		return a.printRaw(raw)
	}
	t := table{header: []string{"ID", "NAME", "LLM"}}
	for _, m := range list.Data {
		t.add(m.ID, m.Name, m.Description)
	}
	if len(list.Data) == 0 {
		a.hint("There are no models: OpenHands has no LLM profile, or the token is limited to others.")
	}
	return t.write(a.Stdout)
}

// printRaw prints a JSON document of somebody else, indented.
func (a *App) printRaw(raw []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(raw), "", "  "); err != nil {
		return fmt.Errorf("print answer: %w", err)
	}
	b.WriteByte('\n')
	return writeText(a.Stdout, b.String())
}
