package conversations

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shape"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/uuid"
)

// runtimeInfo says that a conversation runs in this process, which is always there.
const runtimeInfo = `{"runtime_status":"available","can_resume":true,"runtime_error":null}`

// members lists the members of a ConversationInfo, in the agent-server's order, and
// what they are where neither the state nor the metadata has them.
func members() [][2]string {
	return [][2]string{
		{"id", `""`},
		{"workspace", "null"},
		{"persistence_dir", "null"},
		{"max_iterations", "500"},
		{"stuck_detection", "true"},
		{"execution_status", `"idle"`},
		{"confirmation_policy", `{"kind":"NeverConfirm"}`},
		{"security_analyzer", "null"},
		{"activated_knowledge_skills", "[]"},
		{"invoked_skills", "[]"},
		{"blocked_actions", "{}"},
		{"blocked_messages", "{}"},
		{"last_user_message_id", "null"},
		{"leaf_event_id", "null"},
		{"stats", `{"usage_to_metrics":{}}`},
		{"secret_registry", `{"secret_sources":{}}`},
		{"agent_state", "{}"},
		{"hook_config", "null"},
		{"title", "null"},
		{"metrics", "null"},
		{"created_at", "null"},
		{"updated_at", "null"},
		{"forked_from_conversation_id", "null"},
		{"forked_from_event_id", "null"},
		{"parent_conversation_id", "null"},
		{"sub_conversation_ids", "[]"},
		{"tags", "{}"},
		{"current_model_id", "null"},
		{"available_models", "[]"},
		{"supports_runtime_model_switch", "false"},
		{"launched_agent_profile", "null"},
		{"agent", "null"},
		{"client_tools", "[]"},
		{"tool_module_qualnames", "{}"},
		{"runtime_info", "null"},
	}
}

// leftOutMember is ohgw's own: how many events are on the disk behind one that is
// missing. It is there only where some are.
const leftOutMember = "events_left_out"

// shown is what of a conversation is shown: its skills, and what it runs in. The answer
// for a change has no runtime, as with an agent-server.
type shown struct{ skills, runtime bool }

// infos shows records as OpenHands' ConversationInfo, in their order.
func (s *server) infos(ctx context.Context, show shown, records ...control.Record) ([]json.RawMessage, error) {
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.ID
	}
	children, err := s.Engine.Children(ctx, ids...)
	if err != nil {
		return nil, err
	}
	list := make([]json.RawMessage, len(records))
	for i, r := range records {
		if list[i], err = infoOf(r, children[r.ID], show); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// infoOf shows a record as OpenHands' ConversationInfo.
func infoOf(r control.Record, children []string, show shown) (json.RawMessage, error) {
	var state, meta map[string]json.RawMessage
	if err := json.Unmarshal(r.State, &state); err != nil {
		return nil, fmt.Errorf("read the state of conversation %s: %w", r.ID, err)
	}
	if len(r.Meta) > 0 {
		if err := json.Unmarshal(r.Meta, &meta); err != nil {
			return nil, fmt.Errorf("read what is known about conversation %s: %w", r.ID, err)
		}
	}
	special := map[string]func() (any, error){
		"id":                    func() (any, error) { return r.ID, nil },
		"title":                 func() (any, error) { return nullable(r.Title), nil },
		"created_at":            func() (any, error) { return r.Created.UTC().Format(timeForm), nil },
		"updated_at":            func() (any, error) { return r.Updated.UTC().Format(timeForm), nil },
		"metrics":               func() (any, error) { return nil, nil },
		"sub_conversation_ids":  func() (any, error) { return children, nil },
		"agent":                 func() (any, error) { return agentOf(state["agent"], show.skills) },
		"stats":                 func() (any, error) { return statsOf(state, meta) },
		"tool_module_qualnames": func() (any, error) { return modulesOf(meta, state["agent"]) },
		"secret_registry":       func() (any, error) { return unmasked(state["secret_registry"]) },
	}
	if show.runtime {
		special["runtime_info"] = func() (any, error) { return json.RawMessage(runtimeInfo), nil }
	}
	var out strings.Builder
	out.WriteByte('{')
	for i, m := range members() {
		value, err := member(m, state, meta, special[m[0]])
		if err != nil {
			return nil, fmt.Errorf("show %s of conversation %s: %w", m[0], r.ID, err)
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(`"` + m[0] + `":`)
		out.Write(value)
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(&out, `,"%s":%d`, leftOutMember, r.LeftOut)
	}
	out.WriteByte('}')
	return json.RawMessage(out.String()), nil
}

// statsOf are the statistics, filled in; nil where there are none. OpenHands has none
// before the first message, also in a copy, and then those of all models.
func statsOf(state, meta map[string]json.RawMessage) (any, error) {
	raw := state["stats"]
	if none(raw) {
		return nil, nil
	}
	stats, err := shape.Stats(raw)
	if err != nil {
		return nil, err
	}
	return shape.Called(stats, state["agent"], !none(state["last_user_message_id"]) && none(meta["forked_from_conversation_id"]))
}

func none(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// member chooses the value of a member: a special one, that of the state, that of the
// metadata, or what it is otherwise.
func member(m [2]string, state, meta map[string]json.RawMessage, special func() (any, error)) (json.RawMessage, error) {
	if special != nil {
		v, err := special()
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(v)
		if string(data) == "null" {
			return json.RawMessage(m[1]), err
		}
		return data, err
	}
	for _, from := range []map[string]json.RawMessage{state, meta} {
		if v := from[m[0]]; len(v) > 0 && string(v) != "null" {
			return dashed(m[0], v), nil
		}
	}
	return json.RawMessage(m[1]), nil
}

// dashed is the id of another conversation in its dashed form: the metadata has it
// without.
func dashed(name string, v json.RawMessage) json.RawMessage {
	if !strings.HasSuffix(name, "_conversation_id") {
		return v
	}
	if id, err := uuid.Parse(strings.Trim(string(v), `"`)); err == nil {
		return json.RawMessage(`"` + id + `"`)
	}
	return v
}

// timeForm is that of the times of a conversation.
const timeForm = "2006-01-02T15:04:05.000000Z07:00"

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// writeInfo answers with a conversation.
func (s *server) writeInfo(w http.ResponseWriter, r *http.Request, status int, record control.Record) error {
	skills, err := wire.Bool(r, "include_skills", false)
	if err != nil {
		return err
	}
	info, err := s.infos(r.Context(), shown{skills: skills, runtime: r.Method == http.MethodGet}, record)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, status, info[0])
	return nil
}
