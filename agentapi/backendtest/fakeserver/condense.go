package fakeserver

import (
	"encoding/json"
	"net/http"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// condense replaces all that was said by a summary of the model. Unlike the real
// server it says 500 also where its version would say 409.
func (s *Server) condense(w http.ResponseWriter, r *http.Request, c *conversation) {
	if err := c.hold(r.Context()); err != nil {
		return
	}
	defer c.release()
	c.mu.Lock()
	settings, _ := c.agent["condenser"].(map[string]any)
	if settings["enabled"] == false {
		c.mu.Unlock()
		refuse(w, 500, "Cannot condense conversation: No condenser configured.")
		return
	}
	c.append(event.SourceEnvironment, &event.CondensationRequest{})
	model, known := c.llm, c.messages()[1:]
	gone := make([]string, 0, len(c.log))
	for _, e := range c.log {
		switch e.Body.(type) {
		case *event.Message, *event.Action, *event.Observation, *event.AgentError, *event.UserReject:
			gone = append(gone, e.ID)
		}
	}
	c.mu.Unlock()
	text, _ := json.Marshal(known) // they came as JSON
	prompt := Prompt{Model: model.Model, BaseURL: model.BaseURL, Key: model.Key, Messages: []Message{
		{Role: "user", Content: []event.Content{event.Text("Summarize: " + string(text))}},
	}}
	reply, err := s.opts.Model(r.Context(), prompt, func(string) {})
	if err != nil {
		refuse(w, 500, err.Error())
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count("condenser", model.Model, reply.Usage)
	at := 0
	c.append(event.SourceEnvironment, &event.Condensation{
		ForgottenEventIDs: gone, Summary: &reply.Text, SummaryOffset: &at, LLMResponseID: "chatcmpl-" + uuid.New(),
	})
	c.stat()
	c.save()
	done(w)
}
