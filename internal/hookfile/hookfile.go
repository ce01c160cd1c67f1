// Package hookfile reads OpenHands' hooks: what .openhands/hooks.json holds, and the
// hook_config of a request. It runs nothing.
package hookfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Path is where hooks are, below a project. Below OpenHands' directory of the user it is
// Name.
const (
	Path = ".openhands/" + Name
	Name = "hooks.json"
)

// The events that hooks can be tied to.
const (
	PreToolUse       = "pre_tool_use"
	PostToolUse      = "post_tool_use"
	UserPromptSubmit = "user_prompt_submit"
	SessionStart     = "session_start"
	SessionEnd       = "session_end"
	Stop             = "stop"
)

// Events are all of them.
func Events() []string {
	return []string{PreToolUse, PostToolUse, UserPromptSubmit, SessionStart, SessionEnd, Stop}
}

// Config is hooks by their events. It has all events, or is nil.
type Config map[string][]Matcher

// Matcher is the hooks for the tools that a pattern matches.
type Matcher struct {
	Matcher string `json:"matcher"`
	Hooks   []Hook `json:"hooks"`
}

// The types of hooks.
const (
	TypeCommand = "command"
	TypePrompt  = "prompt"
	TypeAgent   = "agent"
)

// Hook is one hook, with the defaults of OpenHands.
type Hook struct {
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

// Parse reads hooks: events in snake case or in Pascal case, on their own or below
// "hooks". It returns nil where there are none.
func Parse(data []byte) (Config, error) {
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
	found, some := Empty(), false
	for key, value := range file {
		name := snake(key)
		if !slices.Contains(Events(), name) {
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

// Empty has all events, and a hook for none of them.
func Empty() Config {
	c := make(Config)
	for _, name := range Events() {
		c[name] = []Matcher{}
	}
	return c
}

// Merge has the hooks of both, those of c first.
func (c Config) Merge(other Config) Config {
	if c == nil {
		return other
	}
	all := make(Config, len(c))
	for event, matchers := range c {
		all[event] = slices.Concat(matchers, other[event])
	}
	return all
}

// For returns the hooks for an event; tool is the tool's name for events of tools, ""
// for others.
func (c Config) For(event, tool string) []Hook {
	var hooks []Hook
	for _, m := range c[event] {
		if m.matches(tool) {
			hooks = append(hooks, m.Hooks...)
		}
	}
	return hooks
}

// matches reports whether a matcher is for a tool. One with the signs of a regular
// expression, or between slashes, has to match the whole name.
func (m Matcher) matches(tool string) bool {
	if m.Matcher == "*" || m.Matcher == "" {
		return true
	}
	if tool == "" {
		return false
	}
	pattern := m.Matcher
	slashes := len(pattern) > 2 && strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/")
	if slashes {
		pattern = pattern[1 : len(pattern)-1]
	}
	if slashes || strings.ContainsAny(pattern, `|.*+?[]()^$\`) {
		if re, err := regexp.Compile(`^(?:` + pattern + `)$`); err == nil {
			return re.MatchString(tool)
		} else if slashes {
			return false
		}
	}
	return m.Matcher == tool
}

func parseMatchers(data json.RawMessage) ([]Matcher, error) {
	var raw []struct {
		Matcher *string           `json:"matcher"`
		Hooks   []json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("read hooks: %w", err)
	}
	list := make([]Matcher, 0, len(raw))
	for _, m := range raw {
		made := Matcher{Matcher: "*", Hooks: []Hook{}}
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

func parseHook(data json.RawMessage) (Hook, error) {
	h := Hook{Type: TypeCommand, Tools: []string{}, Timeout: 60, MaxIterations: 3}
	var alias struct {
		Async *bool `json:"async_"`
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return Hook{}, fmt.Errorf("read hook: %w", err)
	}
	if err := json.Unmarshal(data, &alias); err != nil {
		return Hook{}, fmt.Errorf("read hook: %w", err)
	}
	if alias.Async != nil {
		h.Async = *alias.Async
	}
	return h, h.valid()
}

// valid returns what is wrong with a hook, by the rules of OpenHands; nil for nothing.
func (h Hook) valid() error {
	switch h.Type {
	case TypeCommand:
		if h.Command == "" {
			return errors.New("read hook: a hook of the type command needs a command")
		}
		return nil
	case TypePrompt, TypeAgent:
	default:
		return fmt.Errorf("read hook: %q is not a type of hook; use command, prompt or agent", h.Type)
	}
	switch {
	case h.Command != "":
		return fmt.Errorf("read hook: a hook of the type %s cannot have a command", h.Type)
	case h.Async:
		return fmt.Errorf("read hook: a hook of the type %s cannot be async", h.Type)
	case h.Type == TypePrompt && (h.Prompt == nil || *h.Prompt == ""):
		return errors.New("read hook: a hook of the type prompt needs a prompt")
	}
	return nil
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
