package profile

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/openhands/settings"
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

// ConversationSettings reads the settings as OpenHands does, which takes its defaults when
// there are none, and also when it cannot use them: then there is a [*SettingsError], too.
func (s *Store) ConversationSettings() (ConversationSettings, error) {
	snap := s.settings().Read()
	of := fingerprintOf(snap)
	if found, known := s.last.get(of); known {
		return found, nil
	}
	found, err := understood(snap, s.cfg.Ciphers)
	if err == nil {
		s.last.keep(of, found)
	}
	return found, err
}

// understood reads the settings in a file.
func understood(snap document.Snapshot, ciphers *Ciphers) (ConversationSettings, error) {
	var lost []lostSecret
	found, err := settings.Of(snap, shape.Reader{
		Open: func(token string) (secret.Value, error) {
			value, _, err := ciphers.Decrypt(token)
			return value, err
		},
		Lost: func(loc []any, err error) { lost = append(lost, lostSecret{loc, err}) },
		Now:  func() time.Time { return time.Time{} }, // the engine knows the time better
	})
	out := ConversationSettings{
		Confirmation: string(found.Conversation.Raw("confirmation_mode")) == "true", Analyzer: found.Conversation.Text("security_analyzer") == "llm",
	}
	if bad := json.Unmarshal(found.Conversation.Raw("max_iterations"), &out.MaxIterations); bad != nil {
		return out, errNotRead
	}
	action, _ := document.ActionOf(err)
	switch {
	case action == canon.ReportLegacyV0:
		out.Legacy = true
		return out, nil
	case err != nil:
		return out, &SettingsError{snap.File.Path, err}
	case snap.Missing():
		return out, nil
	case snap.Newer():
		out.Newer = snap.Sealed.Error()
	}
	if said := snap.Doc.Root().Get(settings.AgentMember); said.Exists() {
		err = out.agent(found.Agent, said, lost)
	}
	return out, err
}

// lostSecret is a secret of agent_settings that cannot be read.
type lostSecret struct {
	loc []any
	err error
}

// agent takes what engines read of agent_settings, as found in a file where it is said.
func (c *ConversationSettings) agent(found shape.Tree, said jsonedit.Value, lost []lostSecret) error {
	c.ACP = found.Text("agent_kind") == "acp"
	servers, context := maps.Clone(found.Tree("mcp_config")), found.Tree("agent_context")
	secrets := sourcesOf(context)
	critic := maps.Clone(found.Tree("verification"))
	criticized := !c.ACP && string(critic.Raw("critic_enabled")) == "true"
	for _, l := range lost {
		switch {
		case l.loc[0] == "mcp_config":
			delete(servers, l.loc[1].(string))
		case !c.ACP && l.loc[0] == "agent_context" && l.loc[1] == "secrets":
			delete(secrets, l.loc[2].(string))
		case criticized && l.loc[0] == "verification":
			delete(critic, l.loc[1].(string))
		default:
			continue // it is of something that engines do not read
		}
		c.Lost = append(c.Lost, LostSecret{pydantic.Path(settings.AgentMember, l.loc), l.err})
	}
	agent := shape.Tree{"mcp_config": servers}
	if !c.ACP {
		switches(found, said)
		agent.Take(found, "tools", "tool_concurrency_limit", shape.SubAgentsSwitch, shape.ModelSwitch)
		agent["condenser"] = shape.Tree{}.Take(found.Tree("condenser"),
			"condenser_kind", "enabled", "max_size", "keep_first", "max_tokens", "minimum_progress")
		words := shape.Tree{"secrets": secrets}.Take(context, "system_message_suffix", "user_message_suffix", "disabled_skills")
		if shape.IsNull(context["current_datetime"]) {
			words["current_datetime"] = context["current_datetime"] // the agent is told no date
		}
		if string(context.Raw("load_memory")) == "true" {
			words.Take(context, "load_memory")
		}
		agent["agent_context"] = words
	}
	if criticized {
		agent["verification"] = critic
	}
	plain, err := shape.Expose(agent, shape.Plain)
	if err != nil {
		return errNotRead
	}
	data, err := json.Marshal(plain)
	if err != nil {
		return errNotRead
	}
	c.Agent = secret.New(string(data))
	return nil
}

// sourcesOf are the secrets of an agent_context without members that say nothing.
func sourcesOf(context shape.Tree) shape.Tree {
	out := shape.Tree{}
	for name, value := range context.Tree("secrets") {
		if source, ok := value.(shape.Tree); ok {
			source = maps.Clone(source)
			maps.DeleteFunc(source, func(_ string, value any) bool { return shape.IsNull(value) })
			value = source
		}
		if !shape.IsNull(value) {
			out[name] = value
		}
	}
	return out
}

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
