package tool

import (
	"encoding/json"
	"slices"
	"sync"
)

// The bounds of Schemas, for each of its two forms: the tools of ours and of a
// few MCP servers.
const (
	maxSchemas    = 128
	maxSchemaSize = 16 << 10 // bytes
)

// Schemas keeps the descriptions of tools that models were offered and that
// logs have, so that conversations with the same tools share them. Its methods
// may be called at the same time; a nil Schemas shares nothing. The bytes that
// it gives are shared: they must not be changed.
type Schemas struct {
	mu     sync.Mutex
	offers map[offerKey]json.RawMessage
	stored map[storedKey]json.RawMessage
}

// offerKey is what [Definition.Offer] depends on.
type offerKey struct {
	parameters string
	readOnly   bool
}

// storedKey is what [Definition.Stored] depends on.
type storedKey struct {
	name, description, action, observation, kind, mcp string

	annotated   bool
	annotations Annotations
}

// Offer is d.Offer, made once for equal definitions.
func (s *Schemas) Offer(d Definition) (json.RawMessage, error) {
	if s == nil || len(d.Parameters) > maxSchemaSize {
		return d.Offer()
	}
	s.mu.Lock()
	known, ok := s.offers[offerKey{string(d.Parameters), d.ReadOnly()}]
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	made, err := d.Offer()
	if err != nil {
		return nil, err
	}
	return keep(s, &s.offers, offerKey{string(d.Parameters), d.ReadOnly()}, made), nil
}

// Stored is d.Stored, made once for equal definitions.
func (s *Schemas) Stored(d Definition) json.RawMessage {
	if s == nil || len(d.Description)+len(d.MCP) > maxSchemaSize {
		return d.Stored()
	}
	key := storedKey{name: d.Name, description: d.Description, action: d.ActionKind, observation: d.ObservationKind, kind: d.Kind, mcp: string(d.MCP)}
	if d.Annotations != nil {
		key.annotated, key.annotations = true, *d.Annotations
	}
	s.mu.Lock()
	known, ok := s.stored[key]
	s.mu.Unlock()
	if ok {
		return known
	}
	return keep(s, &s.stored, key, d.Stored())
}

// keep notes what was made for a key, unless it is large, and gives it.
func keep[K comparable](s *Schemas, all *map[K]json.RawMessage, key K, made json.RawMessage) json.RawMessage {
	if len(made) > maxSchemaSize {
		return made
	}
	made = slices.Clip(slices.Clone(made))
	s.mu.Lock()
	defer s.mu.Unlock()
	if *all == nil || len(*all) >= maxSchemas {
		*all = make(map[K]json.RawMessage)
	}
	(*all)[key] = made
	return made
}
