package agents

import (
	"log/slog"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/native"
	"github.com/ohgw/ohgw/daemon/native/conversations"
	"github.com/ohgw/ohgw/daemon/native/probes"
	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/setup"
)

// nativeParts are what OpenHands' own API is made of.
type nativeParts struct {
	env    *setup.Env
	engine control.Engine
	boxes  *manager.Manager
	home   string // of the user
	log    *slog.Logger
}

// nativeAPI serves OpenHands' own API over the engine in this process.
func nativeAPI(p nativeParts) daemon.Native {
	var routes []wire.Route
	routes = append(routes, probes.Routes(probes.Config{Now: p.env.Now, Tools: toolset.Names()})...)
	routes = append(routes, conversations.Routes(conversations.Config{Engine: p.engine, Logger: p.log})...)
	routes = append(routes, catalogueRoutes(p.env, p.home, boxesOf(p.boxes))...)
	return native.New(native.Config{Routes: routes, Logger: p.log})
}
