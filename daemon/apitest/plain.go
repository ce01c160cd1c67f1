package apitest

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/completions"
)

// TitlePrompt is what Open WebUI asks for the title of a chat.
const TitlePrompt = "### Task:\nGenerate a concise title.\n### Output:\nJSON format: { \"title\": \"your title\" }\n### Chat History:\n<chat_history>\nUSER: boil an egg\nASSISTANT: \n</chat_history>"

// Plain is an LLM that answers with what it is given, and keeps the prompts.
type Plain struct {
	Answer  string
	Err     error
	Prompts []completions.Prompt
}

// Complete implements [completions.CompleteFunc].
func (p *Plain) Complete(_ context.Context, prompt completions.Prompt) (completions.Completion, error) {
	p.Prompts = append(p.Prompts, prompt)
	return completions.Completion{Text: p.Answer, Usage: turn.Usage{PromptTokens: 7, CompletionTokens: 3, Cost: 0.5}}, p.Err
}

// Config makes p the LLM of a daemon.
func (p *Plain) Config(c *daemon.Config) { c.Complete = p.Complete }
