package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
)

func newProfilesShow(a *App, in *profilesInput) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show a profile, without its keys",
		Long: long(`
Shows a profile as OpenHands understands it: its members in their present form,
with the defaults of what the file does not say. Keys are never shown; key_from
says where the key comes from.`, 0, fault.Failed, fault.Usage),
		Example:           examples("ohgw profiles show work", "ohgw profiles show work --json"),
		Args:              exactly("the name"),
		ValidArgsFunction: a.completeProfiles,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.profilesShow(cmd.Context(), in, args[0]) },
	}
}

func (a *App) profilesShow(ctx context.Context, in *profilesInput, name string) error {
	store, err := a.Setup().ProfileStore(in.LockTimeout)
	if err != nil {
		return err
	}
	p, err := store.Load(name)
	if err != nil {
		return a.Setup().ProfileFault(ctx, err, name)
	}
	keys, err := a.keys(ctx, in.flags)
	if err != nil {
		return err
	}
	doc := struct {
		profileJSON

		LLM any `json:"llm"`
	}{profileJSON{p.Summary, keys.From(p.Summary.Subject())}, p.LLM}
	if a.json {
		return a.printJSON(doc)
	}
	t := table{}
	t.add("name", p.Name)
	t.add("file", p.Path)
	t.add("key from", doc.KeyFrom.String())
	members, err := membersOf(p.LLM)
	if err != nil {
		return err
	}
	for _, m := range slices.Sorted(maps.Keys(members)) {
		if v := string(members[m]); v != "null" && v != "{}" && v != `""` {
			t.add(m, v)
		}
	}
	return t.writePairs(a.Stdout)
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
