package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/doctor"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/setup/agents"
	"github.com/ohgw/ohgw/internal/setup/inspect"
)

// glance bounds how long the bare command looks for an agent-server.
const glance = 300 * time.Millisecond

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

	only string // the one profile, where none is active
}

// nextStep is a command that makes sense now.
type nextStep struct {
	Command string `json:"command"`
	Text    string `json:"text"`
}

// first answers "ohgw" alone: what is there, and what to do from here.
func (a *App) first(cmd *cobra.Command) error {
	s := a.lookAround(cmd.Context())
	s.Next = s.steps()
	if a.json {
		return a.printJSON(s)
	}
	lines := s.lines()
	width := 0
	for _, n := range s.Next {
		width = max(width, len(n.Command))
	}
	for _, n := range s.Next {
		lines = append(lines, fmt.Sprintf("  %-*s  %s", width, n.Command, n.Text))
	}
	return writeText(a.Stdout, strings.Join(lines, "\n")+"\n")
}

// lookAround finds out what is there.
func (a *App) lookAround(ctx context.Context) *situation {
	s := &situation{Version: buildinfo.Get().Version}
	settings, err := a.settings(nil)
	if err != nil {
		s.Problem = setup.Clean(err.Error())
		return s
	}
	dirs, err := a.Setup().Dirs()
	if err != nil {
		s.Problem = setup.Clean(err.Error())
		return s
	}
	if info, err := instance.Find(dirs.Runtime); err == nil {
		s.Daemon = info.URL + "/v1"
	}
	s.AgentServer = a.findServer(ctx, settings)
	active, count, err := a.activeProfile(ctx, settings)
	if err != nil {
		s.Problem = setup.Clean(err.Error())
		return s
	}
	s.Profiles = count
	if active == nil {
		return s
	}
	s.Model, s.HasKey = active.Model, active.KeyFrom != "" || active.NeedsNone != ""
	if active.only {
		s.only = active.Name
	} else {
		s.Active = active.Name
	}
	return s
}

// findServer is the agent-server that answers where serve would look for one.
func (a *App) findServer(ctx context.Context, s *config.Settings) string {
	address := s.AgentServer.URL
	if address == "" {
		address = agents.DefaultServer
	}
	if s.Backend == "embedded" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/server_info", http.NoBody)
	if err != nil {
		return ""
	}
	resp, err := a.HTTP.Do(req)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	var info struct {
		Version string `json:"version"`
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil || json.Unmarshal(text, &info) != nil || info.Version == "" {
		return ""
	}
	return address
}

// chosenProfile is the active profile, or the only one.
type chosenProfile struct {
	*doctor.ActiveProfile

	only bool
}

// activeProfile is the active profile, or the only one; nil if there is none.
func (a *App) activeProfile(ctx context.Context, s *config.Settings) (*chosenProfile, int, error) {
	store, err := a.Setup().ProfileStore(0)
	if err != nil {
		return nil, 0, err
	}
	list, err := store.List(ctx)
	if err != nil {
		return nil, 0, a.Setup().ProfileFault(ctx, err, "")
	}
	keyStore, err := a.Setup().OpenKeyStore(s, secret.PatienceForMachines)
	if err != nil {
		return nil, 0, err
	}
	keys := secret.NewResolver(keyStore, secret.Providers(), a.Setup().Lookup)
	names, err := keys.Names(ctx)
	if err != nil {
		names = nil // doctor says more
	}
	for i := range list {
		if list[i].Active {
			return &chosenProfile{inspect.ActiveProfile(&list[i], keys, names), false}, len(list), nil
		}
	}
	if len(list) == 1 {
		return &chosenProfile{inspect.ActiveProfile(&list[0], keys, names), true}, 1, nil
	}
	return nil, len(list), nil
}

// lines say what is there.
func (s *situation) lines() []string {
	lines := []string{"ohgw " + s.Version + ": OpenHands agents for every OpenAI client"}
	switch {
	case s.Problem != "":
		return append(lines, "Something is wrong: "+s.Problem, "")
	case s.Daemon != "":
		lines = append(lines, "It runs, and answers at "+s.Daemon)
	default:
		lines = append(lines, "It does not run yet.")
	}
	if s.AgentServer != "" {
		lines = append(lines, "An agent-server answers at "+s.AgentServer+"; ohgw serve uses it.")
	}
	switch {
	case s.Profiles == 0:
		lines = append(lines, "There is no LLM profile yet, so agents have no model.")
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

// steps are what to do from here, the next one first.
func (s *situation) steps() []nextStep {
	doctor, help := nextStep{"ohgw doctor", "find out what is wrong"}, nextStep{"ohgw help", "all commands"}
	serve := nextStep{"ohgw serve", "answer clients"}
	chat := nextStep{"ohgw chat", "talk to an agent here"}
	demo := nextStep{"ohgw serve --demo", "try it without a key"}
	switch {
	case s.Problem != "":
		return []nextStep{doctor, help}
	case s.Daemon != "":
		return []nextStep{{"ohgw connect", "settings for clients"}, chat, {"ohgw status", "what it does now"}, doctor, help}
	case s.Profiles == 0:
		return []nextStep{{"ohgw profiles add NAME --model anthropic/claude-sonnet-4-5", "make one"}, demo, serve, help}
	case s.Active == "" && s.only != "":
		return []nextStep{{"ohgw profiles use " + s.only, "make it the active one"}, serve, demo, help}
	case s.Active == "":
		return []nextStep{{"ohgw profiles use NAME", "make one the active one"}, {"ohgw profiles list", "which there are"}, serve, demo, help}
	case !s.HasKey:
		return []nextStep{{"ohgw keys set " + s.Active, "store its key"}, demo, doctor, help}
	}
	return []nextStep{serve, chat, {"ohgw connect", "settings for clients"}, doctor, help}
}
