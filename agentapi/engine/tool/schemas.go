package tool

import (
	"encoding/json"
	"slices"
	"sync"
)

// The bounds of Schemas: the tools of ours and of a few MCP servers.
const (
	maxSchemas    = 128
	maxSchemaSize = 16 << 10 // bytes
)

// Schemas keeps the schemas that models were offered, so that conversations
// with the same tools share them in memory. Its methods may be called at the
// same time; a nil Schemas shares nothing.
type Schemas struct {
	mu   sync.Mutex
	made map[schemaKey]json.RawMessage // never changed
}

// schemaKey is what a schema is made of.
type schemaKey struct {
	parameters string
	readOnly   bool
}

// Offer returns d.Offer, made once for equal definitions. The bytes are shared: they
// must not be changed.
func (s *Schemas) Offer(d Definition) (json.RawMessage, error) {
	if s == nil || len(d.Parameters) > maxSchemaSize {
		return d.Offer()
	}
	s.mu.Lock()
	known, ok := s.made[schemaKey{string(d.Parameters), d.ReadOnly()}]
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	made, err := d.Offer()
	if err != nil || len(made) > maxSchemaSize {
		return made, err
	}
	made = slices.Clip(slices.Clone(made))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil || len(s.made) >= maxSchemas {
		s.made = make(map[schemaKey]json.RawMessage)
	}
	s.made[schemaKey{string(d.Parameters), d.ReadOnly()}] = made
	return made, nil
}
