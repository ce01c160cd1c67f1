package firstrun

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/loopback"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
)

// BaseFromEnvironment is the base URL that a variable such as OPENAI_BASE_URL gives the
// provider of a plan, and the variable. Both are empty if none is set.
func BaseFromEnvironment(env *setup.Env, p Plan) (variable, base string) {
	prefix := cmp.Or(p.Provider, llm.MakerOf(p.Model))
	for _, p := range secret.Providers() {
		if p.Prefix != prefix {
			continue
		}
		for _, name := range p.Bases {
			if text, set := env.Lookup(name); set && text != "" {
				return name, text
			}
		}
	}
	return "", ""
}

// CheckEnvironmentBase refuses the value of a variable that is not the URL of an API, and the
// address of ohgw itself, which clients get in the same variable. The error is a usage error.
func CheckEnvironmentBase(s *config.Settings, variable, base string) error {
	if CheckBaseURL(base) != nil {
		return fault.NewUsage("the variable "+variable+" is not a valid base URL", "pass --base-url URL, or: unset "+variable)
	}
	u, err := url.Parse(base)
	if err != nil || !loopback.Host(u.Hostname()) {
		return nil //nolint:nilerr // it was checked before
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err == nil && slices.Contains(setup.ReservedPorts(s), uint16(port)) {
		return fault.NewUsage("the variable "+variable+" is the address of ohgw itself, which has no LLM of its own", "pass --base-url URL of the LLM, or: unset "+variable)
	}
	return nil
}
