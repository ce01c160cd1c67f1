package agents

import (
	"log/slog"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/native"
	"github.com/ohgw/ohgw/daemon/native/conversations"
	"github.com/ohgw/ohgw/daemon/native/probes"
	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/setup"
)

// nativeAPI serves OpenHands' own API over the engine in this process.
func nativeAPI(env *setup.Env, engine control.Engine, log *slog.Logger) daemon.Native {
	var routes []wire.Route
	routes = append(routes, probes.Routes(probes.Config{Now: env.Now})...)
	routes = append(routes, conversations.Routes(conversations.Config{Engine: engine, Logger: log})...)
	return native.New(native.Config{Routes: routes, Logger: log})
}
