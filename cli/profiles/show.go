package profiles

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

func newShow(shared *options) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show a profile, without its keys",
		Long: kit.Long(`
Shows a profile as OpenHands reads it: its members in their current form, with
defaults for members that the file does not have. Keys are never shown; key_from
is the origin of the key.`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw profiles show work", "ohgw profiles show work --json"),
		Args:              kit.ExactlyNames("the name"),
		ValidArgsFunction: shared.CompleteProfiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runShow(cmd.Context(), &showOptions{options: shared, Name: args[0]})
		},
	}
}

// showOptions is what the command takes.
type showOptions struct {
	*options

	Name string
}

// runShow runs the command.
func runShow(ctx context.Context, o *showOptions) error {
	store, err := o.Setup().ProfileStore(o.LockTimeout)
	if err != nil {
		return err
	}
	p, err := store.Load(o.Name)
	if err != nil {
		return o.Setup().ProfileFault(ctx, err, o.Name)
	}
	keys, err := o.Keys(ctx, o.flags)
	if err != nil {
		return err
	}
	doc := struct {
		profileJSON

		LLM any `json:"llm"`
	}{profileJSON{p.Summary, keys.From(p.Summary.Subject())}, p.LLM}
	if o.JSON {
		return o.PrintJSON(doc)
	}
	t := kit.Table{}
	t.Add("name", p.Name)
	t.Add("file", p.Path)
	t.Add("key from", doc.KeyFrom.String())
	if prompt := promptOf(p.LLM.BaseURL, p.LLM.MaxInputTokens); prompt != "" {
		t.Add("prompt", prompt)
	}
	members, err := membersOf(p.LLM)
	if err != nil {
		return err
	}
	for _, m := range slices.Sorted(maps.Keys(members)) {
		if v := string(members[m]); v != "null" && v != "{}" && v != `""` {
			t.Add(m, v)
		}
	}
	return t.WritePairs(o.Stdout)
}

// promptOf says how much the embedded agent is told where the model may be a local one;
// "" where it is not.
func promptOf(baseURL *string, limit *int64) string {
	switch {
	case baseURL == nil || !llm.MayBeLocal(*baseURL):
		return ""
	case limit != nil && *limit > 0 && *limit < llm.SmallContext:
		return "small, because of max_input_tokens (see prompt_size)"
	}
	return fmt.Sprintf("small if its server gives it a context below %d tokens (see prompt_size)", llm.SmallContext)
}

// membersOf are the members of v as JSON.
func membersOf(v any) (map[string]json.RawMessage, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode profile: %w", err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("encode profile: %w", err)
	}
	return members, nil
}
