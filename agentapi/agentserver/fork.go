package agentserver

import (
	"context"
	"errors"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
)

// Fork copies the conversation. The server gives the copy no key for its LLM,
// so that is handed over again, as for a change of the profile.
func (c *conversation) Fork(ctx context.Context, req agentapi.ForkRequest) (agentapi.Conversation, error) {
	b := c.backend
	switch {
	case c.version < sinceLeaf:
		return nil, unsupported("This agent-server is older than 1.31 and cannot copy a conversation up to an event.")
	case c.info.Profile == "":
		return nil, unsupported("The LLM profile of this conversation is not known, so a copy would have no key. Start a new conversation.")
	}
	known, err := b.describe(ctx, c.info.ID)
	if gone(err) {
		return nil, conversationNotFound(c.info.ID, err)
	}
	if err != nil {
		return nil, b.fault(ctx, "copy the conversation", err)
	}
	in := struct {
		ID   string `json:"id"`
		Tags tags   `json:"tags,omitempty"`
		From string `json:"from_event_id,omitempty"`
	}{req.ID, known.Tags, req.From}
	limited, cancel := context.WithTimeout(ctx, startTimeout) // it waits for the tool that runs
	defer cancel()
	var made conversationInfo
	_, err = b.client.do(limited, request{method: http.MethodPost, path: c.path() + "/fork", in: in, out: &made})
	if gone(err) && !c.exists(ctx) {
		return nil, conversationNotFound(c.info.ID, err)
	}
	if err != nil {
		return nil, b.fault(ctx, "copy the conversation", err)
	}
	info := c.info
	info.ID, info.Created = made.ID, true
	fork := &conversation{backend: b, version: c.version, info: info, counts: true}
	fork.uncounted.Store(true)
	if err := fork.handOver(ctx, info.Profile); err != nil {
		return nil, errors.Join(err, b.Remove(context.WithoutCancel(ctx), info.ID))
	}
	return fork, nil
}

// sendCounted sends the first message of a fork. A server counts for an LLM
// only what it was told of after its agent was set up, which the first message
// does; so the LLM is handed over once more between the message and the run.
// Where that fails, the numbers are missing, and nothing else.
func (c *conversation) sendCounted(ctx context.Context, m agentapi.Message) error {
	if err := c.say(ctx, m, false); err != nil {
		return err
	}
	c.count(ctx)
	return c.run(ctx)
}

// count hands the LLM of a fork over, between its first message and the run.
func (c *conversation) count(ctx context.Context) {
	if err := c.handOver(ctx, c.info.Profile); err != nil {
		c.backend.log.WarnContext(ctx, "cannot read the token counts of a copied conversation; they are not counted", "conversation_id", c.info.ID, "err", err)
	}
}

// exists reports whether the conversation is there: the server says 404 for an
// event that is not, too.
func (c *conversation) exists(ctx context.Context) bool {
	_, err := c.describe(ctx)
	return err == nil
}
