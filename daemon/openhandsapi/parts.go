package openhandsapi

import (
	"io"
	"log/slog"
	"slices"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/boxpool"
	"github.com/ohgw/ohgw/daemon/openhandsapi/catalogue"
	"github.com/ohgw/ohgw/daemon/openhandsapi/conversations"
	"github.com/ohgw/ohgw/daemon/openhandsapi/extensions"
	"github.com/ohgw/ohgw/daemon/openhandsapi/githost"
	"github.com/ohgw/ohgw/daemon/openhandsapi/live"
	"github.com/ohgw/ohgw/daemon/openhandsapi/logins"
	"github.com/ohgw/ohgw/daemon/openhandsapi/probes"
	"github.com/ohgw/ohgw/daemon/openhandsapi/scoped"
	"github.com/ohgw/ohgw/daemon/openhandsapi/session"
	"github.com/ohgw/ohgw/daemon/openhandsapi/settings"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shell"
	"github.com/ohgw/ohgw/daemon/openhandsapi/trajectory"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/daemon/openhandsapi/workspaces"
)

// Parts are what the whole API over an engine is made of. All are required but Logger.
type Parts struct {
	Engine control.Engine

	Probes        probes.Config
	Conversations conversations.Config
	Catalogue     catalogue.Config
	Logins        *logins.Logins
	Extensions    extensions.Config
	Settings      settings.Config
	Commands      *shell.Shell
	Trajectory    trajectory.Config
	Boxes         *boxpool.Pool
	GitHosts      githost.Config
	Cookies       *session.Sessions
	Workspaces    workspaces.Config
	Events        *live.Server

	// Logger gets failures of the server. Nil: they are not logged.
	Logger *slog.Logger
}

// Over returns a handler of the whole API over an engine.
func Over(p Parts) *Handler {
	return New(Config{
		Routes: p.routes(), Open: p.Logins.Open(), Ends: []io.Closer{p.Logins}, Cookies: p.Cookies.CookieKey, Logger: p.Logger,
		Sockets: map[string]Sockets{"bash-events": p.Commands, live.Name: p.Events, live.Session: p.Events},
	})
}

// routes lists all routes over an engine.
func (p Parts) routes() []wire.Route {
	below := p.Boxes.Routes(p.Engine, p.Logger)
	p.Conversations.Ended = p.Commands.End
	return slices.Concat(
		probes.Routes(p.Probes),
		conversations.Routes(p.Conversations),
		catalogue.Routes(p.Catalogue),
		p.Logins.Routes(),
		extensions.Routes(p.Extensions),
		settings.Routes(p.Settings),
		p.Commands.Routes(),
		trajectory.Routes(p.Trajectory),
		below,
		scoped.Routes(scoped.Config{
			Workspace: boxpool.WorkspaceOf(p.Engine), Served: slices.Concat(below, trajectory.Routes(p.Trajectory), editor()), Commands: p.Commands,
			Log: func(id string) (string, error) { return p.Engine.Log(id) },
		}),
		githost.Routes(p.GitHosts),
		p.Cookies.Routes(),
		workspaces.Routes(p.Workspaces),
	)
}

// Listed is a route in a list for people.
type Listed struct{ Method, Path, Summary string }

// List returns all routes, those that are not served included.
func (h *Handler) List() []Listed {
	all := slices.Concat(h.cfg.Routes, missing())
	list := make([]Listed, 0, len(all))
	for _, route := range slices.Concat(all, documents(all), h.cfg.Open) {
		list = append(list, Listed{route.Method, route.Path, route.Summary})
	}
	for name := range h.cfg.Sockets {
		list = append(list, Listed{"GET", "/sockets/" + name + "/", "A WebSocket"})
	}
	return list
}
