package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
)

const stateFile = "base_state.json"

// State is base_state.json: what a conversation is besides its events. Fields
// that are not here are kept as they were read.
type State struct {
	ID                 string            `json:"id"`
	Agent              json.RawMessage   `json:"agent"`
	Workspace          event.Workspace   `json:"workspace"`
	PersistenceDir     string            `json:"persistence_dir,omitempty"`
	MaxIterations      int               `json:"max_iterations"`
	StuckDetection     bool              `json:"stuck_detection"`
	Status             event.Status      `json:"execution_status"`
	ConfirmationPolicy json.RawMessage   `json:"confirmation_policy"`
	SecurityAnalyzer   json.RawMessage   `json:"security_analyzer,omitempty"`
	ActivatedSkills    []string          `json:"activated_knowledge_skills"`
	ActivatedPathRules []string          `json:"activated_path_rules"`
	InvokedSkills      []string          `json:"invoked_skills"`
	BlockedActions     map[string]string `json:"blocked_actions"`
	BlockedMessages    map[string]string `json:"blocked_messages"`
	LastUserMessageID  string            `json:"last_user_message_id,omitempty"`
	LeafEventID        string            `json:"leaf_event_id,omitempty"`
	HeadIsEmpty        bool              `json:"head_is_empty"`
	Stats              json.RawMessage   `json:"stats"`
	SecretRegistry     json.RawMessage   `json:"secret_registry"`
	Tags               map[string]string `json:"tags"`
	AgentState         json.RawMessage   `json:"agent_state"`
	HookConfig         json.RawMessage   `json:"hook_config,omitempty"`
	unknown            map[string]json.RawMessage
}

// NewState is the state of a conversation that has no event yet, with the
// defaults of OpenHands.
func NewState(id string, agent json.RawMessage, workspace string) State {
	return State{
		ID: id, Agent: agent, Workspace: event.Workspace{WorkingDir: workspace, Kind: "LocalWorkspace"},
		MaxIterations: 500, StuckDetection: true, Status: event.Idle,
		ConfirmationPolicy: json.RawMessage(`{"kind":"NeverConfirm"}`),
		ActivatedSkills:    []string{}, ActivatedPathRules: []string{}, InvokedSkills: []string{},
		BlockedActions: map[string]string{}, BlockedMessages: map[string]string{},
		Stats: json.RawMessage(`{"usage_to_metrics":{}}`), SecretRegistry: json.RawMessage(`{"secret_sources":{}}`),
		Tags: map[string]string{}, AgentState: json.RawMessage(`{}`),
	}
}

// UnmarshalJSON reads a state of any version of OpenHands since 1.11: what is
// missing has its default.
func (s *State) UnmarshalJSON(data []byte) error {
	type plain State
	p := plain(NewState("", nil, ""))
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &p.unknown); err != nil {
		return err
	}
	if p.Tags == nil { // null
		p.Tags = map[string]string{}
	}
	*s = State(p)
	known, err := s.members()
	if err != nil {
		return err
	}
	for name := range known {
		delete(s.unknown, name)
	}
	for name, value := range s.unknown {
		if string(value) == "null" || isOurs(name) {
			delete(s.unknown, name)
		}
	}
	return nil
}

// isOurs names the members that are left out when empty.
func isOurs(name string) bool {
	switch name {
	case "persistence_dir", "security_analyzer", "last_user_message_id", "leaf_event_id", "hook_config":
		return true
	}
	return false
}

// Clone returns a copy of s. Changes of one do not show in the other.
func (s State) Clone() State {
	s.ActivatedSkills, s.ActivatedPathRules, s.InvokedSkills = slices.Clone(s.ActivatedSkills), slices.Clone(s.ActivatedPathRules), slices.Clone(s.InvokedSkills)
	s.BlockedActions, s.BlockedMessages = maps.Clone(s.BlockedActions), maps.Clone(s.BlockedMessages)
	s.Tags, s.unknown = maps.Clone(s.Tags), maps.Clone(s.unknown)
	return s
}

// members are the members of the fields that are known here.
func (s State) members() (map[string]json.RawMessage, error) {
	type plain State
	data, err := plainjson.Marshal(plain(s))
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	err = json.Unmarshal(data, &members)
	return members, err
}

// MarshalJSON writes the known fields and everything that was read beside them.
func (s State) MarshalJSON() ([]byte, error) {
	if len(s.unknown) == 0 {
		type plain State
		return plainjson.Marshal(plain(s))
	}
	members, err := s.members()
	if err != nil {
		return nil, err
	}
	maps.Copy(members, s.unknown)
	return plainjson.Marshal(members)
}

func readState(path string) (State, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, ErrNotFound
	}
	if err != nil {
		return State{}, fmt.Errorf("read conversation: %w", err)
	}
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		if !json.Valid(data) {
			err = errors.Join(errTorn, err)
		}
		return State{}, &DamageError{File: stateFile, Err: err}
	}
	return s, nil
}

// SaveState writes the base state; with sync it is on the disk afterwards.
// That is for what only the state knows, such as another model. Everything that
// follows from the events is found again when a state that lags is opened.
func (d *Dir) SaveState(sync bool) error {
	data, err := d.State.MarshalJSON() // not json.Marshal: it would read all twice
	if err != nil {
		return fmt.Errorf("save conversation: %w", err)
	}
	if err := d.twins.write(d.opts.Files, filepath.Join(d.path, stateFile), data, sync); err != nil {
		return fmt.Errorf("save conversation: %w", err)
	}
	return nil
}

// twins are the base state and meta.json. Each can be made again from the other and the log, so
// only one of them is ever on its way to the disk.
type twins struct {
	pending string // the path of the one that is; empty: none
}

// write replaces one of them. If the other one is on its way, write waits for that first.
func (w *twins) write(files Files, path string, data []byte, sync bool) error {
	if w.pending != path {
		if err := w.flush(files, filepath.Dir(path)); err != nil {
			return err
		}
	}
	if err := files.Write(path, data, sync); err != nil {
		return err
	}
	if w.pending = path; sync {
		w.pending = ""
	}
	return nil
}

// flush waits for the one that is on its way.
func (w *twins) flush(files Files, dir string) error {
	if w.pending == "" {
		return nil
	}
	if err := files.Sync([]string{w.pending, dir}); err != nil {
		return err
	}
	w.pending = ""
	return nil
}
