package fakeserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

type object map[string]any

// process is the life of the server as a context.
func (s *Server) process() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		dead, cancel := context.WithCancel(context.Background())
		cancel()
		return dead
	}
	return s.life.ctx
}

func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		answer(w, 422, object{"detail": []object{{"type": "json_invalid", "loc": []any{"body"}, "msg": err.Error()}}})
		return false
	}
	return true
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body))
}

func done(w http.ResponseWriter) { answer(w, 200, object{"success": true}) }

// refuse answers as the real server's error handlers do.
func refuse(w http.ResponseWriter, status int, text string) {
	if status >= 500 {
		answer(w, status, object{"detail": "Internal Server Error", "exception": fmt.Sprintf("%d: %s", status, text)})
		return
	}
	answer(w, status, object{"detail": text})
}
