package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/builtin"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/routing"
)

// recentMessages is how many messages an LLM that chooses is shown, as in OpenHands.
const recentMessages = 6

// router is the conversation as the tool route_task_to_model sees it. The meta-profile is
// read when it is called: one that is missing is an error of the tool.
type router struct {
	switcher

	params storedagent.RouteParams
	find   func(name string, inline []byte) (*routing.Router, error)
}

func (m *maker) router(ctx context.Context, params storedagent.RouteParams) tool.Tool {
	return builtin.RouteTask(router{switcher{ctx, m.env}, params, m.cfg.Router})
}

func (m *maker) routerOf(ctx context.Context, raw json.RawMessage) (tool.Tool, error) {
	var params storedagent.RouteParams
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &params); err != nil {
			return nil, fault.New("the parameters of the agent's tool "+builtin.RouteName+" cannot be read", "start a conversation whose agent has others", err)
		}
	}
	return m.router(ctx, params), nil
}

func (r router) MetaProfile() (*routing.Router, error) {
	if r.find == nil {
		return nil, errors.New("there is no meta-profile")
	}
	return r.find(r.params.Active, r.params.Meta)
}

func (r router) Recent(ctx context.Context) (string, error) {
	return r.env.Host.Recent(ctx, recentMessages)
}

func (r router) Classify(ctx context.Context, profile, system, user string) (string, error) {
	return r.env.Host.Consult(ctx, r.params.Classifier(profile), system, user)
}

// Profiles are those of the user and the agent's own, in order.
func (r router) Profiles() ([]string, error) {
	names, err := r.switcher.Profiles()
	names = slices.AppendSeq(slices.Clone(names), maps.Keys(r.params.LLMs))
	slices.Sort(names)
	return slices.Compact(names), err
}

func (r router) SwitchLLM(ctx context.Context, profile string) (string, error) {
	if _, own := r.params.LLMs[profile]; own {
		return r.env.SwitchOwn(ctx, profile)
	}
	return r.switcher.SwitchLLM(ctx, profile)
}
