package view

import (
	"strconv"

	"github.com/ohgw/ohgw/agentapi/event"
)

// refusedPicture stands in the place of pictures that are hidden.
const refusedPicture = "that was here was refused by the model's provider, and you cannot see it.]"

// Picture is an event with pictures that the model is shown.
type Picture struct {
	ID string // of the event
	// Answered says that the agent has said something since.
	Answered bool
}

// Hide takes the pictures of these events out of what the model is shown; a
// sentence stands in their place. It replaces the set of an earlier call.
func (v *View) Hide(ids map[string]bool) { v.hidden = ids }

// Pictures are the events whose pictures the model is shown, in order.
func (v *View) Pictures() []Picture {
	var found []Picture
	for _, it := range v.items {
		switch {
		case isAnswer(it.event):
			for i := range found {
				found[i].Answered = true
			}
		case it.weight.Images > 0 && !v.hidden[it.event.ID]:
			found = append(found, Picture{ID: it.event.ID})
		}
	}
	return found
}

// isAnswer reports whether an event is something that a model said.
func isAnswer(e event.Event) bool {
	switch b := e.Body.(type) {
	case *event.Action:
		return true
	case *event.Message:
		return b.LLMMessage.Role == "assistant"
	}
	return false
}

// without returns the content of an item. Where it is hidden, its pictures are not
// there.
func (it *item) without(hidden map[string]bool) []event.Content {
	if it.weight.Images == 0 || !hidden[it.event.ID] {
		return it.content
	}
	content := make([]event.Content, 0, len(it.content))
	for _, c := range it.content {
		switch n := len(c.ImageURLs); n {
		case 0:
		case 1:
			c = event.Text("[A picture " + refusedPicture)
		default:
			c = event.Text("[Each of " + strconv.Itoa(n) + " pictures " + refusedPicture)
		}
		content = append(content, c)
	}
	return content
}
