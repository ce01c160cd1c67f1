package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/oneline"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/truncate"
)

// host is the conversation as its tools see it; see [Host].
type host struct{ *Conversation }

// Notice adds a notice for the model and the person to the next message.
func (h host) Notice(text string) {
	// A conversation that is closed gets no next message.
	_ = h.door.try(context.Background(), func() error { h.notices.add(text); return nil })
}

// SkillInvoked records that the model has read a skill.
func (h host) SkillInvoked(ctx context.Context, name string) error {
	return h.door.try(ctx, func() error {
		h.branch.invoked(name)
		return nil
	})
}

// Recent collects what the last n messages with a text say, those of people and of
// agents, in the form in which OpenHands shows them to another model. What tools did is
// not part of it.
func (h host) Recent(ctx context.Context, n int) (string, error) {
	var messages []string
	err := h.door.try(ctx, func() error {
		for i := h.branch.dir.Len() - 1; i >= 0 && len(messages) < n; i-- {
			e, _, _, err := h.branch.dir.From(i).Next()
			if err != nil {
				return h.branch.storageError(err)
			}
			m, ok := e.Body.(*event.Message)
			if !ok {
				continue
			}
			if text := strings.TrimSpace(spelled(m.LLMMessage.Content)); text != "" {
				messages = append(messages, string(e.Source)+": "+text)
			}
		}
		return nil
	})
	slices.Reverse(messages)
	return h.cfg.Secrets.Mask(strings.Join(messages, "\n")), err
}

// Consult asks a model something that is not part of the conversation. Its tokens and its
// cost are the conversation's, under the key of the choice. The error is for the agent.
func (h host) Consult(ctx context.Context, choice Choice, system, user string) (string, error) {
	model, err := h.cfg.Models.Model(ctx, choice)
	if err != nil {
		return "", err
	}
	req := llm.Request{Messages: []event.LLMMessage{message("system", texts(system)), message("user", texts(user))}, CacheKey: h.branch.id}
	resp, err := call(ctx, model, req, nil)
	counted := h.door.try(context.WithoutCancel(ctx), func() error { h.branch.spent(model, &resp, err); return nil })
	if err != nil {
		return "", consultError(ctx, err)
	}
	return h.cfg.Secrets.Mask(plainText(resp.Message.Content)), counted
}

// Blocked tells the model and those who watch what a box has refused. A name or a
// path may have the value of a secret in it.
func (h host) Blocked(b sandbox.Block) { h.live.blocked(b) }

// ExplainPaths says how to find out whether a path is refused.
func (h host) ExplainPaths(explain func(path string) (sandbox.Block, bool)) {
	h.live.explainBy(explain)
}

// ReplaceMCP offers other tools in the place of those of MCP servers from the
// next step on.
func (h host) ReplaceMCP(tools []tool.Tool) { h.agent.mcp.Store(&tools) }

// Vision reports whether the model is shown images.
func (h host) Vision() bool { return h.agent.vision.Load() }

// maxProgress is how much of a line of progress is shown, in characters.
const maxProgress = 400

// Progress tells those who watch a line about what a tool is doing. The log does not
// have it. Its indentation stays, and control characters do not: a model or a workspace may
// have written them.
func (h host) Progress(line string) {
	text := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(text)]
	masked := indent + truncate.Within(oneline.Of(h.cfg.Secrets.Mask(text)), maxProgress, "…")
	_ = h.door.try(context.Background(), func() error { // it does not matter to a conversation that has ended
		h.live.update(event.KeyProgress, masked)
		return nil
	})
}

// Spent replaces what the statistics have under a key by the sum of others: those of
// a conversation that belongs to this one.
func (h host) Spent(ctx context.Context, key string, s event.Stats) error {
	return h.door.try(ctx, func() error {
		h.branch.spentElsewhere(key, s)
		return nil
	})
}

// Meter limits the runs of sub-agents to what is left of the run, in which they share.
func (h host) Meter(ctx context.Context) (m agentapi.Meter, err error) {
	err = h.door.try(ctx, func() error { m = h.purse.OfTask(); return nil })
	return m, err
}

// Stored is the state as it is stored.
func (h host) Stored(ctx context.Context) (s store.State, err error) {
	err = h.door.try(ctx, func() error { s = h.branch.dir.State.Clone(); return nil })
	return s, err
}

// spelled is a message's content as text, in which pictures are only told of.
func spelled(content []event.Content) string {
	var lines []string
	for _, item := range content {
		switch {
		case len(item.ImageURLs) > 0:
			lines = append(lines, fmt.Sprintf("[Image: %d URLs]", len(item.ImageURLs)))
		case item.Text != "":
			lines = append(lines, item.Text)
		}
	}
	return strings.Join(lines, "\n")
}

func consultError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	why := "its LLM cannot be used"
	if e, ok := errors.AsType[*llm.Error](err); ok {
		why = e.Detail
	}
	return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: why, Err: err, InProcess: true}
}
