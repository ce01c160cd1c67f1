package acp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/jsonrpc"
	"github.com/ohgw/ohgw/internal/truncate"
)

// modeDefault is the mode of a session that changes nothing: its actions wait as
// the gateway or OpenHands' settings say.
const modeDefault = "default"

// modes are the modes of a session, the lowest first.
var modes = []mode{
	{modeDefault, "Default", "Actions wait for confirmation as ohgw and OpenHands are set up"},
	{string(gateway.ConfirmNever), "Never ask", "No action waits for confirmation"},
	{string(gateway.ConfirmRisky), "Ask for risky actions", "Actions that the model rates as risky wait for confirmation"},
	{string(gateway.ConfirmAlways), "Always ask", "Every action waits for confirmation"},
}

// The options that a session has.
const (
	optionMode  = "mode"
	optionModel = "model"
)

// choices are what a session can be set to.
type choices struct {
	modes  []mode
	models []gateway.Model
}

// choose asks the gateway what a new session can be set to, and sets it to the
// defaults.
func (a *Agent) choose(ctx context.Context, endpoint gateway.Endpoint, s *session) error {
	models, err := endpoint.Models(ctx)
	if err != nil {
		return a.problem(ctx, err)
	}
	if s.model = a.cfg.Model; s.model == "" {
		s.model = gateway.Preferred(models)
	}
	if s.model == "" {
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "there is no model yet; run ohgw in a terminal to set one up")
	}
	s.can.models = slices.DeleteFunc(models, func(m gateway.Model) bool { return m.Plain && m.ID != s.model })
	if !slices.ContainsFunc(s.can.models, func(m gateway.Model) bool { return m.ID == s.model }) {
		s.can.models = append(s.can.models, gateway.Model{ID: s.model})
	}
	s.mode = modeDefault
	current, lower := a.cfg.Confirmation(ctx)
	s.can.modes = modes
	if current != "" {
		s.mode = string(current)
		s.can.modes = modes[1:]
	}
	if !lower {
		lowest := slices.IndexFunc(s.can.modes, func(m mode) bool { return m.ID == s.mode })
		s.can.modes = s.can.modes[max(0, lowest):]
	}
	return nil
}

// modeState are the modes in the older form of the protocol.
func (s *session) modeState() *modeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &modeState{Current: s.mode, Available: s.can.modes}
}

// options lists the settings of the session with their values.
func (s *session) options() []option {
	s.mu.Lock()
	defer s.mu.Unlock()
	mode := option{ID: optionMode, Name: "Confirmation", Category: optionMode, Type: "select", Current: s.mode}
	for _, m := range s.can.modes {
		mode.Options = append(mode.Options, optionValue{m.ID, m.Name, m.Description})
	}
	model := option{ID: optionModel, Name: "Model", Category: optionModel, Type: "select", Current: s.model}
	for _, m := range s.can.models {
		name := m.Name
		if name == "" {
			name = m.ID
		}
		model.Options = append(model.Options, optionValue{m.ID, name, m.Description})
	}
	return []option{mode, model}
}

// setMode is a request of editors that know the older form.
func (a *Agent) setMode(_ context.Context, p setModeParams) (any, jsonrpc.Work, error) {
	s, err := a.need(p.Session)
	if err != nil {
		return nil, nil, err
	}
	if err := s.set(optionMode, p.Mode); err != nil {
		return nil, nil, err
	}
	return struct{}{}, nil, a.conn.Notify(methodUpdate, notification{s.id, optionsUpdate{"config_option_update", s.options()}})
}

// setOption sets the confirmation mode or the model, from the next prompt on.
func (a *Agent) setOption(_ context.Context, p setOptionParams) (any, jsonrpc.Work, error) {
	s, err := a.need(p.Session)
	if err != nil {
		return nil, nil, err
	}
	var value string
	if json.Unmarshal(p.Value, &value) != nil {
		return nil, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "value is not a string")
	}
	if err := s.set(p.Option, value); err != nil {
		return nil, nil, err
	}
	if p.Option == optionMode {
		err = a.conn.Notify(methodUpdate, notification{s.id, modeUpdate{"current_mode_update", value}})
	}
	return optionsResult{s.options()}, nil, err
}

// set sets an option.
func (s *session) set(id, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch id {
	case optionMode:
		if !slices.ContainsFunc(s.can.modes, func(m mode) bool { return m.ID == value }) {
			return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the mode %q cannot be chosen here", truncate.Bytes(value, 40, "…"))
		}
		s.mode, s.confirmation = value, gateway.Confirmation(value)
		if value == modeDefault {
			s.confirmation = ""
		}
	case optionModel:
		if !slices.ContainsFunc(s.can.models, func(m gateway.Model) bool { return m.ID == value }) {
			return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no model %q", truncate.Bytes(value, 100, "…"))
		}
		s.model = value
	default:
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no option %q", truncate.Bytes(id, 40, "…"))
	}
	return nil
}
