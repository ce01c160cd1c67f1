package daemon

import (
	"context"
	"net/http"
	"time"
)

// backendTimeout bounds how long the backend is asked how it is.
const backendTimeout = 2 * time.Second

// Health is the answer of GET /healthz to a client with a key. Without one it
// has its Status only.
type Health struct {
	Status  string         `json:"status"` // "ok" or "draining"
	Version string         `json:"version,omitempty"`
	Backend *BackendHealth `json:"backend,omitempty"`
	Runs    *RunHealth     `json:"runs,omitempty"`
	Storage *StorageHealth `json:"storage,omitempty"`

	Workspace    *WorkspaceHealth    `json:"workspace,omitempty"`
	Confirmation *ConfirmationHealth `json:"confirmation,omitempty"`
	Sandbox      *SandboxHealth      `json:"sandbox,omitempty"`
}

// BackendHealth is what runs the agents.
type BackendHealth struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Address string   `json:"address"`
	Why     string   `json:"why"`     // it was chosen
	Missing []string `json:"missing"` // what this version lacks
	Error   string   `json:"error"`   // why it cannot be used now; empty when it can
}

// SandboxHealth is the sandbox of new conversations.
type SandboxHealth struct {
	// Level is "full", "reduced", "external" or "off"; "backend" where the backend
	// runs the agents' commands, and ohgw does not know how.
	Level    string   `json:"level"`
	Reason   string   `json:"reason,omitempty"` // why it is not full
	Fix      string   `json:"fix,omitempty"`    // what to do about that
	Landlock int      `json:"landlock"`         // its ABI; 0: not used
	Open     []string `json:"open"`             // what is open beyond the workspace
}

// StorageHealth is how the state directory is.
type StorageHealth struct {
	Error string `json:"error"` // why nothing can be written there; empty when it can
}

// RunHealth is what goes on.
type RunHealth struct {
	Running int `json:"running"`
	Queued  int `json:"queued"`
}

// Runs counts the runs that go on and those that wait.
func (d *Daemon) Runs() RunHealth {
	stats := d.runs.Stats()
	return RunHealth{Running: stats.Running, Queued: stats.Queued}
}

func (d *Daemon) root() handler {
	return func(x *exchange, _ *http.Request) error {
		return x.writeText("text/plain; charset=utf-8", []byte("ohgw: the API is at /v1\n"))
	}
}

func (d *Daemon) health() handler {
	return func(x *exchange, r *http.Request) error {
		h := Health{Status: "ok"}
		if d.draining.Load() {
			h.Status = "draining"
		}
		client, err := d.identify(r)
		if err != nil { // everybody may know that it is alive
			return x.encode(h)
		}
		x.client = client
		ctx, cancel := context.WithTimeout(r.Context(), backendTimeout)
		defer cancel()
		s := d.cfg.Backend.Status(ctx)
		h.Version = d.cfg.Version
		h.Backend = &BackendHealth{Name: s.Name, Version: s.Version, Address: s.Address, Why: d.cfg.Why, Missing: append([]string{}, s.Missing...)}
		if s.Err != nil {
			h.Backend.Error = explain(s.Err).wire.Message
		}
		runs := d.Runs()
		h.Storage, h.Runs = d.state.health(), &runs
		h.Workspace = d.workspaceHealth(ctx, client)
		h.Confirmation = d.confirmationHealth(client)
		box := d.sandboxStatus(ctx)
		h.Sandbox = &SandboxHealth{Level: box.Level, Reason: box.Reason, Fix: box.Fix, Landlock: box.Landlock, Open: append([]string{}, box.Open...)}
		x.Header().Set(headerSandbox, box.Level)
		return x.encode(h)
	}
}

// ready reports whether a request would find its agent, and room for its records. It says no more than
// that: it needs no key.
func (d *Daemon) ready() handler {
	return func(x *exchange, r *http.Request) error {
		if d.draining.Load() {
			return newProblem(codeNotReady, "ohgw is shutting down.", nil)
		}
		if err := d.state.check(); err != nil {
			return notStorable(err)
		}
		if err := d.models.ready(r.Context()); err != nil {
			return newProblem(codeServerUnavailable, "The agent-server cannot be reached.", err)
		}
		return x.encode(Health{Status: "ok"})
	}
}
