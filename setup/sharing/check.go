package sharing

import (
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
)

// Check refuses settings that a gateway which shares a database cannot have.
func Check(s *config.Settings) error {
	if !s.State.Shared() {
		return nil
	}
	switch from := s.StateOrigin().String(); {
	case s.Backend == "embedded" || s.Demo:
		return fault.NewUsage("the embedded agent cannot be used with a shared database ("+from+"): its runs end with this process", "name the agent-servers: --agent-server URL")
	case s.Backend == "cloud":
		return fault.NewUsage("OpenHands Cloud cannot be used with a shared database ("+from+")", "name the agent-servers: --agent-server URL")
	case s.BrowserTools || s.BrowserHeaded:
		return fault.NewUsage("the browser needs the embedded agent, which cannot be used with a shared database ("+from+")", "leave out --browser and --headed")
	case len(s.AgentServer.URLs) == 0:
		return fault.NewUsage("a shared database needs agent-servers that every gateway reaches ("+from+")", "name the agent-servers: --agent-server URL")
	case s.KeyStore == config.KeyringStore:
		return fault.NewUsage("the system keyring cannot be used with a shared database ("+from+"): every gateway needs the same LLM keys", "keep them in a file that all gateways have: --key-store file")
	}
	return nil
}
