package fakeserver

import (
	"maps"
	"net/http"
	"sync"

	"github.com/ohgw/ohgw/internal/uuid"
)

// agentProfile is a stored agent profile, with the fields that it was given.
type agentProfile map[string]any

func (p agentProfile) text(name string) string {
	s, _ := p[name].(string)
	return s
}

// agentProfiles are those of a server.
type agentProfiles struct {
	version version

	mu     sync.Mutex
	byName map[string]agentProfile
	active string // the id of the active one
}

// route adds the routes of agent profiles.
func (a *agentProfiles) route(private func(pattern string, handle http.HandlerFunc)) {
	if a.version < 1029 {
		return
	}
	private("GET /api/agent-profiles", a.list)
	private("GET /api/agent-profiles/{name}", a.get)
	private("POST /api/agent-profiles/{name}", a.save)
}

// list answers with all. It makes one where there is none, as a real server does.
func (a *agentProfiles) list(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.byName) == 0 && a.active == "" {
		a.keep("default", agentProfile{"agent_kind": "openhands", "llm_profile_ref": "default"})
		a.active = a.byName["default"].text("id")
	}
	list := []object{}
	for name, p := range a.byName {
		list = append(list, object{
			"id": p["id"], "name": name, "agent_kind": p["agent_kind"], "revision": p["revision"],
			"llm_profile_ref": p["llm_profile_ref"], "mcp_server_refs": p["mcp_server_refs"],
		})
	}
	answer(w, 200, object{"profiles": list, "active_agent_profile_id": null(a.active)})
}

func (a *agentProfiles) get(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.byName[name]
	if !ok {
		refuse(w, 404, "Agent profile '"+name+"' not found")
		return
	}
	answer(w, 200, object{"name": name, "profile": p})
}

func (a *agentProfiles) save(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	in := agentProfile{}
	if !decode(w, r, &in) {
		return
	}
	if len(a.version.removed(in)) > 0 {
		refuse(w, 422, "Retired tool switches were removed; select tools instead.")
		return
	}
	if in.text("llm_profile_ref") == "" || len(name) > 64 {
		refuse(w, 422, "llm_profile_ref")
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keep(name, in)
	answer(w, 201, object{"name": name, "message": "saved"})
}

// keep stores an agent profile. The caller holds mu.
func (a *agentProfiles) keep(name string, in agentProfile) {
	in["id"], in["name"], in["revision"] = uuid.New(), name, 1
	if old, ok := a.byName[name]; ok {
		in["id"] = old["id"]
		if n, ok := old["revision"].(int); ok {
			in["revision"] = n + 1
		}
	}
	a.byName[name] = in
}

// activate stores an agent profile, and makes it the active one.
func (a *agentProfiles) activate(name string, fields agentProfile) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keep(name, maps.Clone(fields))
	a.active = a.byName[name].text("id")
}

// activeID returns the id of the active one, "" if there is none.
func (a *agentProfiles) activeID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.active
}

// byID returns the agent profile of an id, nil if there is none.
func (a *agentProfiles) byID(id string) agentProfile {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.byName {
		if p.text("id") == id {
			return p
		}
	}
	return nil
}
