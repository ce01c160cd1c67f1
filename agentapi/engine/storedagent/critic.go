package storedagent

import (
	"encoding/json"

	"github.com/ohgw/ohgw/internal/hidden"
)

// newCritic makes the critic of a new agent, as OpenHands makes it of the settings; nil where
// they do not enable it. Its key is sealed, or without seal hidden.
func newCritic(settings Agent, seal func(string) (string, error)) (Agent, error) {
	from := settings.Object("verification")
	if string(from["critic_enabled"]) != "true" {
		return nil, nil
	}
	c := Agent{}
	c.Set("kind", "APIBasedCritic")
	for to, name := range map[string]string{"mode": "critic_mode", "server_url": "critic_server_url", "model_name": "critic_model_name"} {
		if text := from.Text(name); text != "" {
			c.Set(to, text)
		}
	}
	c.Set("api_key", nil)
	if key := from.Text("critic_api_key"); key != "" {
		sealed := hidden.Redacted
		if seal != nil {
			var err error
			if sealed, err = seal(key); err != nil {
				return nil, err
			}
		}
		c.Set("api_key", sealed)
	}
	if string(from["enable_iterative_refinement"]) == "true" {
		refine := Agent{}
		for to, name := range map[string]string{"success_threshold": "critic_threshold", "max_iterations": "max_refinement_iterations"} {
			if v, ok := from[name]; ok && string(v) != "null" {
				refine[to] = v
			}
		}
		c.Set("iterative_refinement", refine)
	}
	return c, nil
}

// CriticKey finds the key of the critic in agent settings, if its server is the one at url; ""
// for none. A key of the settings does not go elsewhere.
func CriticKey(settings json.RawMessage, url string) string {
	a := Agent{}
	if json.Unmarshal(settings, &a) != nil {
		return "" // what is wrong is reported where the settings are read
	}
	from := a.Object("verification")
	if from.Text("critic_server_url") != url {
		return ""
	}
	return from.Text("critic_api_key")
}
