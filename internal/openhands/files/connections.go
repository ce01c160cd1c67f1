package files

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Connections are the provider connections.
type Connections struct {
	place

	settings *settingsFile
}

// maxConnections is how many connections OpenHands lets people make.
const maxConnections = 64

const connectionsMember = "connections"

// List returns all provider connections.
func (s *Connections) List(context.Context) ([]openhands.Connection, error) {
	list, err := s.read()
	if err != nil {
		return nil, err
	}
	out := []openhands.Connection{}
	for _, v := range list {
		out = append(out, connectionOf(v))
	}
	return out, nil
}

func (s *Connections) read() ([]jsonedit.Value, error) {
	snap := document.ConnectionsFile(s.base).Read()
	switch {
	case snap.Missing():
		return nil, nil
	case snap.Gate != nil:
		return nil, refuse(openhands.Malformed, "Provider connections file is unreadable: it %s", snap.Gate.Msg)
	}
	return slices.Collect(snap.Doc.Root().Get(connectionsMember).Elements()), nil
}

func connectionOf(v jsonedit.Value) openhands.Connection {
	c := openhands.Connection{Provider: "custom", BaseURL: text(v.Get("base_url"))}
	c.ID, _ = v.Get("id").Text()
	c.Name, _ = v.Get("display_name").Text()
	if provider, ok := v.Get("provider").Text(); ok {
		c.Provider = provider
	}
	c.Created, _ = v.Get("created_at").Int()
	c.Updated, _ = v.Get("updated_at").Int()
	key, _ := v.Get("api_key").Text()
	c.KeySet = strings.TrimSpace(key) != "" && key != secret.Redacted
	return c
}

// find reads a connection and its key; nil without an error: there is none.
func (s *Connections) find(id string) (*openhands.Connection, secret.Value, error) {
	list, err := s.read()
	if err != nil {
		return nil, secret.Value{}, err
	}
	for _, v := range list {
		c := connectionOf(v)
		if c.ID != id {
			continue
		}
		text, _ := v.Get("api_key").Text()
		key := s.sealing.reader().Stored(text)
		if c.KeySet && key.IsZero() {
			return nil, secret.Value{}, refuse(openhands.Malformed, "The API key of provider connection '%s' cannot be decrypted. "+
				"Verify that OH_SECRET_KEY is the key that it was saved with.", id)
		}
		return &c, key, nil
	}
	return nil, secret.Value{}, nil
}

// Add stores a new connection, which has a key.
func (s *Connections) Add(ctx context.Context, c openhands.ConnectionChange) (openhands.Connection, error) {
	var added openhands.Connection
	err := s.change(ctx, func(list []json.RawMessage, show shape.Show) ([]json.RawMessage, error) {
		if len(list) >= maxConnections {
			return nil, refuse(openhands.Taken, "Provider connection limit reached (%d). Delete one before adding another.", maxConnections)
		}
		now := s.cfg.Now().Unix()
		members := shape.Tree{"id": strings.ReplaceAll(uuid.New(), "-", ""), "created_at": now}
		data, err := json.Marshal(members)
		if err != nil {
			return nil, err
		}
		made, err := changedConnection(data, c, now, show)
		if err != nil {
			return nil, err
		}
		added = connectionOf(made.Root())
		return append(list, made.Bytes()), nil
	})
	return added, err
}

// Patch changes a connection.
func (s *Connections) Patch(ctx context.Context, id string, c openhands.ConnectionChange) (openhands.Connection, error) {
	var changed openhands.Connection
	err := s.change(ctx, func(list []json.RawMessage, show shape.Show) ([]json.RawMessage, error) {
		at, err := indexOf(list, id)
		if err != nil {
			return nil, err
		}
		after, err := changedConnection(list[at], c, s.cfg.Now().Unix(), show)
		if err != nil {
			return nil, err
		}
		changed = connectionOf(after.Root())
		list[at] = after.Bytes()
		return list, nil
	})
	return changed, err
}

// Remove deletes a connection that nothing refers to.
func (s *Connections) Remove(ctx context.Context, id string) (openhands.Connection, error) {
	conn, _, err := s.find(id)
	if err != nil {
		return openhands.Connection{}, err
	}
	if conn == nil {
		return openhands.Connection{}, noConnection(id)
	}
	if err := s.unreferenced(ctx, id); err != nil {
		return openhands.Connection{}, err
	}
	err = s.change(ctx, func(list []json.RawMessage, _ shape.Show) ([]json.RawMessage, error) {
		at, err := indexOf(list, id)
		if err != nil {
			return nil, err
		}
		return slices.Delete(list, at, at+1), nil
	})
	conn.KeySet = false
	return *conn, err
}

// unreferenced reports who refers to a connection.
func (s *Connections) unreferenced(ctx context.Context, id string) error {
	list, err := s.cfg.Profiles.List(ctx)
	if err != nil {
		return err
	}
	var by, reasons []string
	for _, p := range list {
		if p.Connection == id {
			by = append(by, p.Name)
		}
	}
	if len(by) > 0 {
		reasons = append(reasons, "referenced by LLM profile(s): "+joined(by))
	}
	if s.settings.load().Agent.Tree("llm").Text("provider_connection_id") == id {
		reasons = append(reasons, "referenced by the active agent settings")
	}
	if len(reasons) == 0 {
		return nil
	}
	return refuse(openhands.Taken, "Provider connection cannot be deleted while it is %s. Update those references before deleting it.", strings.Join(reasons, " and "))
}

func joined(names []string) string { return strings.Join(names, ", ") }

func noConnection(id string) error {
	return refuse(openhands.NotFound, "Provider connection '%s' not found", id)
}

func indexOf(list []json.RawMessage, id string) (int, error) {
	for i, raw := range list {
		var c struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(raw, &c) == nil && c.ID == id {
			return i, nil
		}
	}
	return 0, noConnection(id)
}

// changedConnection returns a connection with a change. Unknown members stay.
func changedConnection(raw []byte, c openhands.ConnectionChange, now int64, show shape.Show) (*jsonedit.Doc, error) {
	doc, err := jsonedit.Parse(raw)
	if err != nil {
		return nil, err
	}
	w := &writer{doc: doc, show: show}
	for name, value := range map[string]*string{"display_name": c.Name, "provider": c.Provider} {
		if value != nil {
			w.set([]string{name}, *value)
		}
	}
	if c.Key != nil {
		w.set([]string{"api_key"}, secret.New(*c.Key))
	}
	if c.SetBaseURL {
		w.set([]string{"base_url"}, c.BaseURL)
	}
	w.set([]string{"updated_at"}, now)
	return w.doc, w.err
}

func (s *Connections) change(ctx context.Context, fn func([]json.RawMessage, shape.Show) ([]json.RawMessage, error)) error {
	show := s.sealing.atRest() // it reads this file, too, and so comes before the lock
	_, err := document.ConnectionsFile(s.base).Update(ctx, s.cfg.Locking, func(snap document.Snapshot) (*jsonedit.Doc, error) {
		doc := snap.Doc
		if doc == nil {
			var err error
			if doc, err = newDoc("{\n  \"schema_version\": 1,\n  \"connections\": []\n}"); err != nil {
				return nil, err
			}
		}
		list := []json.RawMessage{}
		for v := range doc.Root().Get(connectionsMember).Elements() {
			list = append(list, v.Raw())
		}
		list, err := fn(list, show)
		if err != nil {
			return nil, err
		}
		w := &writer{doc: doc, show: show}
		w.set([]string{connectionsMember}, list)
		return w.doc, w.err
	})
	if _, gate := errors.AsType[*document.GateError](err); gate || errors.Is(err, jsonedit.ErrIrregular) {
		return &openhands.Error{Kind: openhands.Malformed, Msg: "Provider connections file is unreadable", Err: err}
	}
	return busy(err)
}
