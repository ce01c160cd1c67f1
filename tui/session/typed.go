package session

import (
	"context"

	"github.com/ohgw/ohgw/internal/gateway"
)

// typedModel is a model as the user typed it, before there was a list to find it in.
type typedModel struct {
	name string
	find findFunc // Start.Find; nil after it was called
}

// findFunc is the type of Start.Find.
type findFunc = func(ctx context.Context, models []gateway.Model) (id string, err error)

// finder finds the model in a list; nil if it was found, or the user has chosen another one.
func (t *typedModel) finder(model string) findFunc {
	if model != t.name {
		return nil
	}
	return t.find
}

// found chooses the model after a list has come, and reports whether it is another one.
func (t *typedModel) found(msg ModelsMsg, model string) (now string, renamed bool) {
	if t.finder(model) == nil || msg.Found == "" && msg.Missing == nil {
		return model, false
	}
	t.find = nil // once is enough
	if msg.Missing != nil {
		return model, false
	}
	return msg.Found, msg.Found != model
}
