package profile

import (
	"context"
	"io/fs"
	"time"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/secret"
)

// Summary is a profile in a list. It has no secrets.
type Summary struct {
	Name    string    `json:"name"`
	Base    string    `json:"base"`
	Path    string    `json:"path"`
	Model   string    `json:"model,omitempty"`  // in its present form, as people know it
	Stored  string    `json:"stored,omitempty"` // as it is written
	BaseURL string    `json:"base_url,omitempty"`
	Active  bool      `json:"active"`
	ModTime time.Time `json:"modified,omitzero"`

	// Key is how the key is written in the profile, or in its provider
	// connection.
	Key        KeyState `json:"key"`
	Connection string   `json:"connection,omitempty"`
	Broken     bool     `json:"connection_broken,omitempty"` // there is no such connection
	Auth       string   `json:"auth"`                        // api_key or subscription

	// Action is what migrate would do with it, or why OpenHands does not load
	// it. Problem says the latter to people.
	Action  canon.Action `json:"action"`
	Problem string       `json:"problem,omitempty"`

	linkedKey bool // the key is in the connection

	awsEndpoint, ollamaURL string // members that stand for the base URL
}

// Usable reports whether OpenHands loads the profile, as far as a list knows.
func (s *Summary) Usable() bool { return !s.Action.IsError() }

// Subject is what to look for when its key is looked for; see
// secret.Resolver.Locate. Its Own is only there to say that there is a key.
func (s *Summary) Subject() secret.Subject {
	subject := secret.Subject{Base: s.Base, Profile: s.Name, Model: s.Model, BaseURL: s.BaseURL, Endpoint: Endpoint(s.Model, s.BaseURL, s.awsEndpoint, s.ollamaURL)}
	if s.Key == KeyPlain || s.Key == KeyEncrypted {
		subject.Own = func() (secret.Value, error) { return secret.Value{}, secret.ErrNotFound }
		subject.OwnOrigin = s.ownOrigin()
	}
	return subject
}

// ownOrigin is where the key is that Key tells of: a connection need not have
// one, and then that of the profile counts.
func (s *Summary) ownOrigin() secret.Origin {
	if s.linkedKey {
		return secret.Origin{Kind: secret.FromConnection, Name: s.Connection}
	}
	return secret.Origin{Kind: secret.FromProfile}
}

// Names returns the names of all profiles that OpenHands can see, in order. It
// reads no profile, so it is fit for completion.
func (s *Store) Names() ([]string, error) {
	entries, err := s.readDir()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name := document.Stem(e); document.ValidName(name) && !e.IsDir() {
			names = append(names, name)
		}
	}
	return names, nil
}

// List reads all profiles, those that OpenHands cannot see or load included,
// in the order of their names. It takes no lock: a file is replaced as a whole,
// so it is the old one or the new one.
func (s *Store) List(ctx context.Context) ([]Summary, error) {
	entries, err := s.readDir()
	if err != nil {
		return nil, err
	}
	sources := make([]document.Source, len(entries))
	for i, e := range entries {
		sources[i] = document.Source{File: s.file(document.Stem(e)), Type: e.Type()}
	}
	snaps, err := document.ReadAll(ctx, sources)
	if err != nil {
		return nil, err
	}
	active, _ := s.Active() // Check tells what is wrong with the settings.
	conns := s.readConnections()
	out := make([]Summary, 0, len(snaps))
	for _, snap := range snaps {
		if snap.Missing() {
			continue // It was removed or renamed since the directory was read.
		}
		summary := s.summarize(snap, conns)
		summary.Active = summary.Name == active && document.ValidName(active)
		out = append(out, summary)
	}
	return out, nil
}

func (s *Store) readDir() ([]fs.DirEntry, error) {
	return document.ListDir(document.ProfilesDir(s.cfg.Base))
}

// summarize says about a profile what can be said without secrets.
func (s *Store) summarize(snap document.Snapshot, conns connections) Summary {
	out := Summary{
		Name: snap.File.Name(), Base: s.cfg.Base, Path: snap.File.Path,
		Key: KeyNone, Auth: "api_key", Action: canon.Unchanged, ModTime: snap.ModTime,
	}
	if snap.Gate != nil {
		out.Action, out.Problem = snap.Gate.Action, snap.Gate.Error()
	}
	if snap.Doc == nil || snap.Doc.Root().Kind() != jsonedit.Object {
		return out
	}
	// OpenHands lists what it cannot load, so members are shown all the same.
	entry := snap.Doc.Root()
	out.Stored, _ = entry.Get("model").Text()
	out.Model = out.Stored
	out.Connection, _ = entry.Get("provider_connection_id").Text()
	if auth, ok := entry.Get("auth_type").Text(); ok {
		out.Auth = auth
	}
	url, _ := entry.Get("base_url").Text()
	out.BaseURL = canon.MaskURL(url)
	out.awsEndpoint, _ = entry.Get("aws_bedrock_runtime_endpoint").Text()
	out.ollamaURL, _ = entry.Get("ollama_base_url").Text()
	out.Key = keyState(entry.Get("api_key"))
	conn, ok := conns.byID[out.Connection]
	out.Broken = out.Connection != "" && !ok && conns.err == nil
	if ok {
		url, _ = conn.Get("base_url").Text()
		out.BaseURL = canon.MaskURL(url)
		if k := keyState(conn.Get("api_key")); k != KeyNone {
			out.Key, out.linkedKey = k, true
		}
	}
	if snap.Gate == nil {
		s.decide(&out, snap, conns)
	}
	return out
}

func (s *Store) decide(out *Summary, snap document.Snapshot, conns connections) {
	for _, e := range snap.Entries() {
		if e.Gate != "" {
			out.Action, out.Problem = e.Gate, e.Gate.Text()
			return
		}
		d := s.cfg.Models.Decide(e.Canon(conns.has))
		out.Action = d.Action
		if d.Action == canon.Migrate {
			out.Model = d.Model
			if !conns.has(out.Connection) {
				out.BaseURL = ""
			}
		}
		if d.Action.IsError() {
			out.Problem = d.Action.Text()
		}
	}
}
