package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/suggest"
)

// findModel makes the name of a profile its model. A name that is close to a
// model's is an error; of any other the gateway says more.
func (c *session) findModel(ctx context.Context) error {
	if c.model == "" || c.model == activeModel || c.model == demoModel {
		return nil
	}
	models, err := c.client.Models(ctx)
	if err != nil {
		return nil //nolint:nilerr // The question itself fails for the same reason, with more to say.
	}
	var ids, profiles []string
	for _, m := range models {
		ids = append(ids, m.ID)
		if name, found := strings.CutPrefix(m.ID, profileModel); found && !m.Plain {
			profiles = append(profiles, name)
		}
	}
	if slices.Contains(ids, c.model) {
		return nil
	}
	if slices.Contains(profiles, c.model) {
		c.model = profileModel + c.model
		return nil
	}
	near := suggest.Nearest(c.model, ids)
	if profile := suggest.Nearest(c.model, profiles); near == "" && profile != "" {
		near = profileModel + profile
	}
	if near == "" {
		return nil
	}
	return fault.New(fmt.Sprintf("there is no model %q", c.model), "did you mean "+near+"? ohgw models lists the models", nil)
}

// onlyModel is the model to ask where no profile is active: that of the only
// profile; empty if there are none or several.
func (c *session) onlyModel(ctx context.Context) string {
	models, err := c.client.Models(ctx)
	if err != nil {
		return ""
	}
	models = slices.DeleteFunc(models, func(m gateway.Model) bool { return m.Plain })
	if len(models) != 1 {
		return ""
	}
	return models[0].ID
}
