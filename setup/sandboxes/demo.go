package sandboxes

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/llm/demo"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
)

// The demo runs one command, which is ohgw's own. So it also runs on a machine
// without a sandbox; every other profile is refused there.

// scripted returns the profile that may run without a sandbox; "" if there is none. A
// sandbox that the user has asked for is not left out for the demo either.
func scripted(s *config.Settings) string {
	asked := s.Origin("sandbox.mode").Kind != config.FromDefault || s.Origin("sandbox.minimum").Kind != config.FromDefault
	if !s.Demo || asked {
		return ""
	}
	return demo.Name
}

// WhyDemoAlone explains why only the demo runs, with the ways out; nil if all profiles
// do.
func (b *Boxes) WhyDemoAlone() error {
	lacking := b.Lacking()
	if lacking == nil {
		return nil
	}
	return unavailable(b.Manager, lacking)
}

// unavailable explains why there is no box for a conversation, with the ways out.
func unavailable(m *manager.Manager, lacking *manager.LevelError) error {
	msg := "The sandbox of the agent cannot be made any more, so no agent runs: "
	if m.Lacking() != nil {
		msg = "There is no sandbox on this machine, so only the demo runs: "
	}
	return &agentapi.Error{Kind: agentapi.ErrSandbox, InProcess: true, Msg: msg + lacking.Status.Reason + ". Ways out: " + waysOut(lacking) + "."}
}

// Tools makes tools without the MCP servers of OpenHands' settings where only the demo
// runs: they are programs that are not ohgw's.
func (b *Boxes) Tools(all newTools) newTools {
	if b.Lacking() == nil {
		return all
	}
	return func(ctx context.Context, e engine.ToolEnv) ([]tool.Tool, error) {
		e.Servers = nil
		return all(ctx, e)
	}
}

type newTools = func(context.Context, engine.ToolEnv) ([]tool.Tool, error)

// DemoAlone reports whether that is the sandbox of an ohgw that runs the demo alone,
// because there is none.
func DemoAlone(st agentapi.SandboxStatus) bool {
	return st.Level == string(sandbox.Off) && st.Reason != ""
}
