package fakeserver

import (
	"maps"
	"net/http"
	"slices"

	"github.com/ohgw/ohgw/agentapi/event"
)

// fork copies a conversation up to an event: its HEAD, where none is named. As
// with the real server, the copy has no key.
func (s *Server) fork(l *life) func(http.ResponseWriter, *http.Request, *conversation) {
	return func(w http.ResponseWriter, r *http.Request, c *conversation) {
		var in struct {
			ID   string            `json:"id"`
			Tags map[string]string `json:"tags"`
			From string            `json:"from_event_id"`
		}
		if !decode(w, r, &in) {
			return
		}
		if s.conversation(in.ID) != nil {
			refuse(w, 409, "Conversation with id "+in.ID+" already exists")
			return
		}
		if c.hold(r.Context()) != nil {
			return
		}
		defer c.release()
		made := c.copyTo(l, in.ID, in.From)
		if made == nil {
			refuse(w, 404, "Unknown from_event_id: "+in.From)
			return
		}
		if in.Tags != nil {
			made.tags = in.Tags
		}
		made.save()
		s.mu.Lock()
		s.conversations[in.ID] = made
		s.mu.Unlock()
		answer(w, 201, made.saved)
	}
}

// copyTo makes a copy of c; nil if its log does not have the event.
func (c *conversation) copyTo(l *life, id, from string) *conversation {
	c.mu.Lock()
	defer c.mu.Unlock()
	model := c.llm
	model.Key = ""
	made := &conversation{
		id: id, server: c.server, workspace: c.workspace, policy: c.policy, analyzer: c.analyzer, life: l, turn: make(chan struct{}, 1),
		places: map[string]int{}, status: event.Idle, tags: maps.Clone(c.tags), agent: maps.Clone(c.agent), llm: model,
		llms: map[string]llm{model.UsageID: model}, stats: map[string]event.Metrics{}, subscribers: map[subscriber]struct{}{},
		log: slices.Clone(c.log), leaf: c.leaf, lastUser: c.lastUser,
	}
	if from != "" {
		at, known := c.places[from]
		if !known {
			return nil
		}
		made.log, made.leaf, made.lastUser = made.log[:at+1], from, ""
	}
	for i, e := range made.log {
		made.places[e.ID] = i
		if _, message := e.Body.(*event.Message); message && e.Source == event.SourceUser {
			made.lastUser = e.ID
		}
	}
	return made
}
