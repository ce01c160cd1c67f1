package llm

import "strings"

// Endpoint returns the host that a profile's requests go to, with its port if
// the URL names one, and the model as that host calls it. They are empty for a
// profile that cannot work.
func Endpoint(cfg Config) (host, model string) {
	cfg.setDefaults()
	r, err := routeOf(&cfg.Profile, featuresOf(&cfg.Profile), cfg.Getenv)
	if err != nil {
		return "", ""
	}
	return hostPort(r.url), r.model
}

// NeedsServer reports whether only an agent-server can call the model of a
// profile: by a subscription, or at a provider that the embedded agent does not
// know how to call.
func NeedsServer(p *Profile) bool {
	prefix, _, _ := strings.Cut(p.Model, "/")
	return p.AuthType == "subscription" || p.IsSubscription || unsupported(prefix) != unsupported("")
}
