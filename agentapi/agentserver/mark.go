package agentserver

import (
	"context"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
)

// Mark is what is noted with a conversation.
type Mark struct {
	Profile string  // of its LLM
	System  *string // the text that its system prompt ends with; nil: what was noted stays
	Title   string  // "": the title stays
}

// Mark notes with a conversation that another client has started what Open would have
// noted. The server keeps the note in the tags, where Open finds it.
func (b *Backend) Mark(ctx context.Context, id string, m Mark) error {
	known, err := b.describe(ctx, id)
	if gone(err) {
		return conversationNotFound(id, err)
	}
	if err != nil {
		return b.fault(ctx, "describe the conversation", err)
	}
	in := struct {
		Tags  tags   `json:"tags"`
		Title string `json:"title,omitempty"`
	}{known.Tags, m.Title}
	if m.Profile != "" {
		in.Tags = withProfile(known.Tags, m.Profile, known.Agent.LLM.UsageID)
	}
	if m.System != nil {
		in.Tags[tagSystem] = systemMark(*m.System)
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err = b.client.do(limited, request{method: http.MethodPatch, path: conversationPath(id), in: in})
	return b.fault(ctx, "note what the conversation is for", err)
}

// SendFirst sends the first message of a conversation whose LLM the caller sets. It calls
// set between the message and its run, where a server begins to count what an LLM takes.
// If set returns an error, nothing runs.
func (b *Backend) SendFirst(ctx context.Context, id string, m agentapi.Message, set func(context.Context) error) error {
	info, err := b.info(ctx)
	if err != nil {
		return err
	}
	c := &conversation{backend: b, version: info.version, info: agentapi.Info{ID: id}}
	if err := c.say(ctx, m, false); err != nil {
		return err
	}
	if err := set(ctx); err != nil {
		return err
	}
	return c.run(ctx)
}
