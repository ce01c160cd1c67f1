package conversation

import (
	"context"
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/engine/blocks"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
)

// telling is a tool whose results say what the box refused meanwhile.
type telling struct {
	tool.Tool

	live *live
}

// Run runs the tool. Blocks that came while a call failed are noted in the next result.
// So are those of the last call, because the model does not read its result.
func (t telling) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	result, err := t.Tool.Run(ctx, call)
	if err != nil || ctx.Err() != nil || t.Definition().Name == finishTool {
		return result, err
	}
	list := t.live.refused(result.Observation)
	if len(list) == 0 {
		return result, nil
	}
	noted, err := tool.WithNote(result, blocks.Text(list))
	if err != nil {
		t.live.cfg.Log.Error("note what the sandbox refused", "conversation", t.live.id, "err", err)
		return result, nil
	}
	return noted, nil
}

// refused is what the box has refused that the model has not been told yet, with what the
// result of a command shows of it.
func (l *live) refused(observation json.RawMessage) []event.Block {
	if explain := l.blocks.Explainer(); explain != nil {
		for _, block := range blocks.Hints(observation, explain) {
			l.blocked(block)
		}
	}
	return l.blocks.Take()
}
