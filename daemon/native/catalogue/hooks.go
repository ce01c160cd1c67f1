package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/ohgw/ohgw/daemon/native/wire"
)

// hooksFile is where a project says its hooks.
const hooksFile = ".openhands/hooks.json"

// hookEvents are what hooks can be tied to.
func hookEvents() []string {
	return []string{"pre_tool_use", "post_tool_use", "user_prompt_submit", "session_start", "session_end", "stop"}
}

// matcher is the hooks for the tools that a pattern matches.
type matcher struct {
	Matcher string `json:"matcher"`
	Hooks   []hook `json:"hooks"`
}

// hook is one hook, with the defaults of OpenHands.
type hook struct {
	Type          string   `json:"type"`
	Name          *string  `json:"name"`
	Command       string   `json:"command"`
	Prompt        *string  `json:"prompt"`
	SystemPrompt  *string  `json:"system_prompt"`
	Tools         []string `json:"tools"`
	Timeout       int      `json:"timeout"` // seconds
	MaxIterations int      `json:"max_iterations"`
	Async         bool     `json:"async"`
}

// hooks reads the hooks of a project. Where they cannot be read there are none, as
// with an agent-server.
func (s *server) hooks(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Dir *string `json:"project_dir"`
	}
	if err := wire.ReadBody(r, &body, false); err != nil {
		return err
	}
	var found map[string][]matcher
	if body.Dir != nil && *body.Dir != "" {
		if data, err := s.ReadFile(*body.Dir, hooksFile); err == nil {
			found, _ = parseHooks(data)
		}
	}
	if len(found) == 0 {
		wire.WriteJSON(w, http.StatusOK, map[string]any{"hook_config": nil})
		return nil
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"hook_config": found})
	return nil
}

// parseHooks reads hooks.json: events in snake case or in Pascal case, on their own or
// below "hooks". It returns nil where there are none.
func parseHooks(data []byte) (map[string][]matcher, error) {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read hooks: %w", err)
	}
	if inner, ok := file["hooks"]; ok {
		file = nil
		if err := json.Unmarshal(inner, &file); err != nil {
			return nil, fmt.Errorf("read hooks: %w", err)
		}
	}
	found, some := make(map[string][]matcher), false
	for _, name := range hookEvents() {
		found[name] = []matcher{}
	}
	for key, value := range file {
		name := snake(key)
		if !slices.Contains(hookEvents(), name) {
			return nil, fmt.Errorf("read hooks: unknown event %q", key)
		}
		list, err := parseMatchers(value)
		if err != nil {
			return nil, err
		}
		if len(found[name]) > 0 {
			return nil, fmt.Errorf("read hooks: event %q is there twice", name)
		}
		found[name], some = list, some || len(list) > 0
	}
	if !some {
		return nil, nil
	}
	return found, nil
}

func parseMatchers(data json.RawMessage) ([]matcher, error) {
	var raw []struct {
		Matcher *string           `json:"matcher"`
		Hooks   []json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("read hooks: %w", err)
	}
	list := make([]matcher, 0, len(raw))
	for _, m := range raw {
		made := matcher{Matcher: "*", Hooks: []hook{}}
		if m.Matcher != nil {
			made.Matcher = *m.Matcher
		}
		for _, data := range m.Hooks {
			h, err := parseHook(data)
			if err != nil {
				return nil, err
			}
			made.Hooks = append(made.Hooks, h)
		}
		list = append(list, made)
	}
	return list, nil
}

func parseHook(data json.RawMessage) (hook, error) {
	h := hook{Type: "command", Tools: []string{}, Timeout: 60, MaxIterations: 3}
	var alias struct {
		Async *bool `json:"async_"`
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return hook{}, fmt.Errorf("read hook: %w", err)
	}
	if err := json.Unmarshal(data, &alias); err != nil {
		return hook{}, fmt.Errorf("read hook: %w", err)
	}
	if alias.Async != nil {
		h.Async = *alias.Async
	}
	if h.Type == "command" && h.Command == "" {
		return hook{}, errors.New("read hook: a hook of the type command needs a command")
	}
	return h, nil
}

// snake is PreToolUse as pre_tool_use.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
