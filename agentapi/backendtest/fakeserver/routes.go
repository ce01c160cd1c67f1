package fakeserver

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

const (
	keyHeader    = "X-Session-Api-Key" // in Go's canonical form
	exposeHeader = "X-Expose-Secrets"
)

// version is 1_043 for "1.43.1": nothing here depends on the patch.
type version int

func parseVersion(s string) version {
	parts := strings.SplitN(s, ".", 3)
	v := 0
	for _, part := range parts[:2] {
		n, err := strconv.Atoi(part)
		if err != nil {
			panic("fakeserver: version " + s)
		}
		v = v*1000 + n
	}
	return version(v)
}

// routes makes the API of one life of the server.
func (s *Server) routes(l *life) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, "OK") })
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, object{"status": "ready"}) })
	mux.HandleFunc("GET /server_info", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, object{"uptime": float64(int(time.Since(l.started).Seconds())), "title": "OpenHands Agent Server", "version": s.opts.Version})
	})
	mux.HandleFunc("GET /sockets/events/{id}", s.socket(l, s.events))
	if s.version >= sinceSession {
		mux.HandleFunc("GET /sockets/session/{id}", s.socket(l, s.session))
	}
	private := func(pattern string, h http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !s.admits(r.Header.Get(keyHeader)) {
				refuse(w, 401, "Unauthorized")
				return
			}
			h(w, r)
		})
	}
	if s.version >= 1022 {
		private("GET /api/settings", s.getSettings)
		private("GET /api/profiles", s.listProfiles)
		private("GET /api/profiles/{name}", s.getProfile)
		mux.Handle("GET /api/profiles/{$}", http.RedirectHandler("/api/profiles", http.StatusTemporaryRedirect))
	}
	s.agents.route(private)
	private("GET /api/file/download", s.download)
	const one = "/api/conversations/{id}"
	private("POST /api/conversations", s.startConversation(l))
	private("GET /api/conversations/count", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, len(s.Conversations())) })
	private("GET "+one, s.with(404, func(w http.ResponseWriter, r *http.Request, c *conversation) {
		c.mu.Lock()
		defer c.mu.Unlock()
		answer(w, 200, s.version.trimmed(c.saved, r.URL.Query().Get("include_skills") == "true"))
	}))
	private("PATCH "+one, s.patch)
	private("DELETE "+one, s.remove)
	private("POST "+one+"/pause", s.with(400, func(w http.ResponseWriter, _ *http.Request, c *conversation) {
		c.pause(s.process())
		done(w)
	}))
	if s.version >= 1023 {
		private("POST "+one+"/interrupt", s.with(400, func(w http.ResponseWriter, r *http.Request, c *conversation) {
			c.interrupt(r.Context())
			done(w)
		}))
	}
	private("POST "+one+"/run", s.with(404, s.runAgent))
	if s.version >= sinceGoals {
		private("POST "+one+"/goal", s.with(404, s.startGoal))
		private("POST "+one+"/goal/stop", s.with(404, func(w http.ResponseWriter, r *http.Request, c *conversation) {
			c.stopGoal(r.Context())
			done(w)
		}))
	}
	private("POST "+one+"/confirmation_policy", s.with(404, s.setPolicy))
	private("POST "+one+"/security_analyzer", s.with(404, s.setAnalyzer))
	private("POST "+one+"/condense", s.with(404, s.condense))
	private("POST "+one+"/switch_llm", s.with(404, s.switchLLM))
	if s.version >= 1018 {
		private("POST "+one+"/fork", s.with(404, s.fork(l)))
	}
	private("GET "+one+"/events/search", s.with(404, s.search))
	private("POST "+one+"/events", s.with(404, s.post))
	private("POST "+one+"/events/respond_to_confirmation", s.with(404, s.respond))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 404, "Not Found") })
	return mux
}

func (s *Server) admits(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.Key == "" || subtle.ConstantTimeCompare([]byte(key), []byte(s.opts.Key)) == 1
}

// with finds the conversation of the path, or answers with the status that the
// real server's route has for an unknown one.
func (s *Server) with(unknown int, h func(http.ResponseWriter, *http.Request, *conversation)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		c := s.conversation(id)
		switch {
		case c != nil:
			h(w, r, c)
		case strings.Contains(r.URL.Path, "/events"):
			refuse(w, 404, "Conversation not found: "+id)
		default:
			refuse(w, unknown, http.StatusText(unknown))
		}
	}
}

func (s *Server) patch(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Tags map[string]string `json:"tags"`
	}
	if !decode(w, r, &in) {
		return
	}
	c := s.conversation(r.PathValue("id"))
	if c == nil {
		answer(w, 200, object{"success": false})
		return
	}
	if !validTags(in.Tags) {
		refuse(w, 422, "tags")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if in.Tags != nil && s.version >= 1016 {
		c.tags = in.Tags
		c.update("tags", in.Tags)
		c.save()
	}
	done(w)
}

// validTags reports whether the server takes the tags.
func validTags(tags map[string]string) bool {
	for name, value := range tags {
		if name == "" || len(value) > 256 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}

// remove waits for a step that holds the lock, as the real one does.
func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	c := s.conversation(id)
	if c == nil {
		refuse(w, 400, "Bad Request")
		return
	}
	if c.hold(r.Context()) != nil {
		return
	}
	defer c.release()
	s.mu.Lock()
	delete(s.conversations, id)
	s.mu.Unlock()
	c.end()
	done(w)
}

func (s *Server) switchLLM(w http.ResponseWriter, r *http.Request, c *conversation) {
	var in struct {
		LLM llm `json:"llm"`
	}
	if !decode(w, r, &in) {
		return
	}
	if c.hold(r.Context()) != nil {
		return
	}
	defer c.release()
	next := in.LLM
	next.Key = decrypt(next.Key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.llms[next.UsageID]; ok {
		next = known
	}
	next.listened = c.llm.listened
	next.uncounted = !c.ready
	c.llms[next.UsageID] = next
	c.llm = next
	c.agent["llm"] = masked(next)
	c.update("agent", c.agent)
	c.save()
	done(w)
}

func (s *Server) search(w http.ResponseWriter, r *http.Request, c *conversation) {
	q := r.URL.Query()
	limit := 100
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			refuse(w, 422, "limit")
			return
		}
		limit = n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	step, at := 1, 0
	if q.Get("sort_order") == "TIMESTAMP_DESC" {
		step, at = -1, len(c.log)-1
	}
	if place, ok := c.places[q.Get("page_id")]; ok {
		at = place
	}
	items, next := []event.Event{}, any(nil)
	for ; at >= 0 && at < len(c.log); at += step {
		if len(items) == limit {
			next = c.log[at].ID
			break
		}
		items = append(items, c.log[at])
	}
	answer(w, 200, object{"items": items, "next_page_id": next})
}

func (s *Server) post(w http.ResponseWriter, r *http.Request, c *conversation) {
	var in struct {
		Role    string          `json:"role"`
		Content []event.Content `json:"content"`
		Run     bool            `json:"run"`
	}
	if !decode(w, r, &in) {
		return
	}
	m := event.LLMMessage{Role: in.Role, Content: in.Content, ThinkingBlocks: []json.RawMessage{}}
	// A client that leaves does not undo what it asked for.
	c.stopGoal(s.process())
	switch room, err := c.send(s.process(), m, in.Run); {
	case err != nil:
	case !room:
		refuse(w, 429, fmt.Sprintf(savedRunLimit, c.id))
	default:
		done(w)
	}
}

// runAgent runs the agent, unless it runs already.
func (s *Server) runAgent(w http.ResponseWriter, _ *http.Request, c *conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run != nil {
		refuse(w, 409, "Conversation already running. Wait for completion or pause first.")
		return
	}
	if !c.start() {
		refuse(w, 429, runLimit)
		return
	}
	done(w)
}

func (s *Server) respond(w http.ResponseWriter, r *http.Request, c *conversation) {
	in := struct {
		Accept bool   `json:"accept"`
		Reason string `json:"reason"`
	}{Reason: "User rejected the action."}
	if !decode(w, r, &in) {
		return
	}
	switch room, err := c.decide(s.process(), in.Accept, in.Reason); {
	case err != nil:
	case !room:
		refuse(w, 429, runLimit)
	default:
		done(w)
	}
}
