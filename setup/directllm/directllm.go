// Package directllm asks the LLM of a profile a small question without an agent, whatever
// backend runs the agents: one attempt and a short answer. It finds no profile and no key.
package directllm

import (
	"context"
	"errors"
	"log/slog"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/setup"
)

// LLM asks the LLM of a profile once.
type LLM struct {
	Base llm.Config // what all profiles have in common
	// Load gives the profile with its key.
	Load func(ctx context.Context, profile string, base llm.Config) (llm.Config, error)
}

// Config is what all LLMs have in common with these settings.
func Config(env *setup.Env, s *config.Settings, log *slog.Logger) llm.Config {
	return llm.Config{
		HTTP: llm.NewHTTPClient(env.Getenv), Getenv: env.Getenv, Now: env.Now, Logger: log, UserAgent: "ohgw/" + buildinfo.Get().Version,
		Windows: new(window.Book), AllowRepetition: s.Repetition == "allow",
	}
}

// OfServer are the LLMs of an agent-server's profiles. It has no call without
// an agent, so that is made from here.
func OfServer(b *agentserver.Backend) func(context.Context, string, llm.Config) (llm.Config, error) {
	return func(ctx context.Context, profile string, cfg llm.Config) (llm.Config, error) {
		stored, err := b.DirectLLM(ctx, profile)
		if err != nil {
			return cfg, err
		}
		cfg.Profile, err = llm.ParseProfile([]byte(stored.Reveal()))
		return cfg, err
	}
}

// Complete implements [completions.CompleteFunc].
func (p *LLM) Complete(ctx context.Context, prompt completions.Prompt) (completions.Completion, error) {
	cfg, err := p.Load(ctx, prompt.Profile, p.Base)
	if err != nil {
		return completions.Completion{}, cannotAsk(ctx, err)
	}
	model, err := llm.New(Brief(cfg, prompt.MaxTokens))
	if err != nil {
		return completions.Completion{}, cannotAsk(ctx, err)
	}
	messages := make([]event.LLMMessage, 0, len(prompt.Messages))
	for _, m := range prompt.Messages {
		messages = append(messages, event.LLMMessage{Role: m.Role, Content: []event.Content{event.Text(m.Text)}})
	}
	answer, err := model.Generate(ctx, llm.Request{Messages: messages}, nil)
	if err != nil {
		return completions.Completion{}, cannotAsk(ctx, err)
	}
	u := answer.Usage
	return completions.Completion{Text: event.PlainText(answer.Message.Content), Usage: turn.Usage{
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, CachedTokens: u.CacheReadTokens,
		CacheWriteTokens: u.CacheWriteTokens, ReasoningTokens: u.ReasoningTokens, Cost: answer.Cost,
	}}, nil
}

// Brief is a profile for a small question: one attempt, a short answer, as
// little thinking as the model can do with.
func Brief(cfg llm.Config, maxTokens int64) llm.Config {
	p := &cfg.Profile
	if p.MaxOutputTokens == nil || *p.MaxOutputTokens > maxTokens {
		p.MaxOutputTokens = &maxTokens
	}
	p.NumRetries, p.FallbackStrategy, p.ExtendedThinkingBudget = 1, nil, nil
	if p.ReasoningEffort != nil && *p.ReasoningEffort != "" {
		low := "low"
		p.ReasoningEffort = &low
	}
	return cfg
}

// cannotAsk returns err as an error of the seam. Its cause, which goes into logs, never
// quotes the prompt.
func cannotAsk(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[*agentapi.Error](err); ok {
		return err
	}
	msg := "The LLM of this profile cannot be called; run ohgw profiles check."
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		msg = "The model's provider failed (" + failed.Code + "): " + failed.Detail
		err = errors.New(failed.Code) // the detail may quote the prompt, and the cause is for logs
	}
	return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: msg, Err: err}
}
