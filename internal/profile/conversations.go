package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/secret"
)

// ConversationSettings are what the settings say about new conversations, with
// OpenHands' defaults for what they do not say.
type ConversationSettings struct {
	// Agent is a JSON object: of agent_settings what an agent is made of, in
	// plain forms, its secrets decrypted. Its LLM is not in it: that is a
	// profile's matter. Zero: the settings say nothing about the agent.
	Agent secret.Value

	MaxIterations int64 // steps of a run
	Confirmation  bool  // risky actions wait for a person
	Analyzer      bool  // the model rates the risk of its actions

	// ACP reports that the settings are for an agent of another program, which
	// does not run here. MCP servers are all that Agent has then.
	ACP bool
	// Legacy reports that settings.json is in the OpenHands 0.x format, which
	// say nothing that a present one reads.
	Legacy bool
	// Newer is why settings of a newer OpenHands than all known ones may say more than
	// what is read here; "" for others.
	Newer string
	// Lost are the secrets that cannot be read. They are not in Agent, nor are
	// the MCP servers that need them.
	Lost []LostSecret
}

// LostSecret is a secret in a file that cannot be read.
type LostSecret struct {
	Entry string // where in the file
	Err   error  // never shows it
}

// SettingsError says why OpenHands' settings cannot be used.
type SettingsError struct {
	Path string // the file
	Err  error  // quotes nothing of it
}

func (e *SettingsError) Error() string { return fmt.Sprintf("settings %s: %v", e.Path, e.Err) }

func (e *SettingsError) Unwrap() error { return e.Err }

// ConversationSettings reads the settings as OpenHands does, which takes its
// defaults when there are none. It does so for settings that it cannot read,
// too; here they are a [*SettingsError].
func (s *Store) ConversationSettings() (ConversationSettings, error) {
	out := ConversationSettings{MaxIterations: 500, Analyzer: true}
	snap := s.settings().Read()
	switch {
	case snap.Missing():
		return out, nil
	case snap.Gate != nil && snap.Gate.Action == canon.ReportLegacyV0:
		out.Legacy = true
		return out, nil
	case snap.Gate != nil:
		return out, &SettingsError{s.settings().Path, snap.Gate}
	case snap.Doc.Irregular().NaN:
		return out, &SettingsError{s.settings().Path, errNotANumber}
	}
	r := settingsReader{ciphers: s.cfg.Ciphers, out: &out}
	r.conversation(snap.Doc.Root().Get("conversation_settings"))
	r.agent(snap.Doc.Root().Get("agent_settings"))
	if g := snap.Sealed; snap.Newer() {
		out.Newer = g.Error()
	}
	if r.err != nil {
		return out, &SettingsError{s.settings().Path, r.err}
	}
	return out, nil
}

var errNotANumber = errors.New("a number is NaN or infinite")

// settingsReader reads the settings until something is wrong with them.
type settingsReader struct {
	ciphers *Ciphers
	out     *ConversationSettings
	err     error
}

// member reads a member of an object, into gives its value in plain form.
func (r *settingsReader) member(path string, object jsonedit.Value, f shape.Field, into any) {
	if r.err != nil {
		return
	}
	value, ok := f.Read(object.Get(f.Name))
	if !ok || json.Unmarshal(value, into) != nil {
		r.refuse(join(path, f.Name))
	}
}

func (r *settingsReader) refuse(entry string) {
	if r.err == nil {
		r.err = &FieldError{entry}
	}
}

// object is a member that has to be an object where it is there.
func (r *settingsReader) object(path string, v jsonedit.Value, name string) jsonedit.Value {
	member := v.Get(name)
	switch member.Kind() {
	case jsonedit.Missing, jsonedit.Null, jsonedit.Object:
	default:
		r.refuse(join(path, name))
	}
	return member
}

func join(path, name string) string { return path + "." + name }

func (r *settingsReader) conversation(v jsonedit.Value) {
	const path = "conversation_settings"
	if v.Exists() && v.Kind() != jsonedit.Object {
		r.refuse(path)
		return
	}
	var analyzer *string
	r.member(path, v, shape.Number("max_iterations", shape.IntKind, 1, "500"), &r.out.MaxIterations)
	r.member(path, v, shape.Truth("confirmation_mode", "false"), &r.out.Confirmation)
	r.member(path, v, shape.Choice("security_analyzer", `"llm"`, "llm", "none").OrNull(), &analyzer)
	r.out.Analyzer = analyzer != nil && *analyzer == "llm"
}

// agentFields are the members of agent_settings that engines read and that are
// not objects.
func agentFields() []shape.Field {
	return []shape.Field{shape.Number("tool_concurrency_limit", shape.IntKind, 1, "1")}
}

// condenserFields are those of its condenser.
func condenserFields() []shape.Field {
	return []shape.Field{
		shape.Choice("condenser_kind", `"llm_summarizing"`, "llm_summarizing", "no_op"),
		shape.Truth("enabled", "true"),
		shape.Number("max_size", shape.IntKind, 20, "240"),
		shape.Number("keep_first", shape.IntKind, 0, "2"),
		shape.Number("max_tokens", shape.IntKind, 1, "null"),
		shape.Number("minimum_progress", shape.FloatKind, 0, "0.1").UpTo(1),
	}
}

// contextFields are those of its agent_context, the secrets apart.
func contextFields() []shape.Field {
	return []shape.Field{
		shape.Maybe("system_message_suffix", shape.TextKind),
		shape.Maybe("user_message_suffix", shape.TextKind),
	}
}

func (r *settingsReader) agent(v jsonedit.Value) {
	const path = "agent_settings"
	if !v.Exists() || r.err != nil {
		return
	}
	var kind string
	r.member(path, v, shape.Choice("agent_kind", `"openhands"`, "openhands", "llm", "acp"), &kind)
	r.out.ACP = kind == "acp"
	agent := map[string]any{"mcp_config": r.servers(r.object(path, v, "mcp_config"))}
	if !r.out.ACP {
		r.plain(path, v, agentFields(), agent)
		r.tools(path, v.Get("tools"), agent)
		r.switches(path, v, agent)
		condenser := map[string]any{}
		r.plain(join(path, "condenser"), r.object(path, v, "condenser"), condenserFields(), condenser)
		agent["condenser"] = condenser
		agent["agent_context"] = r.context(join(path, "agent_context"), r.object(path, v, "agent_context"))
	}
	if r.err != nil {
		return
	}
	data, err := json.Marshal(agent)
	if err != nil {
		r.err = errNotRead
		return
	}
	r.out.Agent = secret.New(string(data))
}

// plain adds the members of an object to out, in their plain forms.
func (r *settingsReader) plain(path string, object jsonedit.Value, fields []shape.Field, out map[string]any) {
	for _, f := range fields {
		var value json.RawMessage
		r.member(path, object, f, &value)
		out[f.Name] = value
	}
}

// tools are null, for OpenHands' own choice, or a list of named ones.
func (r *settingsReader) tools(path string, v jsonedit.Value, agent map[string]any) {
	if !v.Exists() || v.Kind() == jsonedit.Null {
		return
	}
	if v.Kind() != jsonedit.Array {
		r.refuse(join(path, "tools"))
		return
	}
	for t := range v.Elements() {
		if !isText(t.Get("name")) {
			r.refuse(join(path, "tools"))
		}
	}
	agent["tools"] = json.RawMessage(v.Raw())
}

func (r *settingsReader) context(path string, v jsonedit.Value) map[string]any {
	out := map[string]any{}
	r.plain(path, v, contextFields(), out)
	if date := v.Get("current_datetime"); date.Kind() == jsonedit.Null {
		out["current_datetime"] = nil // the agent is told no date
	}
	if disabled := v.Get("disabled_skills"); disabled.Kind() == jsonedit.Array {
		for name := range disabled.Elements() {
			if !isText(name) {
				r.refuse(join(path, "disabled_skills"))
			}
		}
		out["disabled_skills"] = json.RawMessage(disabled.Raw())
	}
	secrets := map[string]any{}
	path = join(path, "secrets")
	for name, v := range r.object("agent_settings.agent_context", v, "secrets").Members() {
		entry, lost := join(path, name), len(r.out.Lost)
		value, kept := r.secret(entry, v, "value", "headers")
		if kept && len(r.out.Lost) == lost {
			secrets[name] = value
		}
	}
	out["secrets"] = secrets
	return out
}

// servers are the MCP servers without those that lack a secret.
func (r *settingsReader) servers(v jsonedit.Value) map[string]any {
	path := "agent_settings.mcp_config"
	if wrapped := v.Get("mcpServers"); wrapped.Kind() == jsonedit.Object { // before OpenHands 1.37
		v, path = wrapped, join(path, "mcpServers")
	}
	out := map[string]any{}
	for name, server := range v.Members() {
		entry, lost := join(path, name), len(r.out.Lost)
		if server.Kind() != jsonedit.Object {
			r.refuse(entry)
			continue
		}
		members := map[string]any{}
		for member, v := range server.Members() {
			if !slices.Contains([]string{"env", "headers", "auth"}, member) {
				members[member] = json.RawMessage(v.Raw())
			} else if value, kept := r.secret(join(entry, member), v); kept {
				members[member] = value
			}
		}
		if len(r.out.Lost) == lost {
			out[name] = members
		}
	}
	return out
}

// secret is a value with the encrypted texts in it decrypted: all of them, or
// those of the members named and below. It is false for one that is not there:
// a blank. One that cannot be read is added to the lost ones.
func (r *settingsReader) secret(entry string, v jsonedit.Value, only ...string) (value any, kept bool) {
	switch v.Kind() {
	case jsonedit.String:
		if keyState(v) == KeyNone {
			return nil, false
		}
		plain, err := readSecret(v, r.ciphers)
		if err == nil && keyState(v) == KeyRedacted {
			err = errRedacted
		}
		if err != nil {
			r.out.Lost = append(r.out.Lost, LostSecret{entry, err})
		}
		return plain.Reveal(), true
	case jsonedit.Object:
		members := map[string]any{}
		for name, member := range v.Members() {
			if len(only) > 0 && !slices.Contains(only, name) {
				members[name] = json.RawMessage(member.Raw())
			} else if inner, kept := r.secret(join(entry, name), member); kept {
				members[name] = inner
			}
		}
		return members, true
	}
	return json.RawMessage(v.Raw()), true
}

var errRedacted = errors.New("the key was replaced by a mask when the profile was saved")

// LostText reports which secrets cannot be read, in a sentence; "" for none.
func (c ConversationSettings) LostText() string {
	if len(c.Lost) == 0 {
		return ""
	}
	list := make([]string, len(c.Lost))
	for i, l := range c.Lost {
		list[i] = fmt.Sprintf("%s (%v)", l.Entry, l.Err)
	}
	return strings.Join(list, ", ")
}

func isText(v jsonedit.Value) bool {
	_, ok := v.Text()
	return ok
}
