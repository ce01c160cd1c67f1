package tool

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"sync"
)

// The bounds of Schemas: the tools of ours and of a few MCP servers.
const (
	maxSchemas    = 128
	maxSchemaSize = 16 << 10 // bytes
)

// Schemas keeps the schemas that models were offered, and the tools as logs have them, so
// that conversations with the same tools share them in memory. Its methods may be called at the
// same time; a nil Schemas shares nothing.
type Schemas struct {
	mu   sync.Mutex
	made map[schemaKey]json.RawMessage // never changed

	stored map[storedKey]json.RawMessage // never changed
	asked  map[uint64]bool               // the hashes of keys that were asked for once
	seed   maphash.Seed                  // of the hashes; made with asked
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

// storedKey is what the stored form of a tool is made of.
type storedKey struct {
	name, description         string
	action, observation, kind string
	parameters, mcp           string
	annotated, client, served bool
	annotations               Annotations
}

// Stored returns d.Stored, and from the second time on keeps it for equal definitions: what
// describes the workspace of one conversation does not come again. The bytes are shared: they
// must not be changed.
func (s *Schemas) Stored(d Definition) json.RawMessage {
	if s == nil || len(d.Parameters)+len(d.MCP)+len(d.Description) > maxSchemaSize {
		return d.Stored()
	}
	key := storedKey{
		name: d.Name, description: d.Description, action: d.ActionKind, observation: d.ObservationKind, kind: d.Kind,
		mcp: string(d.MCP), served: d.MCP != nil, annotated: d.Annotations != nil, client: d.Client,
	}
	if d.Client {
		key.parameters = string(d.Parameters)
	}
	if d.Annotations != nil {
		key.annotations = *d.Annotations
	}
	s.mu.Lock()
	known, ok := s.stored[key]
	again := ok || s.isAskedAgain(key)
	s.mu.Unlock()
	if ok {
		return known
	}
	made := slices.Clip(d.Stored())
	if !again {
		return made
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored == nil || len(s.stored) >= maxSchemas {
		s.stored = make(map[storedKey]json.RawMessage)
	}
	s.stored[key] = made
	return made
}

// isAskedAgain reports whether a key was asked for before, and notes that it was.
func (s *Schemas) isAskedAgain(key storedKey) bool {
	if s.asked == nil || len(s.asked) >= 2*maxSchemas {
		s.asked, s.seed = make(map[uint64]bool), maphash.MakeSeed()
	}
	hash := maphash.Comparable(s.seed, key)
	again := s.asked[hash]
	s.asked[hash] = true
	return again
}
