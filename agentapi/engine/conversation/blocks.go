package conversation

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/engine/blocks"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

// telling is a tool whose results say what the box refused meanwhile.
type telling struct {
	tool.Tool

	b *branch
}

// Run runs the tool. Blocks that came while a call failed are noted in the next result.
// So are those of the last call, because the model does not read its result.
func (t telling) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	result, err := t.Tool.Run(ctx, call)
	if err != nil || ctx.Err() != nil || t.Definition().Name == finishTool {
		return result, err
	}
	if explain := t.b.door.blocks.Explainer(); explain != nil {
		for _, block := range blocks.Hints(result.Observation, explain) {
			t.b.live.blocked(block)
		}
	}
	list := t.b.door.blocks.Take()
	if len(list) == 0 {
		return result, nil
	}
	noted, err := tool.WithNote(result, blocks.Text(list))
	if err != nil {
		t.b.cfg.Log.Error("note what the sandbox refused", "conversation", t.b.id, "err", err)
		return result, nil
	}
	return noted, nil
}
