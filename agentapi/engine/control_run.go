package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/confirm"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// Append takes a message into the log.
func (c controlledConversation) Append(ctx context.Context, m control.Message, run bool) error {
	return c.explain(c.conv.Append(ctx, m.Content, m.Sender, run))
}

// Run starts a run.
func (c controlledConversation) Run(ctx context.Context) error { return c.explain(c.conv.Run(ctx)) }

// Pause ends the run after the step in flight, or keeps an idle conversation from
// being run.
func (c controlledConversation) Pause(ctx context.Context) error {
	return c.explain(c.conv.Suspend(ctx))
}

// Interrupt ends the run at once, and waits a while for that.
func (c controlledConversation) Interrupt(ctx context.Context) error {
	return c.explain(c.conv.Halt(ctx))
}

// SetPolicy replaces the confirmation policy.
func (c controlledConversation) SetPolicy(ctx context.Context, policy json.RawMessage) error {
	parsed, err := confirm.ParsePolicy(policy)
	if err != nil {
		return agentapi.InProcess(apierr.Refused(sentence(err), err))
	}
	return c.explain(c.conv.SetPolicy(ctx, parsed))
}

// SetAnalyzer replaces the security analyzer.
func (c controlledConversation) SetAnalyzer(ctx context.Context, analyzer json.RawMessage) error {
	parsed, err := parseAnalyzer(analyzer)
	if err != nil {
		return err
	}
	return c.explain(c.conv.SetAnalyzer(ctx, parsed))
}

// parseAnalyzer reads a security analyzer that a client sends; see
// [confirm.ParseAnalyzer].
func parseAnalyzer(analyzer json.RawMessage) (json.RawMessage, error) {
	parsed, err := confirm.ParseAnalyzer(analyzer)
	switch {
	case errors.Is(err, confirm.ErrElsewhere):
		return nil, agentapi.InProcess(&agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: sentence(err)})
	case err != nil:
		return nil, agentapi.InProcess(apierr.Refused(sentence(err), err))
	}
	return parsed, nil
}

// AddSecrets adds or replaces secrets. Their values are sealed in the base state.
func (c controlledConversation) AddSecrets(ctx context.Context, sources map[string]json.RawMessage) error {
	values, err := secretsOf(sources)
	if err != nil {
		return agentapi.InProcess(apierr.Refused(sentence(err), err))
	}
	registry := secretenv.New(secretenv.Config{HTTP: c.backend.cfg.HTTP, Now: c.backend.cfg.Now})
	registry.Set(values)
	data, err := registry.Encode(c.backend.cfg.Seal)
	if err != nil {
		return agentapi.InProcess(apierr.Refused("The secrets cannot be encrypted; check OH_SECRET_KEY.", err))
	}
	var stored struct {
		Sources map[string]json.RawMessage `json:"secret_sources"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	words, _ := c.backend.table.opened(c.info.ID)
	return c.explain(c.conv.AddSecrets(ctx, conversation.Secrets{
		Values: values, Stored: stored.Sources,
		Added: func(registry json.RawMessage) {
			if words != nil {
				words.SetSecrets(secretNames(registry))
			}
			if c.backend.cfg.Seal == nil {
				c.backend.vault.KeepSecrets(c.info.ID, values)
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
func (c controlledConversation) Ask(ctx context.Context, question string) (string, error) {
	answer, err := c.conv.Ask(ctx, question)
	return answer, c.explain(err)
}

// Navigate makes an event the one that the next one is appended to.
func (c controlledConversation) Navigate(ctx context.Context, eventID string) error {
	err := c.conv.Navigate(ctx, eventID)
	if errors.Is(err, store.ErrNoEvent) {
		return control.ErrNoEvent
	}
	return c.explain(err)
}

// StartGoal runs the agent until its objective is reached.
func (c controlledConversation) StartGoal(ctx context.Context, objective string, iterations int) error {
	return c.explain(c.conv.StartGoal(ctx, objective, iterations))
}

// StopGoal ends the goal; a run that goes on is left to its end.
func (c controlledConversation) StopGoal(ctx context.Context) error {
	return c.explain(c.conv.StopGoal(ctx))
}

// ResumeGoal goes on.
func (c controlledConversation) ResumeGoal(ctx context.Context) error {
	return c.explain(c.conv.ResumeGoal(ctx))
}

// sentence is an error as a sentence.
func sentence(err error) string {
	text := []rune(err.Error())
	return strings.ToUpper(string(text[:1])) + string(text[1:]) + "."
}
