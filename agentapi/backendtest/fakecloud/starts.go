package fakecloud

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/uuid"
)

// task is the start of a conversation.
type task struct {
	id, conversation, sandbox, agent, failure string
	steps                                     []string
	begin                                     func() // puts the conversation there
}

// startRequest is what is read of POST /api/v1/app-conversations.
type startRequest struct {
	ID      string `json:"conversation_id"`
	Suffix  string `json:"system_message_suffix"`
	Sandbox string `json:"sandbox_id"`
	Message *struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Run     bool            `json:"run"`
	} `json:"initial_message"`
}

func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	var in startRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		answer(w, 422, object{"detail": []object{{"type": "json_invalid", "loc": []string{"body"}, "msg": err.Error()}}})
		return
	}
	id := bare(in.ID)
	if id == "" {
		id = bare(uuid.New())
	}
	s.mu.Lock()
	t := &task{id: bare(uuid.New()), conversation: id, sandbox: in.Sandbox, steps: s.steps, failure: s.failure}
	s.failure = ""
	switch {
	case t.sandbox != "":
	case s.opts.Grouped:
		t.sandbox = "group"
	default:
		t.sandbox = id
	}
	t.begin = func() { s.settle(t, in) }
	s.tasks[t.id] = t
	answer(w, 200, t.info("WORKING", nil))
	s.mu.Unlock()
}

// settle makes the conversation of a task, in its sandbox.
func (s *Server) settle(t *task, in startRequest) {
	s.settling.Lock()
	defer s.settling.Unlock()
	s.mu.Lock()
	box, known := s.sandboxes[t.sandbox], s.conversations[t.conversation] != nil
	s.mu.Unlock()
	if known {
		return
	}
	if box == nil {
		box = s.newSandbox(t.sandbox)
	}
	s.mu.Lock()
	p, model := s.profiles[s.standard], ""
	s.mu.Unlock()
	model = p.Model
	llm := object{"model": p.Model, "base_url": p.BaseURL, "api_key": p.Key, "usage_id": "agent", "stream": true}
	var suffix any
	if in.Suffix != "" {
		suffix = in.Suffix
	}
	policy := object{"kind": "NeverConfirm"}
	if s.opts.Confirm {
		policy = object{"kind": "AlwaysConfirm"}
	}
	body := object{
		"conversation_id": dashed(t.conversation), "workspace": object{"working_dir": workspace}, "confirmation_policy": policy,
		"agent": object{"kind": "Agent", "llm": llm, "tools": []object{{"name": "terminal"}}, "agent_context": object{"skills": []any{}, "system_message_suffix": suffix}},
		"tags":  object{"archiveworkspacepath": workspace},
	}
	s.tell(box, "/api/conversations", body)
	if in.Message != nil {
		s.tell(box, "/api/conversations/"+dashed(t.conversation)+"/events", object{"role": "user", "content": in.Message.Content, "run": in.Message.Run})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.agent = box.agent.URL
	s.conversations[t.conversation] = &conversation{id: t.conversation, sandbox: box.id, title: "Conversation " + t.conversation[:5], model: model, created: time.Now().UTC()}
}

// workspace is the directory of every conversation, in its sandbox.
const workspace = "/workspace/project"

// info is the task as the API shows it.
func (t *task) info(status string, detail any) object {
	o := object{
		"id": t.id, "created_by_user_id": nil, "status": status, "detail": detail, "app_conversation_id": nil, "sandbox_id": nil,
		"agent_server_url": nil, "request": object{"trigger": "openhands_api"}, "created_at": stamp(), "updated_at": stamp(),
	}
	if status == "READY" {
		o["app_conversation_id"], o["sandbox_id"], o["agent_server_url"] = t.conversation, t.sandbox, t.agent
	}
	return o
}

func stamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000") }

func (s *Server) getTasks(w http.ResponseWriter, r *http.Request) {
	list := []any{}
	for _, id := range r.URL.Query()["ids"] {
		s.mu.Lock()
		t := s.tasks[bare(id)]
		s.mu.Unlock()
		if t == nil {
			list = append(list, nil)
			continue
		}
		list = append(list, s.look(t))
	}
	answer(w, 200, list)
}

// look returns the state of a task, which goes on by being looked at.
func (s *Server) look(t *task) object {
	s.mu.Lock()
	if len(t.steps) > 0 {
		step := t.steps[0]
		t.steps = t.steps[1:]
		s.mu.Unlock()
		return t.info(step, nil)
	}
	s.mu.Unlock()
	if t.failure != "" {
		if s.sandboxes[t.sandbox] == nil {
			s.newSandbox(t.sandbox)
		}
		o := t.info("ERROR", t.failure)
		o["sandbox_id"] = t.sandbox
		return o
	}
	t.begin()
	return t.info("READY", nil)
}

// searchTasks lists the tasks of a conversation.
func (s *Server) searchTasks(w http.ResponseWriter, r *http.Request) {
	id := bare(r.URL.Query().Get("conversation_id__eq"))
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []object{}
	for _, t := range s.tasks {
		if s.conversations[t.conversation] != nil && t.conversation == id {
			items = append(items, t.info("READY", nil))
		}
	}
	answer(w, 200, object{"items": items, "next_page_id": nil})
}

// tell makes a request to the agent-server of a sandbox, as the app-server does.
func (s *Server) tell(b *sandbox, path string, body any) int {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, b.agent.URL+path, bytes.NewReader(encode(body)))
	if err != nil {
		s.t.Errorf("fakecloud: %v", err)
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-API-Key", b.key)
	req.Header.Set(fromServer, "1")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode > 299 && res.StatusCode != http.StatusNotFound {
		s.t.Errorf("fakecloud: %s: %s: %s", path, res.Status, text)
	}
	return res.StatusCode
}

// profile is a stored profile.
func (s *Server) profile(name string) (fakeserver.Profile, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.profiles[name]
	return p, ok
}

// bare is an id as the app-server prints it.
func bare(id string) string { return strings.ReplaceAll(id, "-", "") }

// dashed is an id as an agent-server prints it.
func dashed(id string) string {
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}
