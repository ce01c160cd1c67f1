package daemon

import (
	"context"
	"net/http"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/gate"
)

// Health is the answer of GET /healthz to a client with a key. Without one it
// has its Status only.
type Health struct {
	Status  string              `json:"status"` // "ok" or "draining"
	Version string              `json:"version,omitempty"`
	Backend *BackendHealth      `json:"backend,omitempty"`
	Runs    *RunHealth          `json:"runs,omitempty"`
	Storage *gate.StorageHealth `json:"storage,omitempty"`

	Workspace    *gate.WorkspaceHealth    `json:"workspace,omitempty"`
	Confirmation *gate.ConfirmationHealth `json:"confirmation,omitempty"`
	Sandbox      *SandboxHealth           `json:"sandbox,omitempty"`
}

// BackendHealth is what runs the agents.
type BackendHealth struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Address string   `json:"address"`
	Why     string   `json:"why"`     // it was chosen
	Missing []string `json:"missing"` // what this version lacks
	Error   string   `json:"error"`   // why it cannot be used now; empty when it can
	// Members are the agent-servers of a pool.
	Members []MemberHealth `json:"members,omitempty"`
}

// MemberHealth is an agent-server of a pool. The pool asks it every five seconds, not
// for this.
type MemberHealth struct {
	Name    string   `json:"name"`
	Address string   `json:"address"`
	State   string   `json:"state"` // "up", "drain" or "lost"
	Runs    int      `json:"runs"`  // conversations that are open at it
	Slots   int      `json:"slots"` // runs that it is meant for
	Models  int      `json:"models"`
	Differs []string `json:"differs"` // profiles that are not as at the others
	Error   string   `json:"error"`   // why it does not answer; empty when it does
	// Checked is when it was last asked; zero: never.
	Checked time.Time `json:"checked,omitzero"`
}

// memberHealth is what is known of a member of a pool.
func memberHealth(m agentapi.Member) MemberHealth {
	h := MemberHealth{
		Name: m.Name, Address: m.Address, State: string(m.State), Runs: m.Runs, Slots: m.Slots, Models: m.Profiles,
		Differs: append([]string{}, m.Differs...), Checked: m.Asked,
	}
	if m.Err != nil {
		h.Error = gate.Explain(m.Err).Wire.Message
	}
	return h
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

// RunHealth is what goes on.
type RunHealth struct {
	Running int `json:"running"`
	Queued  int `json:"queued"`
}

// Runs counts the runs that go on and those that wait.
func (d *Daemon) Runs() RunHealth {
	stats := d.core.Runs.Stats()
	return RunHealth{Running: stats.Running, Queued: stats.Queued}
}

func (d *Daemon) root() gate.Handler {
	return func(x *gate.Exchange, _ *http.Request) error {
		return x.WriteText("text/plain; charset=utf-8", []byte("ohgw: the API is at /v1\n"))
	}
}

func (d *Daemon) health() gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		h := Health{Status: "ok"}
		if d.core.IsDraining() {
			h.Status = "draining"
		}
		client, err := d.core.Identify(r)
		if err != nil { // everybody may know that it is alive
			return x.Encode(h)
		}
		x.Client = client
		ctx, cancel := context.WithTimeout(r.Context(), gate.BackendTimeout)
		defer cancel()
		s := d.cfg.Backend.Status(ctx)
		h.Version = d.cfg.Version
		h.Backend = &BackendHealth{Name: s.Name, Version: s.Version, Address: s.Address, Why: d.cfg.Why, Missing: append([]string{}, s.Missing...)}
		if s.Err != nil {
			h.Backend.Error = gate.Explain(s.Err).Wire.Message
		}
		for _, member := range s.Members {
			h.Backend.Members = append(h.Backend.Members, memberHealth(member))
		}
		runs := d.Runs()
		h.Storage, h.Runs = d.core.State.Health(), &runs
		h.Workspace = d.core.WorkspaceHealth(ctx, client)
		h.Confirmation = d.core.ConfirmationHealth(client)
		box := d.core.SandboxStatus(ctx)
		h.Sandbox = &SandboxHealth{Level: box.Level, Reason: box.Reason, Fix: box.Fix, Landlock: box.Landlock, Open: append([]string{}, box.Open...)}
		x.Header().Set(gate.HeaderSandbox, box.Level)
		return x.Encode(h)
	}
}

// ready reports whether a request would find its agent, and room for its records. It says no more than
// that: it needs no key.
func (d *Daemon) ready() gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		if d.core.IsDraining() {
			return gate.NewProblem(gate.CodeNotReady, "ohgw is shutting down.", nil)
		}
		if err := d.core.State.Check(); err != nil {
			return gate.NotStorable(err)
		}
		if err := d.cfg.Shared.check(r.Context()); err != nil {
			return gate.NewProblem(gate.CodeNotReady, "The database that the gateways share cannot be used.", err)
		}
		if err := d.completions.Ready(r.Context()); err != nil {
			return gate.NewProblem(gate.CodeServerUnavailable, "The agent-server cannot be reached.", err)
		}
		return x.Encode(Health{Status: "ok"})
	}
}
