package conversations

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// answer sends the last answer of the agent in the whole log, "" if there is none.
func (s *server) answer(w http.ResponseWriter, r *http.Request) error {
	id, err := wire.ConversationID(r)
	if err != nil {
		return err
	}
	q := control.EventQuery{EventFilter: control.EventFilter{Source: event.SourceAgent}, Limit: maxPage, Newest: true}
	text, found := "", false
	for !found {
		page, err := s.Engine.Search(r.Context(), id, q)
		if err != nil {
			return bare(err)
		}
		for _, raw := range page.Events {
			if text, found = answerIn(raw); found {
				break
			}
		}
		if page.Next == "" || page.Next == q.Page {
			break
		}
		q.Page = page.Next
	}
	wire.WriteJSON(w, http.StatusOK, map[string]string{"response": text})
	return nil
}

// answerIn reads the answer out of an event of the agent, by OpenHands' own rule.
func answerIn(raw json.RawMessage) (text string, found bool) {
	var e event.Event
	if json.Unmarshal(raw, &e) != nil {
		return "", false
	}
	switch b := e.Body.(type) {
	case *event.Action:
		if b.ToolName != "finish" {
			return "", false
		}
		var finish struct {
			Kind    string `json:"kind"`
			Message string `json:"message"`
		}
		if json.Unmarshal(b.Action, &finish) != nil || finish.Kind != "FinishAction" {
			return "", true // what was not understood ends the search
		}
		return finish.Message, true
	case *event.Message:
		var text strings.Builder
		for _, c := range b.LLMMessage.Content {
			if c.Type == event.TypeImage {
				text.WriteString("[Image: " + strconv.Itoa(len(c.ImageURLs)) + " URLs]")
			}
			text.WriteString(c.Text)
		}
		return text.String(), true
	}
	return "", false
}
