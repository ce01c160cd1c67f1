package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// infoV0 is a ConversationInfo.
func (s *appServer) infoV0(id string) object {
	o := object{
		"conversation_id": id, "title": "Make a\nfile", "created_at": "2031-02-03T04:05:06.789012Z", "last_updated_at": nil, "status": "STOPPED", "runtime_status": nil,
		"selected_repository": "acme/teapot", "selected_branch": "main", "git_provider": "github", "trigger": "gui", "num_connections": 0, "url": nil, "session_api_key": nil,
		"pr_number": []int{}, "conversation_version": "V0",
	}
	switch {
	case id == archivedID:
		o["status"] = "ARCHIVED"
	case s.awake[id]:
		o["status"], o["runtime_status"], o["session_api_key"] = "RUNNING", "STATUS$READY", runtimeKey
		o["url"] = s.runtime + "/rt1/api/conversations/" + id
	}
	return o
}

// infoV1 is an AppConversation.
func (s *appServer) infoV1(id string) object {
	o := object{
		"id": id, "title": "Make a\nfile", "sandbox_id": "Box" + id[4:8], "created_at": "2031-02-03T04:05:06.789012Z", "updated_at": "2031-02-03T04:05:06.789012Z",
		"selected_repository": "acme/teapot", "selected_branch": "main", "git_provider": "github", "llm_model": "demo/large", "sandbox_status": "PAUSED",
		"execution_status": nil, "conversation_url": nil, "session_api_key": nil, "tags": object{"archiveworkspacepath": "/workspace/project"},
		"metrics": object{"accumulated_cost": 0.5, "accumulated_token_usage": object{"prompt_tokens": 10, "completion_tokens": 2}},
	}
	maps.Copy(o, s.changed[id])
	switch {
	case id == archivedID:
		o["sandbox_status"] = "MISSING"
	case s.awake[id]:
		o["sandbox_status"], o["execution_status"], o["session_api_key"] = "RUNNING", "finished", runtimeKey
		o["conversation_url"] = s.runtime + "/api/conversations/" + id
		if said := s.said[id]; len(said) > 0 && fails(said[len(said)-1]) {
			o["execution_status"] = "error"
		}
	}
	return o
}

// with gives a handler the conversation of the path, under the lock.
func (s *appServer) with(h func(w http.ResponseWriter, r *http.Request, id string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		id := strings.ReplaceAll(r.PathValue("id"), "-", "")
		if !s.has(id) {
			say(w, 404, object{"detail": "unknown_app_conversation"})
			return
		}
		h(w, r, id)
	}
}

func (s *appServer) routesV0(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/options/models", func(w http.ResponseWriter, _ *http.Request) { say(w, 200, []string{"demo/large"}) })
	mux.HandleFunc("GET /api/conversations", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		page, next := []any{nil}, any(nil) // null is a row that the server cannot read
		for i, id := range s.ids() {
			switch token := r.URL.Query().Get("page_id"); {
			case token == "" && i < 2, token == "Mg==" && i >= 2:
				page = append(page, s.infoV0(id))
			case token == "":
				next = "Mg=="
			}
		}
		say(w, 200, object{"results": page, "next_page_id": next})
	})
	mux.HandleFunc("GET /api/conversations/{id}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if id := r.PathValue("id"); s.has(id) {
			say(w, 200, s.infoV0(id))
			return
		}
		say(w, 200, nil)
	})
	mux.HandleFunc("POST /api/conversations", func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Message string `json:"initial_user_msg"`
		}
		_ = json.NewDecoder(r.Body).Decode(&req)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.said[asleepID] = append(s.said[asleepID], req.Message)
		say(w, 200, object{"status": "ok", "conversation_id": asleepID, "conversation_status": "STOPPED"})
	})
	mux.HandleFunc("POST /api/conversations/{id}/start", s.with(func(w http.ResponseWriter, _ *http.Request, id string) {
		s.awake[id] = true
		say(w, 200, object{"status": "ok", "conversation_id": id, "message": nil, "conversation_status": "RUNNING"})
	}))
	mux.HandleFunc("POST /api/conversations/{id}/message", s.with(func(w http.ResponseWriter, r *http.Request, id string) {
		var req struct{ Message string }
		_ = json.NewDecoder(r.Body).Decode(&req)
		s.said[id] = append(s.said[id], req.Message)
		say(w, 200, object{"success": true})
	}))
	mux.HandleFunc("DELETE /api/conversations/{id}", s.with(func(w http.ResponseWriter, _ *http.Request, id string) {
		s.removed[id] = true
		say(w, 200, true)
	}))
	mux.HandleFunc("GET /api/conversations/{id}/events", s.with(func(w http.ResponseWriter, r *http.Request, id string) {
		say(w, 200, object{"events": turned(s.events(id), r.URL.Query().Get("reverse") == "true"), "has_more": false})
	}))
}

// turned are events, the newest first where that was asked for.
func turned(list []object, reverse bool) []object {
	if !reverse {
		return list
	}
	var back []object
	for i := range list {
		back = append(back, list[len(list)-1-i])
	}
	return back
}

func (s *appServer) routesV1(mux *http.ServeMux) {
	const at = "/api/v1/app-conversations"
	mux.HandleFunc("GET "+at+"/count", func(w http.ResponseWriter, _ *http.Request) { say(w, 200, 3) })
	mux.HandleFunc("GET "+at+"/search", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		items := []any{nil}
		for _, id := range s.ids() {
			items = append(items, s.infoV1(id))
		}
		say(w, 200, object{"items": items, "next_page_id": nil})
	})
	mux.HandleFunc("GET "+at, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		list := []any{}
		for _, id := range r.URL.Query()["ids"] {
			if s.has(id) {
				list = append(list, s.infoV1(strings.ReplaceAll(id, "-", "")))
			} else {
				list = append(list, nil)
			}
		}
		say(w, 200, list)
	})
	task := object{"id": "task1", "status": "READY", "detail": nil, "app_conversation_id": asleepID, "sandbox_id": "Box9999", "agent_server_url": "http://x"}
	mux.HandleFunc("POST "+at, func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Message struct{ Content []struct{ Text string } } `json:"initial_message"`
			Repo    string                                    `json:"selected_repository"`
			Branch  string                                    `json:"selected_branch"`
			Host    string                                    `json:"git_provider"`
		}
		_ = json.NewDecoder(r.Body).Decode(&req)
		s.mu.Lock()
		defer s.mu.Unlock()
		if req.Repo == "acme/none" {
			say(w, 200, object{"id": "task2", "status": "ERROR", "detail": "no such repository"})
			return
		}
		s.awake[asleepID] = true
		if req.Branch != "" {
			s.changed[asleepID] = object{"selected_branch": req.Branch, "git_provider": req.Host}
		}
		for _, part := range req.Message.Content {
			s.said[asleepID] = append(s.said[asleepID], part.Text)
		}
		say(w, 200, task)
	})
	mux.HandleFunc("GET "+at+"/start-tasks", func(w http.ResponseWriter, r *http.Request) { say(w, 200, []any{nil}) })
	mux.HandleFunc("GET "+at+"/{id}/download", s.with(func(w http.ResponseWriter, _ *http.Request, id string) {
		parts := []string{"meta.json", `{"id":"` + id + `"}`}
		for i, e := range s.events(id) {
			text, _ := json.Marshal(e)
			parts = append(parts, fmt.Sprintf("event_%06d_x.json", i), string(text))
		}
		w.Header().Set("Content-Type", "application/zip")
		_, _ = w.Write(archive(parts...))
	}))
	mux.HandleFunc("POST "+at+"/{id}/send-message", s.with(func(w http.ResponseWriter, r *http.Request, id string) {
		if id == archivedID {
			say(w, 410, object{"detail": "Sandbox was deleted"})
			return
		}
		if !s.awake[id] {
			say(w, 409, object{"detail": "Sandbox is not running"})
			return
		}
		var req struct{ Content []struct{ Text string } }
		_ = json.NewDecoder(r.Body).Decode(&req)
		for _, part := range req.Content {
			s.said[id] = append(s.said[id], part.Text)
		}
		say(w, 200, object{"success": true, "sandbox_status": "RUNNING", "message": nil})
	}))
	mux.HandleFunc("PATCH "+at+"/{id}", s.with(func(w http.ResponseWriter, r *http.Request, id string) {
		change := object{}
		_ = json.NewDecoder(r.Body).Decode(&change)
		if s.changed[id] == nil {
			s.changed[id] = object{}
		}
		maps.Copy(s.changed[id], change)
		say(w, 200, s.infoV1(id))
	}))
	mux.HandleFunc("GET /api/v1/settings/profiles", func(w http.ResponseWriter, _ *http.Request) {
		say(w, 200, object{"profiles": []object{{"name": "fast", "model": "demo/small", "base_url": nil, "api_key_set": true}}, "active_profile": nil})
	})
	mux.HandleFunc("DELETE "+at+"/{id}", s.with(func(w http.ResponseWriter, _ *http.Request, id string) {
		s.removed[id] = true
		say(w, 200, object{"success": true})
	}))
	mux.HandleFunc("GET /api/v1/conversation/{id}/events/search", s.with(func(w http.ResponseWriter, r *http.Request, id string) {
		say(w, 200, object{"items": turned(s.events(id), strings.HasSuffix(r.URL.Query().Get("sort_order"), "_DESC")), "next_page_id": nil})
	}))
	mux.HandleFunc("GET /api/v1/sandboxes", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		say(w, 200, []any{s.sandbox(r.URL.Query().Get("id"))})
	})
	mux.HandleFunc("POST /api/v1/sandboxes/{box}/resume", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.awake[asleepID] = true
		say(w, 200, object{"success": true})
	})
}

// sandbox is a SandboxInfo.
func (s *appServer) sandbox(box string) any {
	for _, id := range []string{awakeID, asleepID} {
		if "Box"+id[4:8] != box {
			continue
		}
		if !s.awake[id] {
			return object{"id": box, "status": "PAUSED", "session_api_key": nil, "exposed_urls": nil}
		}
		return object{"id": box, "status": "RUNNING", "session_api_key": runtimeKey, "exposed_urls": []object{{"name": "AGENT_SERVER", "url": s.runtime, "port": 60000}}}
	}
	return nil
}

// runtimeRoutes are those of a runtime of either version. It ends the script if it is
// sent the key of the server.
func (s *appServer) runtimeRoutes(ts *testscript.TestScript) http.Handler {
	files := map[string]string{"a.txt": "hello\n", "sub/b.bin": "\x00\x01\xff", "/workspace/evil.txt": "evil\n"}
	file := func(w http.ResponseWriter, path string) {
		text, ok := files[strings.TrimPrefix(path, "/workspace/project/")]
		if !ok {
			say(w, 404, object{"detail": "File not found"})
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.WriteString(w, text)
	}
	mux := http.NewServeMux()
	const v0 = "GET /rt1/api/conversations/{id}"
	mux.HandleFunc(v0+"/git/changes", func(w http.ResponseWriter, _ *http.Request) {
		say(w, 200, []object{{"path": "a.txt", "status": "A"}, {"path": "old.txt", "status": "D"}, {"path": "../evil.txt", "status": "A"}})
	})
	mux.HandleFunc(v0+"/select-file", func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Query().Get("file")]
		if strings.Contains(text, "\x00") {
			say(w, 415, object{"error": "Unable to open binary file"})
			return
		}
		if !ok {
			say(w, 500, object{"error": "Error opening file: File not found: x"})
			return
		}
		say(w, 200, object{"code": text})
	})
	mux.HandleFunc(v0+"/zip-directory", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/zip")
		_, _ = w.Write(archive("a.txt", "hello\n"))
	})
	mux.HandleFunc(v0+"/trajectory", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		say(w, 200, object{"trajectory": s.events(r.PathValue("id"))})
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { say(w, 200, "OK") })
	mux.HandleFunc("GET /api/git/changes", func(w http.ResponseWriter, _ *http.Request) {
		say(w, 200, []object{{"path": "a.txt", "status": "ADDED"}, {"path": "sub/b.bin", "status": "UPDATED"}, {"path": "old.txt", "status": "DELETED"}, {"path": "../evil.txt", "status": "ADDED"}})
	})
	mux.HandleFunc("GET /api/file/download", func(w http.ResponseWriter, r *http.Request) { file(w, r.URL.Query().Get("path")) })
	mux.HandleFunc("GET /api/file/archive", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		_, _ = io.WriteString(w, "\x1f\x8b an archive")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { say(w, 404, object{"detail": "Not Found"}) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(fmt.Sprint(r.Header), appKey) {
			scriptState(ts).test.Errorf("the runtime got the key of the server: %s %s", r.Method, r.URL.Path)
		}
		if r.Header.Get("X-Session-Api-Key") != runtimeKey {
			say(w, 401, object{"error": "Unauthorized"})
			return
		}
		mux.ServeHTTP(w, r)
	})
}
