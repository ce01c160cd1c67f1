// Package acp is an agent of the Agent Client Protocol, which editors speak
// (https://agentclientprotocol.com, version 1), in front of a gateway: each
// session of an editor is a conversation there. It decides nothing about
// agents; it translates.
//
// Invariants: a session runs one prompt at a time. A prompt that is cancelled,
// or whose editor has gone, leaves no run behind.
package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/jsonrpc"
	"github.com/ohgw/ohgw/internal/truncate"
)

// maxSessions bounds the sessions of one editor.
const maxSessions = 1000

// Config is what an Agent needs. All but Model is required.
type Config struct {
	// Open finds the gateway. It is called until it succeeds, never twice at a
	// time, when the first session begins.
	Open func(ctx context.Context) (gateway.Endpoint, error)
	// Workspace is the directory that a session of the editor works in, as the
	// gateway takes it, or why it cannot. Empty: the gateway's choice. It is
	// called after Open.
	Workspace func(ctx context.Context, dir string) (string, error)
	// Confirmation is the mode of new conversations, or empty if OpenHands'
	// settings say, and whether a lower one can be chosen. It is called after Open.
	Confirmation func(ctx context.Context) (mode gateway.Confirmation, lower bool)
	Model        string // empty: the gateway's preferred one
	NewID        func() string
	Version      string // of this program
	Log          *slog.Logger
	// Explain is an error as a person should read it, in one line.
	Explain func(err error) string
}

// Agent serves one editor.
type Agent struct {
	cfg     Config
	conn    *jsonrpc.Conn
	methods map[string]method

	opening  sync.Mutex
	endpoint gateway.Endpoint // nil until it was opened

	mu       sync.Mutex
	ready    bool // initialize was called
	sessions map[string]*session
}

// method reads the parameters of a request and gives its result, or its work.
type method func(ctx context.Context, params json.RawMessage) (any, jsonrpc.Work, error)

// Serve speaks with the editor until in ends. Everything it has begun has ended
// then.
func Serve(ctx context.Context, cfg Config, in io.Reader, out io.Writer) error {
	a := &Agent{cfg: cfg, conn: jsonrpc.New(out, cfg.Log), sessions: map[string]*session{}}
	a.methods = map[string]method{
		methodInitialize:   reading(a.initialize),
		methodAuthenticate: reading(a.authenticate),
		methodNew:          reading(a.newSession),
		methodLoad:         reading(a.loadSession),
		methodResume:       reading(a.resumeSession),
		methodClose:        reading(a.closeSession),
		methodSetMode:      reading(a.setMode),
		methodSetOption:    reading(a.setOption),
		methodPrompt:       reading(a.prompt),
	}
	return a.conn.Serve(ctx, in, a)
}

// reading makes a method of a function that takes parameters of a type.
func reading[P any](f func(ctx context.Context, p P) (any, jsonrpc.Work, error)) method {
	return func(ctx context.Context, params json.RawMessage) (any, jsonrpc.Work, error) {
		var p P
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the parameters cannot be read: %s", cause(err))
		}
		return f(ctx, p)
	}
}

// cause is why parameters cannot be read, without their content.
func cause(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return e.Field + " is a JSON " + e.Value
	}
	return "they are not a JSON object"
}

// Request implements [jsonrpc.Handler].
func (a *Agent) Request(ctx context.Context, name string, params json.RawMessage) (any, jsonrpc.Work, error) {
	m, known := a.methods[name]
	if !known {
		return nil, nil, jsonrpc.Errorf(jsonrpc.CodeUnknownMethod, "there is no method %q", truncate.Bytes(name, 100, "…"))
	}
	a.mu.Lock()
	ready := a.ready
	a.mu.Unlock()
	if !ready && name != methodInitialize {
		return nil, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "the first request must be %s", methodInitialize)
	}
	return m(ctx, params)
}

// Notification implements [jsonrpc.Handler]. Unknown ones are ignored, as the
// protocol wants it.
func (a *Agent) Notification(_ context.Context, name string, params json.RawMessage) {
	var p sessionParams
	if name != methodCancel || json.Unmarshal(params, &p) != nil {
		return
	}
	if s := a.find(p.Session); s != nil {
		s.cancel()
	}
}

// initialize agrees on the version: that of the editor if it is ours, else ours,
// which the editor takes or leaves.
func (a *Agent) initialize(_ context.Context, p initializeParams) (any, jsonrpc.Work, error) {
	if p.Version == nil {
		return nil, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "protocolVersion is missing")
	}
	if p.ClientInfo != nil {
		a.cfg.Log.Info("an editor connected", "editor", truncate.Bytes(p.ClientInfo.Name, 100, "…"), "version", truncate.Bytes(p.ClientInfo.Version, 100, "…"), "protocol", *p.Version)
	}
	a.mu.Lock()
	a.ready = true
	a.mu.Unlock()
	r := initializeResult{
		Version: protocolVersion, AuthMethods: []struct{}{},
		Info: implementation{Name: "ohgw", Title: "OpenHands (ohgw)", Version: a.cfg.Version},
	}
	r.Capabilities.Prompt.Image, r.Capabilities.Prompt.EmbeddedContext = true, true
	r.Capabilities.LoadSession = true
	r.Capabilities.Session = map[string]struct{}{"resume": {}, "close": {}}
	return r, nil, nil
}

// authenticate has nothing to do: no method is offered.
func (a *Agent) authenticate(context.Context, struct{}) (any, jsonrpc.Work, error) {
	return nil, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "ohgw offers no authentication method; it needs none")
}

// newSession begins a session.
func (a *Agent) newSession(ctx context.Context, p newParams) (any, jsonrpc.Work, error) {
	if !filepath.IsAbs(p.Dir) {
		return nil, nil, errDir()
	}
	return nil, func() (any, error) {
		endpoint, err := a.open(ctx)
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		s := &session{id: a.cfg.NewID(), dir: p.Dir}
		if s.workspace, err = a.cfg.Workspace(ctx, p.Dir); err != nil {
			return nil, a.problem(ctx, err)
		}
		if err := a.choose(ctx, endpoint, s); err != nil {
			return nil, err
		}
		if len(p.MCP) > 0 {
			a.cfg.Log.Info("the editor's MCP servers are not used; OpenHands has its own", "servers", len(p.MCP))
		}
		if err := a.add(s); err != nil {
			return nil, err
		}
		return sessionResult{Session: s.id, Modes: s.modeState(), Options: s.options()}, nil
	}, nil
}

func errDir() error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "cwd is not an absolute path")
}

// open finds the gateway once.
func (a *Agent) open(ctx context.Context) (gateway.Endpoint, error) {
	a.opening.Lock()
	defer a.opening.Unlock()
	if a.endpoint == nil {
		endpoint, err := a.cfg.Open(ctx)
		if err != nil {
			return nil, err
		}
		a.endpoint = endpoint
	}
	return a.endpoint, nil
}

// problem logs an error and returns it as the editor shows it.
func (a *Agent) problem(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*jsonrpc.Error](err); ok || ctx.Err() != nil {
		return err
	}
	text := a.cfg.Explain(err)
	a.cfg.Log.Error("a request failed", "error", text)
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", text)
}
