package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/llm/textcall"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/optional"
	"github.com/ohgw/ohgw/internal/truncate"
)

// prepare makes the call of a request: what this model is shown of the
// history, and how it is offered the tools. The request is not changed.
func (m *model) prepare(req Request) *wire.Call {
	c := &wire.Call{Model: m.route.model, Options: m.options}
	if m.takesCacheKey() {
		c.Options.CacheKey = req.CacheKey
	}
	c.Options.Session = req.CacheKey
	c.Options.Extra = m.cfg.Profile.ExtraBody.Reveal() // may hold a key
	for _, t := range req.Tools {
		if len(t.Parameters) == 0 {
			t.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		c.Tools = append(c.Tools, wire.Tool(t))
	}
	c.Messages = make([]event.LLMMessage, len(req.Messages))
	for i, msg := range req.Messages {
		c.Messages[i] = m.message(msg)
	}
	m.fitImages(c.Messages)
	if m.textTools(req) {
		c.Messages = textcall.Encode(c.Messages, c.Tools, m.features.exampleInHistory)
		c.Tools = nil
		if m.features.stopWords && !optional.Or(m.cfg.Profile.DisableStopWord, false) {
			c.Options.Stop = []string{textcall.Stop}
		}
	}
	if req.MaxOutput > 0 && (c.Options.MaxOutput == 0 || c.Options.MaxOutput > req.MaxOutput) {
		c.Options.MaxOutput = req.MaxOutput
	}
	m.fitBudget(c)
	return c
}

// textTools reports whether a request offers its tools in the text protocol.
func (m *model) textTools(req Request) bool {
	return !m.nativeTools() && (len(req.Tools) > 0 || wire.HasCalls(req.Messages))
}

// nativeTools reports whether the model is offered tools in the provider's way.
func (m *model) nativeTools() bool {
	return m.cfg.Profile.NativeToolCalling && !m.route.provider.noTools
}

// message converts a message for this model: without images that it cannot see, with
// short results and valid ids.
func (m *model) message(msg event.LLMMessage) event.LLMMessage {
	content := make([]event.Content, 0, len(msg.Content))
	unseen := false
	for _, c := range msg.Content {
		switch {
		case c.Type == event.TypeImage && !m.features.vision:
			unseen = true
			continue
		case c.Type == event.TypeImage:
			c.ImageURLs = relabelled(c.ImageURLs)
		case c.Type == event.TypeText && msg.Role == "tool":
			c.Text = ShortenResult(c.Text)
		}
		content = append(content, c)
	}
	if unseen && len(content) == 0 {
		content = append(content, event.Text(unseenImage))
	}
	msg.Content = content
	wire.Clean(&msg) // which copies the calls
	for i, tc := range msg.ToolCalls {
		msg.ToolCalls[i].ID, msg.ToolCalls[i].Name = m.callID(tc.ID), wire.CleanName(tc.Name)
	}
	if msg.ToolCallID != "" {
		msg.ToolCallID, msg.Name = m.callID(msg.ToolCallID), wire.CleanName(msg.Name)
	}
	return msg
}

const unseenImage = "[An image that this model cannot see.]"

// maxToolText bounds a text of a tool result, in characters.
const maxToolText = 50_000

// ShortenResult cuts the middle out of a text of a tool result that is too long
// for any model to be shown.
func ShortenResult(s string) string {
	n := utf8.RuneCountInString(s)
	if n <= maxToolText {
		return s
	}
	notice := fmt.Sprintf("\n[... %d characters left out ...]\n", n-maxToolText)
	half := (maxToolText - len(notice)) / 2
	return truncate.Head(s, half) + notice + truncate.Tail(s, half)
}

// callID converts the id of a tool call for this provider. Ids of other providers get
// into a history when its model is switched.
func (m *model) callID(id string) string {
	const (
		longest    = 64 // OpenAI's
		mistralLen = 9
	)
	if strings.Contains(m.route.model, "gemini") {
		return id // with its signature
	}
	id, _, _ = strings.Cut(id, wire.Separator)
	if m.route.provider.randomSeed && len(id) != mistralLen {
		return digest(id)[:mistralLen]
	}
	if len(id) > longest || m.features.claude && !plainID(id) {
		return digest(id)[:longest]
	}
	return id
}

// plainID reports whether Anthropic and Bedrock take an id.
func plainID(id string) bool {
	return !strings.ContainsFunc(id, func(r rune) bool {
		return r != '_' && r != '-' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
