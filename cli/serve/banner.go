package serve

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/setup/agents"
	"github.com/ohgw/ohgw/setup/firstrun"
	"github.com/ohgw/ohgw/setup/sandboxes"
	"github.com/ohgw/ohgw/setup/serving"
)

// greeting is what there is to say about a daemon that is ready.
type greeting struct {
	info     instance.Info
	settings *config.Settings
	backend  agents.Backend
	key      serving.Access
	state    string // the state directory
	detached bool   // the command that has started it waits for the line of JSON
}

// announce says that the daemon is ready: with all that a client needs on a
// terminal, else in one line.
func announce(ctx context.Context, a *kit.App, g greeting, log *slog.Logger) {
	st := g.backend.Status
	if a.JSON || g.detached {
		defer kit.WriteJSONLine(a.Stdout, g.json(ctx)) // who waits for it finds the log complete
	}
	switch {
	case a.Quiet:
	case a.Stderr.TTY() && !a.JSON:
		warnRoot(ctx, a, g.backend)
		banner(ctx, a, g)
		return
	case !a.JSON:
		a.Note("ohgw: ready at %s/v1; key: %s; agents: %s%s", g.info.URL, g.key.Source, g.backend.Line(), g.where())
		a.Note("ohgw: sandbox: %s", g.backend.SandboxLine(ctx))
	}
	warnRoot(ctx, a, g.backend)
	for _, m := range st.Missing {
		log.Warn("agent-server lacks a feature", "feature", m)
	}
	switch {
	case st.Err != nil && g.backend.InCloud():
		log.Warn("cloud does not answer", "address", st.Address, "err", st.Err)
	case st.Err != nil:
		log.Warn("agent-server does not answer", "address", st.Address, "err", st.Err)
	}
}

// warnRoot says what it means for the agents' commands that ohgw runs as root.
func warnRoot(ctx context.Context, a *kit.App, b agents.Backend) {
	switch {
	case !a.Root || !b.InProcess() || sandboxes.DemoAlone(b.Sandbox(ctx)):
	case sandboxes.Contained(b.Sandbox(ctx).Level):
		a.Note("warning: ohgw runs as root: a bug in the sandbox would give agents the whole machine")
	default:
		a.Note("warning: ohgw runs as root: the agents' commands can change everything on this machine")
		a.Note("  run it as a separate user: sudo -iu NAME ohgw serve")
	}
}

// readyJSON is what serve prints on stdout with --json, once it is ready.
type readyJSON struct {
	URL     string      `json:"url"`
	BaseURL string      `json:"base_url"` // for clients
	PID     int         `json:"pid"`
	Version string      `json:"version"`
	Key     string      `json:"key"` // which one; never its value
	Backend backendJSON `json:"backend"`
	Log     string      `json:"log,omitempty"` // of a daemon in the background
	Sandbox sandboxJSON `json:"sandbox"`

	// Workspace is where all agents work; empty: each in a new directory.
	Workspace string `json:"workspace"`
}

type backendJSON struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Address string   `json:"address"`
	Why     string   `json:"why"`
	Ready   bool     `json:"ready"`
	Missing []string `json:"missing"`
}

// sandboxJSON is the sandbox of new conversations.
type sandboxJSON struct {
	Level  string   `json:"level"` // "full", "reduced", "external", "off", or "backend" where an agent-server runs the commands
	Reason string   `json:"reason,omitempty"`
	Fix    string   `json:"fix,omitempty"`
	Open   []string `json:"open"`
}

func (g greeting) json(ctx context.Context) readyJSON {
	st, box := g.backend.Status, g.backend.Sandbox(ctx)
	return readyJSON{
		URL: g.info.URL, BaseURL: g.info.URL + "/v1", PID: g.info.PID, Version: g.info.Version, Key: g.key.Source, Workspace: g.settings.Workspace,
		Backend: backendJSON{
			Name: st.Name, Version: st.Version, Address: st.Address, Why: g.backend.Why, Ready: st.Err == nil, Missing: append([]string{}, st.Missing...),
		},
		Sandbox: sandboxJSON{Level: box.Level, Reason: box.Reason, Fix: box.Fix, Open: append([]string{}, box.Open...)},
	}
}

// banner writes what a person at the terminal needs: the address, the key, and what
// runs.
func banner(ctx context.Context, a *kit.App, g greeting) {
	w := a.Stderr
	var t kit.Table
	base := g.info.URL + "/v1"
	t.Add("Base URL", base)
	if g.key.Value.IsZero() {
		t.Add("Key", g.key.Source)
	}
	t.Add("Models", g.models(ctx, a))
	t.Add("Agents", g.backend.Line())
	t.Add("Sandbox", g.backend.SandboxLine(ctx))
	t.Add("Access", g.access())
	for _, m := range g.backend.Status.Missing {
		t.Add("Note", m)
	}
	fmt.Fprintln(w, w.Styled(iostream.Bold, "ohgw "+g.info.Version+" is ready."))
	fmt.Fprintln(w)
	_ = t.WritePairs(w) // To stderr: an error cannot be shown anywhere.
	if !g.key.Value.IsZero() {
		fmt.Fprintf(w, "\nFor a client started from a shell:\n\n  export OPENAI_BASE_URL=%s OPENAI_API_KEY=%s\n", base, g.key.Value.Reveal())
	}
	if err := g.backend.Status.Err; err != nil {
		fmt.Fprintf(w, "\n%s %s does not answer; requests fail with 503 until it does.\n", w.Styled(iostream.Yellow, "Warning:"), g.server())
	}
	fmt.Fprintf(w, "\nCtrl-C ends it.\n\n")
}

// access is what agents may do, and where.
func (g greeting) access() string {
	if g.backend.InCloud() {
		return "agents run commands and change files in the sandbox of their conversation, not on this machine"
	}
	return "agents run commands and change files as " + g.runner() + ", in " + g.workspace()
}

// runner is the user whose rights the agents have.
func (g greeting) runner() string {
	if g.backend.InProcess() {
		return "you"
	}
	return "the user that runs the agent-server"
}

// server is what runs the agents elsewhere.
func (g greeting) server() string {
	if g.backend.InCloud() {
		return "the cloud"
	}
	return "the agent-server"
}

// models lists the ids that clients can use, as far as the backend answers.
func (g greeting) models(ctx context.Context, a *kit.App) string {
	if g.backend.Status.Err != nil {
		return "not known until " + g.server() + " answers"
	}
	ctx, cancel := context.WithTimeout(ctx, agents.FirstLook)
	defer cancel()
	profiles, err := g.backend.Profiles(ctx)
	if err != nil {
		return "not known yet; list them with: ohgw models"
	}
	var ids []string
	for _, p := range profiles {
		if p.Active {
			ids = append([]string{openai.ModelActive}, ids...)
		}
		ids = append(ids, openai.ModelPrefix+p.Name)
	}
	const most = 8
	switch n := len(ids); {
	case n == 0:
		return g.none(ctx, a)
	case n > most:
		return fmt.Sprintf("%s and %d more (ohgw models)", strings.Join(ids[:most], ", "), n-most)
	}
	return strings.Join(ids, ", ")
}

// none says how to get the first model. A key in the environment is named where the
// agents run in this process.
func (g greeting) none(ctx context.Context, a *kit.App) string {
	if g.backend.InProcess() {
		if variable, command := firstrun.FromEnvironment(ctx, a.Setup(), g.settings); command != "" {
			return "none yet: " + variable + " has a key; create an LLM profile with it: " + command
		}
	}
	return "none yet: create an LLM profile with ohgw profiles add NAME, or try ohgw serve --demo"
}

// where is the directory of all agents as the end of a line; empty if each has
// its own.
func (g greeting) where() string {
	if g.settings.Workspace == "" {
		return ""
	}
	return "; directory: " + g.settings.Workspace
}

// workspace is where agents work, in words.
func (g greeting) workspace() string {
	if g.settings.Workspace != "" {
		return g.settings.Workspace + " (" + g.settings.Origin("workspace").String() + ")"
	}
	return "a new directory for each conversation, below " + filepath.Join(g.state, "workspaces")
}
