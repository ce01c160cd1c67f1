package conversation

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

// toolbox is the tools of a conversation in the forms in which they are needed.
type toolbox struct {
	shared *tool.Schemas
	made   []tool.Tool // all that were made at first, which are to be closed
	now    []tool.Tool // those that are offered
	vision bool        // of the model for which they are described
	byName map[string]tool.Tool
	defs   []tool.Definition
	offers []llm.Tool
	briefs []llm.Tool // offers for a model with a small context; nil until one is asked
}

// newToolbox describes tools. Of two with the same name the first one counts:
// no server takes the place of a tool that is built in.
func newToolbox(tools []tool.Tool, shared *tool.Schemas) (*toolbox, error) {
	b := &toolbox{shared: shared, made: tools}
	return b, b.offer(tools)
}

func (b *toolbox) offer(tools []tool.Tool) error {
	byName := make(map[string]tool.Tool, len(tools))
	defs := make([]tool.Definition, 0, len(tools))
	offers := make([]llm.Tool, 0, len(tools))
	now := make([]tool.Tool, 0, len(tools))
	for _, t := range tools {
		def := t.Definition()
		if _, taken := byName[def.Name]; taken {
			continue
		}
		parameters, err := b.shared.Offer(def)
		if err != nil {
			return fmt.Errorf("describe tool %s: %w", def.Name, err)
		}
		byName[def.Name] = t
		now, defs = append(now, t), append(defs, def)
		offers = append(offers, llm.Tool{Name: def.Name, Description: def.Description, Parameters: parameters})
	}
	b.now, b.byName, b.defs, b.offers, b.briefs = now, byName, defs, offers, nil
	return nil
}

// brief are the offers for a model with a small context. A tool that cannot be said in
// brief is offered as it is.
func (b *toolbox) brief() []llm.Tool {
	if b.briefs != nil {
		return b.briefs
	}
	b.briefs = make([]llm.Tool, 0, len(b.offers))
	for i, full := range b.offers {
		short, offered, err := b.defs[i].Brief(full.Parameters)
		switch {
		case err != nil:
			b.briefs = append(b.briefs, full)
		case offered:
			b.briefs = append(b.briefs, llm.Tool{Name: full.Name, Description: short.Description, Parameters: short.Parameters})
		}
	}
	return b.briefs
}

// builtIn are the tools that are not an MCP server's.
func (b *toolbox) builtIn() []tool.Tool {
	return slices.DeleteFunc(slices.Clone(b.now), func(t tool.Tool) bool { return t.Definition().MCP != nil })
}

func (b *toolbox) names() []string {
	names := make([]string, len(b.defs))
	for i, d := range b.defs {
		names[i] = d.Name
	}
	return names
}

// close ends the tools; a nil toolbox has none.
func (b *toolbox) close() error {
	if b == nil {
		return nil
	}
	return closeAll(b.made)
}

func closeAll(tools []tool.Tool) error {
	errs := make([]error, len(tools))
	for i, t := range tools {
		if err := t.Close(); err != nil {
			errs[i] = fmt.Errorf("close tool %s: %w", t.Definition().Name, err)
		}
	}
	return errors.Join(errs...)
}
