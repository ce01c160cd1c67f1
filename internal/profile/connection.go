package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// connectionVersion is the version of the file that is known.
const connectionVersion = 1

// connections are the provider connections of a store: keys and URLs that
// several profiles share.
type connections struct {
	byID map[string]jsonedit.Value
	err  error // why they are unknown
}

func (s *Store) connectionsPath() string {
	return filepath.Join(s.cfg.Base, "provider-connections", "provider_connections.json")
}

// readConnections reads the file. A missing file is one without connections.
func (s *Store) readConnections() connections {
	src, err := os.ReadFile(s.connectionsPath())
	if errors.Is(err, fs.ErrNotExist) {
		return connections{}
	}
	c := connections{byID: map[string]jsonedit.Value{}}
	doc, err := parseConnections(src, err)
	if err != nil {
		c.err = fmt.Errorf("read provider connections: %w", err)
		return c
	}
	for v := range doc.Root().Get("connections").Elements() {
		if id, ok := v.Get("id").Text(); ok {
			c.byID[id] = v
		}
	}
	return c
}

func parseConnections(src []byte, err error) (*jsonedit.Doc, error) {
	if err != nil {
		return nil, err
	}
	doc, err := jsonedit.Parse(src)
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	if root.Kind() != jsonedit.Object {
		return nil, errors.New("not a JSON object")
	}
	if v := root.Get("schema_version"); v.Exists() {
		if n, ok := v.Int(); !ok || n > connectionVersion {
			return nil, errors.New("schema_version is not known")
		}
	}
	return doc, nil
}

// has reports whether there is a connection of this id.
func (c connections) has(id string) bool {
	_, ok := c.byID[id]
	return ok
}

// Connections reports which provider connections there are. The error says why
// that is not known.
func (s *Store) Connections() (has func(id string) bool, err error) {
	c := s.readConnections()
	return c.has, c.err
}
