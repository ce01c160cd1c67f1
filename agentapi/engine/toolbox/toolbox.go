// Package toolbox has the tools of a conversation in the forms in which they are needed: by
// name, as definitions, and as a model is offered them.
//
// Not here: what a tool does, and which tools a conversation has.
package toolbox

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

// Box is the tools of a conversation. A nil Box has none. It is not for use at the same
// time.
type Box struct {
	shared *tool.Schemas
	made   []tool.Tool // all that were made at first, which are to be closed
	now    []tool.Tool // those that are offered
	vision bool        // of the model for which they are described
	byName map[string]tool.Tool
	defs   []tool.Definition
	offers []llm.Tool
	briefs []llm.Tool // offers for a model with a small context; nil until one is asked
}

// New describes tools for a model that can see pictures, or cannot. Of two with the same
// name the first one counts: no server takes the place of a tool that is built in.
func New(tools []tool.Tool, shared *tool.Schemas, vision bool) (*Box, error) {
	b := &Box{shared: shared, made: tools, vision: vision}
	return b, b.offer(tools)
}

// Refresh describes the tools again where another model answers that can see pictures with
// them, or cannot, or where fromServers takes the place of the tools of MCP servers; nil:
// these stay. With an error, the tools are offered as before.
func (b *Box) Refresh(fromServers *[]tool.Tool, vision bool) error {
	now := b.now
	switch {
	case fromServers != nil:
		now = append(b.builtIn(), *fromServers...)
	case b.vision == vision:
		return nil
	}
	b.vision = vision
	return b.offer(now)
}

func (b *Box) offer(tools []tool.Tool) error {
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

// Held is what the tools hold in memory, in bytes.
func (b *Box) Held() (memory int64) {
	if b == nil {
		return 0
	}
	for _, t := range b.made {
		if h, ok := t.(tool.Holder); ok {
			memory += h.Held()
		}
	}
	return memory
}

// Definitions are those of the tools that are offered.
func (b *Box) Definitions() []tool.Definition { return b.defs }

// Named is the tool that is offered with a name.
func (b *Box) Named(name string) (tool.Tool, bool) {
	t, ok := b.byName[name]
	return t, ok
}

// Offers are the tools of a request.
func (b *Box) Offers() []llm.Tool {
	if b == nil {
		return nil
	}
	return b.offers
}

// Brief returns the offers for a model with a small context, made once. A tool that cannot
// be said in brief is offered as it is.
func (b *Box) Brief() []llm.Tool {
	if b == nil {
		return nil
	}
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
func (b *Box) builtIn() []tool.Tool {
	return slices.DeleteFunc(slices.Clone(b.now), func(t tool.Tool) bool { return t.Definition().MCP != nil })
}

// Names are those of the tools that are offered.
func (b *Box) Names() []string {
	names := make([]string, len(b.defs))
	for i, d := range b.defs {
		names[i] = d.Name
	}
	return names
}

// Close ends the tools.
func (b *Box) Close() error {
	if b == nil {
		return nil
	}
	return Close(b.made)
}

// Close ends tools that are in no box.
func Close(tools []tool.Tool) error {
	errs := make([]error, len(tools))
	for i, t := range tools {
		if err := t.Close(); err != nil {
			errs[i] = fmt.Errorf("close tool %s: %w", t.Definition().Name, err)
		}
	}
	return errors.Join(errs...)
}
