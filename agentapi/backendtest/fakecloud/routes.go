package fakecloud

import (
	"crypto/subtle"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/uuid"
)

type object map[string]any

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/web-client/config", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, object{"app_mode": "oss", "maintenance_start_time": nil, "error_message": nil})
	})
	mux.HandleFunc("GET /server_info", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, object{"uptime": 12.5, "idle_time": 1.5, "resources": object{}})
	})
	private := func(pattern string, h http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !s.admits(r.Header) {
				refuse(w, 401, "Unauthorized")
				return
			}
			h(w, r)
		})
	}
	const all = "/api/v1/app-conversations"
	private("GET "+all, s.getConversations)
	private("GET "+all+"/search", s.searchConversations)
	private("GET "+all+"/count", s.countConversations)
	private("POST "+all, s.start)
	private("GET "+all+"/start-tasks", s.getTasks)
	private("GET "+all+"/start-tasks/search", s.searchTasks)
	private("PATCH "+all+"/{id}", s.renameConversation)
	private("DELETE "+all+"/{id}", s.removeConversation)
	private("POST "+all+"/{id}/switch_profile", s.switchProfile)
	private("POST "+all+"/{id}/send-message", s.sendMessage)
	private("GET /api/v1/conversation/{id}/events/search", s.searchEvents)
	private("GET /api/v1/sandboxes", s.getSandboxes)
	private("POST /api/v1/sandboxes/{id}/pause", s.pauseSandbox)
	private("POST /api/v1/sandboxes/{id}/resume", s.resumeSandbox)
	private("DELETE /api/v1/sandboxes/{id}", s.removeSandbox)
	private("GET /api/v1/sandbox-specs/search", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, object{"items": []object{{
			"id": "ghcr.io/openhands/agent-server:" + s.opts.Sandbox + "-python", "command": []string{"python", "-m", "openhands.agent_server"},
			"created_at": stamp(), "initial_env": object{}, "working_dir": workspace,
		}}, "next_page_id": nil})
	})
	private("GET /api/v1/settings/profiles", s.listProfiles)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if s.opts.Hosted && r.Method == http.MethodGet {
			page(w)
			return
		}
		refuse(w, 404, "Not Found")
	})
	return mux
}

// admits takes the key in the header of a server of one's own, and those of the
// hosted service.
func (s *Server) admits(h http.Header) bool {
	key := h.Get("X-Session-Api-Key")
	if s.opts.Hosted && key == "" {
		key = strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	}
	return s.opts.Key == "" || subtle.ConstantTimeCompare([]byte(key), []byte(s.opts.Key)) == 1
}

func (s *Server) listProfiles(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []object{}
	for name, p := range s.profiles {
		list = append(list, object{"name": name, "model": p.Model, "base_url": p.BaseURL, "api_key_set": p.Key != ""})
	}
	slices.SortFunc(list, func(a, b object) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
	active := any(nil)
	if s.active != "" {
		active = s.active
	}
	answer(w, 200, object{"profiles": list, "active_profile": active})
}

func (s *Server) switchProfile(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name string `json:"profile_name"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in) // no name is an unknown one
	id := r.PathValue("id")
	box := s.sandboxOf(id)
	p, known := s.profile(in.Name)
	switch {
	case box == nil:
		refuse(w, 404, "Conversation "+id+" is not reachable")
	case box.status != running:
		refuse(w, 409, "Sandbox is paused; resume it before switching profiles.")
	case !known:
		refuse(w, 404, "Profile '"+in.Name+"' not found")
	default:
		llm := object{"model": p.Model, "base_url": p.BaseURL, "api_key": p.Key, "usage_id": "profile:" + in.Name + ":" + uuid.New(), "stream": true}
		if s.tell(box, "/api/conversations/"+dashed(bare(id))+"/switch_llm", object{"llm": llm}) != 200 {
			refuse(w, 502, "Failed to reach agent server to switch LLM")
			return
		}
		s.mu.Lock()
		s.conversations[bare(id)].model = p.Model
		s.mu.Unlock()
		done(w)
	}
}

func (s *Server) sendMessage(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := r.PathValue("id")
	s.mu.Lock()
	known := s.conversations[bare(id)] != nil
	s.mu.Unlock()
	box := s.sandboxOf(id)
	switch {
	case !known:
		refuse(w, 404, "Conversation "+id+" not found")
	case box == nil || box.status == missing:
		refuse(w, 410, "Sandbox no longer exists. The conversation is archived.")
	case box.status == paused:
		refuse(w, 409, "Sandbox is PAUSED. Use POST /api/v1/sandboxes/"+box.id+"/resume to resume it first.")
	case box.status != running:
		refuse(w, 503, "Sandbox is in an error state.")
	case s.tell(box, "/api/conversations/"+dashed(bare(id))+"/events", json.RawMessage(body)) != 200:
		refuse(w, 502, "Failed to reach agent server")
	default:
		answer(w, 200, object{"success": true, "sandbox_status": running, "message": nil})
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body))
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is made here
	}
	return data
}

func refuse(w http.ResponseWriter, status int, text string) {
	answer(w, status, object{"detail": text})
}

func done(w http.ResponseWriter) { answer(w, 200, object{"success": true}) }

// page serves the web app, which answers every path that the API does not have.
func page(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!doctype html><title>OpenHands</title><div id=\"root\"></div>")
}

func splitPort(address string) (host string, port int, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", 0, err
	}
	host, text, err := net.SplitHostPort(u.Host)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	return host, port, err
}
