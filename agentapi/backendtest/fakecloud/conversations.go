package fakecloud

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

type conversation struct {
	id, sandbox, title, model string
	created                   time.Time
}

// infoOf shows a conversation as the API does. The caller holds mu.
func (s *Server) infoOf(c *conversation) object {
	created := c.created.Format("2006-01-02T15:04:05.000000Z")
	o := object{
		"id": c.id, "created_by_user_id": nil, "sandbox_id": c.sandbox, "selected_repository": nil, "selected_branch": nil, "git_provider": nil,
		"title": c.title, "trigger": "openhands_api", "pr_number": []int{}, "llm_model": c.model, "agent_kind": "openhands",
		"metrics":                object{"model_name": "default", "accumulated_cost": 0, "accumulated_token_usage": object{"prompt_tokens": 0, "completion_tokens": 0}},
		"parent_conversation_id": nil, "sub_conversation_ids": []string{}, "public": nil, "tags": object{"archiveworkspacepath": workspace},
		"created_at": created, "updated_at": created, "sandbox_status": missing, "execution_status": nil,
		"conversation_url": nil, "session_api_key": nil, "acp_server": nil, "launched_agent_profile": nil,
	}
	if s.opts.Newer {
		o["new_field"] = []int{1}
	}
	b := s.sandboxes[c.sandbox]
	if b == nil {
		return o
	}
	o["sandbox_status"] = b.status
	if b.status == running {
		o["execution_status"] = "idle"
		o["conversation_url"] = b.agent.URL + "/api/conversations/" + c.id
		o["session_api_key"] = b.key
	}
	return o
}

func (s *Server) getConversations(w http.ResponseWriter, r *http.Request) {
	ids := r.URL.Query()["ids"]
	if len(ids) == 0 {
		answer(w, 422, object{"detail": []object{{"type": "missing", "loc": []string{"query", "ids"}, "msg": "Field required"}}})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for _, id := range ids {
		if len(bare(id)) != 32 {
			refuse(w, 400, "Invalid UUID format for ids: ['"+id+"']")
			return
		}
		if c := s.conversations[bare(id)]; c != nil {
			list = append(list, s.infoOf(c))
			continue
		}
		list = append(list, nil)
	}
	answer(w, 200, list)
}

// maxPage is how many conversations a page may have.
const maxPage = 100

func (s *Server) searchConversations(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	box, limit, at := q.Get("sandbox_id__eq"), maxPage, 0
	if n, err := strconv.Atoi(q.Get("limit")); err == nil {
		limit = n
	}
	if limit < 1 || limit > maxPage {
		answer(w, 422, object{"detail": []object{{"type": "less_than_equal", "loc": []string{"query", "limit"}, "msg": "Input should be less than or equal to 100"}}})
		return
	}
	if n, err := strconv.Atoi(q.Get("page_id")); err == nil {
		at = n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(s.newest(), func(c *conversation) bool { return box != "" && c.sandbox != box })
	end, next := min(at+limit, len(list)), any(nil)
	if end < len(list) {
		next = strconv.Itoa(end)
	}
	items := []object{}
	for _, c := range list[min(at, end):end] {
		items = append(items, s.infoOf(c))
	}
	answer(w, 200, object{"items": items, "next_page_id": next})
}

// Fill adds conversations whose sandboxes are gone, with the ids 0 and so on. The first
// one is the newest.
func (s *Server) Fill(n int, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range n {
		id := fmt.Sprintf("%032x", i)
		s.conversations[id] = &conversation{id: id, title: title, created: time.Date(2026, 11, 22, 0, 0, -i, 0, time.UTC)}
	}
}

// newest are the conversations, the newest first. The caller holds mu.
func (s *Server) newest() []*conversation {
	var all []*conversation
	for _, c := range s.conversations {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *conversation) int { return b.created.Compare(a.created) })
	return all
}

func (s *Server) countConversations(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, 200, len(s.conversations))
}

func (s *Server) renameConversation(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Title string `json:"title"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in) // an empty title changes nothing
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[bare(r.PathValue("id"))]
	if c == nil {
		refuse(w, 404, "unknown_app_conversation")
		return
	}
	if in.Title != "" {
		c.title = in.Title
	}
	answer(w, 200, s.infoOf(c))
}

// removeConversation takes the sandbox along, unless another conversation uses it.
func (s *Server) removeConversation(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	c := s.conversations[bare(r.PathValue("id"))]
	if c == nil {
		s.mu.Unlock()
		refuse(w, 404, "Conversation not found")
		return
	}
	delete(s.conversations, c.id)
	box, shared := s.sandboxes[c.sandbox], false
	for _, other := range s.conversations {
		shared = shared || other.sandbox == c.sandbox
	}
	if !shared {
		delete(s.sandboxes, c.sandbox)
	}
	s.mu.Unlock()
	if box != nil && !shared {
		box.agent.Kill()
	}
	done(w)
}

// searchEvents reads the stored events, which outlive the sandbox.
func (s *Server) searchEvents(w http.ResponseWriter, r *http.Request) {
	q, id := r.URL.Query(), dashed(bare(r.PathValue("id")))
	b := s.sandboxOf(id)
	var log []event.Event
	if b != nil {
		log = b.agent.Log(id)
	}
	if q.Get("sort_order") == "TIMESTAMP_DESC" {
		slices.Reverse(log)
	}
	limit, at := 100, 0
	if n, err := strconv.Atoi(q.Get("limit")); err == nil {
		limit = n
	}
	if n, err := strconv.Atoi(q.Get("page_id")); err == nil {
		at = min(n, len(log))
	}
	end, next := min(at+limit, len(log)), any(nil)
	if end < len(log) {
		next = strconv.Itoa(end)
	}
	answer(w, 200, object{"items": append([]event.Event{}, log[at:end]...), "next_page_id": next})
}
