package overview

import (
	"fmt"
)

// situation is what the bare command finds. It looks at files and at one port
// of this machine, and starts nothing.
type situation struct {
	Version     string     `json:"version"`
	Daemon      string     `json:"daemon"`       // base URL for clients; "" when none runs
	AgentServer string     `json:"agent_server"` // the one that serve would use; "" when none answers
	Profiles    int        `json:"profiles"`
	Active      string     `json:"active"` // profile; "" for none
	Model       string     `json:"model"`
	HasKey      bool       `json:"has_key"` // or needs none
	Problem     string     `json:"problem"` // why nothing can be told
	Next        []nextStep `json:"next"`

	only      string // the one profile, where none is active
	elsewhere bool   // the user has chosen agents that have profiles of their own
}

// nextStep is a command that makes sense now.
type nextStep struct {
	Command string `json:"command"`
	Text    string `json:"text"`
}

// isEmpty reports whether nothing is set up yet.
func (s *situation) isEmpty() bool { return s.Problem == "" && s.Daemon == "" && s.Profiles == 0 }

// isReady reports whether a chat has a model: of the active profile or the only one,
// which has its key, or of agents elsewhere that the user has chosen.
func (s *situation) isReady() bool {
	return s.Problem == "" && (s.Active+s.only != "" && s.HasKey || s.Profiles == 0 && s.elsewhere)
}

// lines say what is there.
func (s *situation) lines() []string {
	lines := []string{"ohgw " + s.Version + ": OpenHands agents for every OpenAI client"}
	switch {
	case s.Problem != "":
		return append(lines, "Something is wrong: "+s.Problem, "")
	case s.Daemon != "":
		lines = append(lines, "ohgw is running at "+s.Daemon)
	default:
		lines = append(lines, "ohgw is not running.")
	}
	if s.AgentServer != "" {
		lines = append(lines, "An agent-server answers at "+s.AgentServer+"; ohgw serve uses it.")
	}
	switch {
	case s.Profiles == 0:
		lines = append(lines, "No LLM profile yet, so agents have no model.")
	case s.Active != "" && !s.HasKey:
		lines = append(lines, "The active profile "+s.Active+" ("+s.Model+") has no key.")
	case s.Active != "":
		lines = append(lines, "The active profile is "+s.Active+" ("+s.Model+").")
	case s.only != "":
		lines = append(lines, "The profile "+s.only+" ("+s.Model+") is not active yet.")
	default:
		lines = append(lines, fmt.Sprintf("There are %d profiles, and none is active.", s.Profiles))
	}
	return append(lines, "")
}

// steps lists what to do from here, the next one first.
func (s *situation) steps() []nextStep {
	doctor, help := nextStep{"ohgw doctor", "find out what is wrong"}, nextStep{"ohgw help", "all commands"}
	serve := nextStep{"ohgw serve", "start the gateway"}
	chat := nextStep{"ohgw chat", "chat with an agent"}
	demo := nextStep{"ohgw serve --demo", "try it without a key"}
	switch {
	case s.Problem != "":
		return []nextStep{doctor, help}
	case s.Daemon != "":
		return []nextStep{{"ohgw connect", "settings for clients"}, chat, {"ohgw status", "what is running"}, doctor, help}
	case s.Profiles == 0:
		return []nextStep{{"ohgw profiles add NAME", "create one"}, demo, serve, help}
	case s.Active == "" && s.only != "":
		return []nextStep{{"ohgw profiles use " + s.only, "activate it"}, serve, demo, help}
	case s.Active == "":
		return []nextStep{{"ohgw profiles use NAME", "activate one"}, {"ohgw profiles list", "list them"}, serve, demo, help}
	case !s.HasKey:
		return []nextStep{{"ohgw keys set " + s.Active, "store its key"}, demo, doctor, help}
	}
	return []nextStep{chat, serve, {"ohgw connect", "settings for clients"}, doctor, help}
}
