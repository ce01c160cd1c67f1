package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/routing"
	"github.com/ohgw/ohgw/internal/truncate"
)

// Router is a conversation whose model a meta-profile chooses.
type Router interface {
	Switcher
	// MetaProfile is the meta-profile as it is now. The error is shown to the model.
	MetaProfile() (*routing.Router, error)
	// Recent is what was said last, as text; "" if nothing was.
	Recent(ctx context.Context) (string, error)
	// Classify asks the LLM of a profile. The error is shown to the model: no key may be
	// in it.
	Classify(ctx context.Context, profile, system, user string) (answer string, err error)
}

// RouteName is the name of the tool that has a meta-profile choose the model.
const RouteName = "route_task_to_model"

const (
	routeKind = "ClassifyAndSwitchLLMObservation"
	unchanged = "The model stays the same."
	// maxReply is how much of an answer without a choice the model is told, in bytes.
	maxReply = 200
)

// RouteTask makes the tool that has a meta-profile choose the model that goes on. Where
// the choice fails, the model stays the same and gets the reason.
func RouteTask(r Router) tool.Tool {
	return simple{
		def: tool.Definition{
			Name: RouteName,
			Description: "Has the model chosen that fits the task best, and hands this conversation over to it. " +
				"A small model reads the last messages, picks one of the kinds of tasks in the user's meta-profile, and with it an LLM profile, " +
				"which makes the next step. Call it when a task begins, or when the task has become another one. It takes no arguments.",
			Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
			ActionKind: "ClassifyAndSwitchLLMAction", ObservationKind: routeKind, Kind: "ClassifyAndSwitchLLMTool",
			Annotations: &tool.Annotations{Title: RouteName},
		},
		locks: func(json.RawMessage) []string { return nil },
		run:   func(ctx context.Context, _ json.RawMessage) (tool.Result, error) { return route(ctx, r) },
	}
}

// routed are the members of an observation besides its text.
type routed struct {
	Class   string `json:"chosen_class,omitempty"`
	Profile string `json:"model,omitempty"`
	Model   string `json:"active_model,omitempty"`
}

func (f routed) result(failed bool, text string) (tool.Result, error) {
	return tool.NewResult(routeKind, []event.Content{event.Text(text)}, failed, f)
}

func route(ctx context.Context, r Router) (tool.Result, error) {
	var chosen routed
	meta, err := r.MetaProfile()
	if err != nil {
		return chosen.result(true, fmt.Sprintf("No model can be chosen: %v. %s", err, unchanged))
	}
	if chosen.Profile, chosen.Class, err = classify(ctx, r, meta); err != nil {
		if ctx.Err() != nil {
			return tool.Result{}, ctx.Err()
		}
		return chosen.result(true, fmt.Sprintf("No model was chosen: %v. %s", err, unchanged))
	}
	model, why, err := handOver(ctx, r, chosen.Profile)
	switch {
	case err != nil:
		return tool.Result{}, err
	case why != "":
		return chosen.result(true, why)
	}
	chosen.Model = model
	return chosen.result(false, fmt.Sprintf("The task is of the kind %q. From the next step on the profile %q is used, with the model %s.",
		chosen.Class, chosen.Profile, model))
}

// classify asks for the profile that a meta-profile chooses, and the kind of the task.
func classify(ctx context.Context, r Router, meta *routing.Router) (profile, class string, err error) {
	names, err := r.Profiles()
	if err != nil {
		return "", "", fmt.Errorf("the profiles cannot be read: %w", err)
	}
	recent, err := r.Recent(ctx)
	if err != nil {
		return "", "", err
	}
	if strings.TrimSpace(recent) == "" {
		recent = "(Nothing was said yet.)"
	}
	system, user := meta.Question("The last messages:\n" + recent)
	answer, err := r.Classify(ctx, meta.Classifier, system, user)
	if err != nil {
		return "", "", err
	}
	profile, class = meta.Choice(answer, names)
	switch {
	case profile == "":
		return "", "", fmt.Errorf("the answer of the profile %q stands for none of them: %q; call the tool again, or change the meta-profile",
			meta.Classifier, truncate.Head(answer, maxReply))
	case class == "" && meta.Template != "":
		class = "model: " + profile
	}
	return profile, class, nil
}
