package conversations

import (
	"context"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/library"
)

// place is where the conversations of a command are: with a backend of this machine,
// or on a server of OpenHands.
type place struct{ kit.OnServer }

// cloudBackend is the setting "backend" that means the default server.
const cloudBackend = "cloud"

// remote reports whether the conversations are on a server of OpenHands.
func (p *place) remote() (bool, error) {
	s, err := p.Settings(p.Flags)
	if err != nil {
		return false, err
	}
	if p.Server != "" && s.Origin("agent_server.url").Kind == config.FromFlag {
		return false, fault.NewUsage("--server cannot be used with --agent-server", "use one of them")
	}
	return p.Server != "" || s.Backend == cloudBackend, nil
}

// open opens the conversations of the backend that the settings choose.
func (p *place) open(ctx context.Context) (library.Library, error) {
	s, err := p.Settings(p.Flags)
	if err != nil {
		return library.Library{}, err
	}
	if p.Server != "" || s.Backend == cloudBackend {
		return library.Library{}, fault.NewUsage("this command is not for conversations on OpenHands Cloud", "use ohgw cloud trajectory ID, or remove --server")
	}
	return library.Open(ctx, p.Setup(), s, p.Logger("text"))
}
