package fakecloud

import (
	"net/http"
	"strconv"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/uuid"
)

// The states of a sandbox.
const (
	running = "RUNNING"
	paused  = "PAUSED"
	missing = "MISSING"
	broken  = "ERROR"
)

// sessionKey is what the keys of all sandboxes begin with.
const sessionKey = "sk-session-"

// sandbox is an agent-server of its own.
type sandbox struct {
	id, key string
	agent   *fakeserver.Server
	status  string
	moves   bool // it has another address and another key when it wakes
	keys    int  // how many it has had
}

// newSandbox makes a sandbox that runs.
func (s *Server) newSandbox(id string) *sandbox {
	key := sessionKey + uuid.New()
	b := &sandbox{id: id, key: key, status: running, keys: 1}
	b.agent = fakeserver.New(s.t, fakeserver.Options{Version: s.opts.Sandbox, Key: key, Model: s.opts.Model, Elsewhere: true, Around: s.guarded})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sandboxes[id] = b
	return b
}

// Sandbox is the agent-server of a conversation's sandbox; nil if there is none.
func (s *Server) Sandbox(conversation string) *fakeserver.Server {
	if b := s.sandboxOf(conversation); b != nil {
		return b.agent
	}
	return nil
}

func (s *Server) sandboxOf(conversation string) *sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[bare(conversation)]
	if c == nil {
		return nil
	}
	return s.sandboxes[c.sandbox]
}

// Sandboxes is how many there are, whatever their state.
func (s *Server) Sandboxes() int { return len(s.all()) }

// Sleep pauses the sandbox of a conversation. With moves it wakes elsewhere.
func (s *Server) Sleep(conversation string, moves bool) {
	b := s.sandboxOf(conversation)
	b.agent.Kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	b.status, b.moves = paused, moves
}

// Lose deletes the sandbox of a conversation with its files.
func (s *Server) Lose(conversation string) { s.end(conversation, missing) }

// Break puts the sandbox of a conversation into the state ERROR.
func (s *Server) Break(conversation string) { s.end(conversation, broken) }

func (s *Server) end(conversation, status string) {
	b := s.sandboxOf(conversation)
	b.agent.Kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	b.status = status
}

// info shows the sandbox as the API does. The caller holds mu.
func (b *sandbox) info() object {
	o := object{
		"id": b.id, "created_by_user_id": nil, "sandbox_spec_id": "ghcr.io/openhands/agent-server:1.34.0-python",
		"status": b.status, "session_api_key": nil, "exposed_urls": nil, "created_at": "2026-11-22T07:46:35.581508Z",
	}
	if b.status == running {
		_, port, _ := splitPort(b.agent.URL)
		o["session_api_key"] = b.key
		o["exposed_urls"] = []object{
			{"name": "VSCODE", "url": b.agent.URL + "/vscode?tkn=" + b.key, "port": port + 1},
			{"name": "AGENT_SERVER", "url": b.agent.URL, "port": port},
		}
	}
	return o
}

func (s *Server) getSandboxes(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for _, id := range r.URL.Query()["id"] {
		b := s.sandboxes[id]
		if b == nil || b.status == missing {
			list = append(list, nil)
			continue
		}
		list = append(list, b.info())
	}
	answer(w, 200, list)
}

func (s *Server) pauseSandbox(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b := s.sandboxes[r.PathValue("id")]
	s.mu.Unlock()
	if b == nil || b.status == missing {
		refuse(w, 404, "Not Found")
		return
	}
	b.agent.Kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	b.status = paused
	done(w)
}

func (s *Server) resumeSandbox(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.sandboxes[r.PathValue("id")]
	if b == nil || b.status == missing {
		refuse(w, 404, "Not Found")
		return
	}
	if b.status == paused {
		if b.moves {
			b.keys++
			b.key += "-" + strconv.Itoa(b.keys)
			b.agent.Move(s.t, b.key)
		} else {
			b.agent.Restart(s.t)
		}
		b.status, b.moves = running, false
	}
	done(w)
}

// removeSandbox takes the id from the query, as the real one does.
func (s *Server) removeSandbox(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("sandbox_id")
	if id == "" {
		answer(w, 422, object{"detail": []object{{"type": "missing", "loc": []string{"query", "sandbox_id"}, "msg": "Field required"}}})
		return
	}
	s.mu.Lock()
	b := s.sandboxes[id]
	delete(s.sandboxes, id)
	s.mu.Unlock()
	if b == nil {
		refuse(w, 404, "Not Found")
		return
	}
	b.agent.Kill()
	done(w)
}
