package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/confirm"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
)

// Append takes a message into the log.
func (s Controlled) Append(ctx context.Context, m control.Message, run bool) error {
	return s.explain(s.of.Conv.Append(ctx, m.Content, m.Sender, run))
}

// Run starts a run.
func (s Controlled) Run(ctx context.Context) error { return s.explain(s.of.Conv.Run(ctx)) }

// Pause ends the run after the step in flight, or keeps an idle conversation from
// being run.
func (s Controlled) Pause(ctx context.Context) error {
	return s.explain(s.of.Conv.Suspend(ctx))
}

// Interrupt ends the run at once, and waits a while for that.
func (s Controlled) Interrupt(ctx context.Context) error {
	return s.explain(s.of.Conv.Halt(ctx))
}

// SetPolicy replaces the confirmation policy.
func (s Controlled) SetPolicy(ctx context.Context, policy json.RawMessage) error {
	parsed, err := confirm.ParsePolicy(policy)
	if err != nil {
		return agentapi.InProcess(apierr.Refused(apierr.Sentence(err), err))
	}
	return s.explain(s.of.Conv.SetPolicy(ctx, parsed))
}

// SetAnalyzer replaces the security analyzer.
func (s Controlled) SetAnalyzer(ctx context.Context, analyzer json.RawMessage) error {
	parsed, err := parseAnalyzer(analyzer)
	if err != nil {
		return err
	}
	return s.explain(s.of.Conv.SetAnalyzer(ctx, parsed))
}

// parseAnalyzer reads a security analyzer that a client sends; see
// [confirm.ParseAnalyzer].
func parseAnalyzer(analyzer json.RawMessage) (json.RawMessage, error) {
	parsed, err := confirm.ParseAnalyzer(analyzer)
	switch {
	case errors.Is(err, confirm.ErrElsewhere):
		return nil, agentapi.InProcess(&agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: apierr.Sentence(err)})
	case err != nil:
		return nil, agentapi.InProcess(apierr.Refused(apierr.Sentence(err), err))
	}
	return parsed, nil
}

// AddSecrets adds or replaces secrets. Their values are sealed in the base state.
func (s Controlled) AddSecrets(ctx context.Context, sources map[string]json.RawMessage) error {
	values, err := secretsOf(sources)
	if err != nil {
		return agentapi.InProcess(apierr.Refused(apierr.Sentence(err), err))
	}
	registry := secretenv.New(secretenv.Config{HTTP: s.cfg.HTTP, Now: s.cfg.Now})
	registry.Set(values)
	data, err := registry.Encode(s.cfg.Seal)
	if err != nil {
		return agentapi.InProcess(apierr.Refused("The secrets cannot be encrypted; check OH_SECRET_KEY.", err))
	}
	var stored struct {
		Sources map[string]json.RawMessage `json:"secret_sources"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	return s.explain(s.of.Conv.AddSecrets(ctx, conversation.Secrets{
		Values: values, Stored: stored.Sources,
		Added: func(registry json.RawMessage) {
			s.of.Prompt.SetSecrets(storedagent.SecretNames(registry))
			if s.cfg.Seal == nil {
				s.cfg.Vault.KeepSecrets(s.of.Info.ID, values)
			}
		},
	}))
}

// secretsOf reads the sources of secrets that a client sends. Those without a value
// are left out.
func secretsOf(sources map[string]json.RawMessage) (map[string]secretenv.Secret, error) {
	values := make(map[string]secretenv.Secret, len(sources))
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		s, err := secretenv.Parse(sources[name])
		if errors.Is(err, secretenv.ErrNoValue) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the secret %s cannot be used: %w", name, err)
		}
		values[name] = s
	}
	return values, nil
}

// Ask asks the model a question about the conversation.
func (s Controlled) Ask(ctx context.Context, question string) (string, error) {
	answer, err := s.of.Conv.Ask(ctx, question)
	return answer, s.explain(err)
}

// Navigate makes an event the one that the next one is appended to.
func (s Controlled) Navigate(ctx context.Context, eventID string) error {
	err := s.of.Conv.Navigate(ctx, eventID)
	if errors.Is(err, store.ErrNoEvent) {
		return control.ErrNoEvent
	}
	return s.explain(err)
}

// StartGoal runs the agent until its objective is reached.
func (s Controlled) StartGoal(ctx context.Context, objective string, iterations int) error {
	return s.explain(s.of.Conv.StartGoal(ctx, objective, iterations))
}

// StopGoal ends the goal; a run that goes on is left to its end.
func (s Controlled) StopGoal(ctx context.Context) error {
	return s.explain(s.of.Conv.StopGoal(ctx))
}

// ResumeGoal goes on.
func (s Controlled) ResumeGoal(ctx context.Context) error {
	return s.explain(s.of.Conv.ResumeGoal(ctx))
}

// SetTags changes the tags of the conversation; see [conversation.Conversation.SetTags].
func (s *Session) SetTags(ctx context.Context, change func(now map[string]string) (all, shown map[string]string)) error {
	return s.of.Conv.SetTags(ctx, change)
}
