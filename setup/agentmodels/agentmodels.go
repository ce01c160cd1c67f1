// Package agentmodels has the agents that are models: the agent profiles of OpenHands,
// and the agent definitions and teams of the user and of the workspace. It reads them again
// each time, so a file that is saved now counts in the next request.
//
// It starts nothing. If an agent refers to something that does not exist, either
// the agent is left out of the list, or the reference is left out of the agent; a
// problem gives the reason.
package agentmodels

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/oneline"
	"github.com/ohgw/ohgw/internal/openhands"
)

// Recipes are the agent profiles of OpenHands.
type Recipes interface {
	All() ([]openhands.AgentProfile, error)
	// Broken are the files that OpenHands does not load.
	Broken() ([]openhands.BrokenProfile, error)
	Resolve(ctx context.Context, id string) (openhands.Launch, error)
	// Path is the file of the one with that name.
	Path(name string) string
}

// Config says where agents are.
type Config struct {
	Project string // the workspace of all conversations; "" if each has its own
	Home    string // "": none of the user's definitions and skills that are there
	Base    string // OpenHands' directory of the user; "" as for Home
	Recipes Recipes
	// Profiles lists the LLM profiles.
	Profiles func(ctx context.Context) ([]agentapi.Profile, error)
	// Browser says why this machine has no browser for agents. Nil: that is not known.
	Browser func() error
	Log     *slog.Logger // gets problems, each once; nil: they are not logged
}

// Kind is where an agent comes from.
type Kind string

// The kinds.
const (
	Profile    Kind = "agent profile"
	Definition Kind = "definition"
)

// Entry is an agent.
type Entry struct {
	Name        string // in model ids, without the prefix
	Title       string // its own name
	Description string
	Kind        Kind
	Path        string // of its file
	LLM         string // the LLM profile that answers
	Definition  *definition.Definition
	Recipe      *openhands.AgentProfile
	Team        *team.Team // nil for an agent

	model    agentapi.Profile // of LLM
	modified time.Time
}

// Roster has the agents. Its methods may be called at the same time.
type Roster struct {
	cfg Config

	mu   sync.Mutex
	told map[string]bool // problems that were logged

	opened map[string]bool // workspaces that were looked at
}

// New makes a roster. It reads nothing yet.
func New(cfg Config) *Roster {
	return &Roster{cfg: cfg, told: make(map[string]bool), opened: make(map[string]bool)}
}

// List implements engine.Agents.
func (r *Roster) List(ctx context.Context) ([]agentapi.Profile, error) {
	entries, problems, err := r.Read(ctx)
	if err != nil {
		return nil, err
	}
	r.tell(problems)
	list := make([]agentapi.Profile, 0, len(entries))
	for _, e := range entries {
		list = append(list, e.profile())
	}
	return list, nil
}

// profile is the agent as a model.
func (e Entry) profile() agentapi.Profile {
	return agentapi.Profile{
		Name: agentapi.AgentProfile(e.Name), Agent: oneline.Of(e.Title), Description: oneline.Of(e.Description),
		Model: e.model.Model, BaseURL: e.model.BaseURL, Modified: e.modified, Revision: e.revision(),
	}
}

// Read loads the agents in the order of their names, and all that is wrong with them.
func (r *Roster) Read(ctx context.Context) ([]Entry, []definition.Problem, error) {
	llms, err := r.cfg.Profiles(ctx)
	if err != nil {
		return nil, nil, err
	}
	llms = slices.DeleteFunc(slices.Clone(llms), func(p agentapi.Profile) bool { return p.Agent != "" })
	l := listing{llms: llms, names: make(map[string]string)}
	for _, p := range llms {
		l.names[p.Name] = "the LLM profile " + p.Name
	}
	if err := l.recipes(r.cfg.Recipes); err != nil {
		return nil, nil, err
	}
	defs, problems := definition.Load(ctx, definition.Dirs(r.cfg.Project, r.cfg.Home, r.cfg.Base)...)
	l.problems = append(l.problems, problems...)
	for _, d := range defs {
		l.definition(d, r.known(llms))
	}
	teams, problems := definition.LoadTeams(ctx, definition.TeamDirs(r.cfg.Project, r.cfg.Home)...)
	l.problems = append(l.problems, problems...)
	l.addTeams(teams)
	l.problems = append(l.problems, LeftOut(r.cfg.Project, r.user())...)
	slices.SortFunc(l.entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return l.entries, l.problems, nil
}

// known is what definitions can refer to.
func (r *Roster) known(llms []agentapi.Profile) definition.Known {
	known := definition.Known{Tools: toolset.Names(), Profiles: []string{}}
	for _, p := range llms {
		known.Profiles = append(known.Profiles, p.Name)
	}
	return known
}

// tell logs problems that are new.
func (r *Roster) tell(problems []definition.Problem) {
	if r.cfg.Log == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := make(map[string]bool, len(problems))
	for _, p := range problems {
		key := p.Path + "\x00" + p.Msg
		now[key] = true
		if r.told[key] {
			continue
		}
		if p.Inert {
			r.cfg.Log.Warn(inert, "file", p.Path, "why", p.Msg, "remedy", p.Hint)
			continue
		}
		log := r.cfg.Log.With("agent", p.Agent, "file", p.Path, "line", p.Line, "why", p.Msg, "remedy", p.Hint)
		if p.Unused {
			log.Warn("an agent cannot be used")
			continue
		}
		log.Warn("an agent does not work as written")
	}
	r.told = now
}

// listing is a list of agents that is being made.
type listing struct {
	llms     []agentapi.Profile
	names    map[string]string // of models, to what has it
	entries  []Entry
	problems []definition.Problem
}

// unused notes why an agent profile or a definition is not an agent.
func (l *listing) unused(path string, line int, name, msg, hint string) {
	l.problems = append(l.problems, definition.Problem{Path: path, Line: line, Agent: name, Msg: msg, Hint: hint, Unused: true})
}

// llm is the LLM profile of a name; inherit is the active one.
func (l *listing) llm(name string) (agentapi.Profile, bool) {
	i := slices.IndexFunc(l.llms, func(p agentapi.Profile) bool {
		return p.Name == name || p.Active && (name == "" || name == definition.Inherit)
	})
	if i < 0 {
		return agentapi.Profile{}, false
	}
	return l.llms[i], true
}

// add makes an entry one of the list, unless its name is taken.
func (l *listing) add(e Entry, llm string, line int) {
	model, ok := l.llm(llm)
	switch {
	case !ok && (llm == "" || llm == definition.Inherit):
		l.unused(e.Path, line, e.Title, "no LLM profile is active, and the agent names none", "activate one: ohgw profiles use NAME")
		return
	case !ok:
		l.unused(e.Path, line, e.Title, "there is no LLM profile "+quoted(llm), "add it: ohgw profiles add "+llm)
		return
	}
	full := agentapi.AgentProfile(e.Name)
	if first, taken := l.names[full]; taken {
		named := 0
		if e.Definition != nil {
			named = e.Definition.Line("name")
		}
		l.unused(e.Path, named, e.Title, "the model "+openai.ModelPrefix+full+" is already that of "+first, "rename one of them")
		return
	}
	l.names[full] = e.Path
	e.model, e.LLM = model, model.Name
	e.modified = modified(e.Path)
	l.entries = append(l.entries, e)
}

// recipes adds the agent profiles of OpenHands.
func (l *listing) recipes(store Recipes) error {
	if store == nil {
		return nil
	}
	all, err := store.All()
	if err != nil {
		return err
	}
	for _, p := range all {
		path := store.Path(p.Name)
		switch {
		case strings.HasPrefix(p.Name, ownRecipes):
			continue
		case p.Kind == "acp":
			l.unused(path, p.Lines["agent_kind"], p.Name, "the agent is another program, which only an agent-server can run", "use it with an agent-server")
			continue
		case p.ID == nil || p.LLM == nil:
			l.unused(path, 0, p.Name, "the agent profile has no id or no llm_profile_ref", "save it again in OpenHands")
			continue
		}
		if p.Newer != "" {
			l.problems = append(l.problems, definition.Problem{
				Path: path, Agent: p.Name, Msg: p.Newer + ": ohgw uses what it understands of the file and does not change it", Hint: "install a newer ohgw",
				Newer: true, Line: p.Lines["schema_version"],
			})
		}
		l.add(Entry{Name: Slug(p.Name), Title: p.Name, Kind: Profile, Path: path, Recipe: &p}, *p.LLM, p.Lines["llm_profile_ref"])
	}
	return l.broken(store)
}

// broken notes the files that OpenHands does not load as agent profiles.
func (l *listing) broken(store Recipes) error {
	list, err := store.Broken()
	for _, b := range list {
		if strings.HasPrefix(b.Name, ownRecipes) {
			continue
		}
		l.unused(store.Path(b.Name), b.Line, b.Name, b.Msg, b.Hint)
	}
	return err
}

// ownRecipes begin the names of agent profiles that ohgw makes for itself.
const ownRecipes = "ohgw."

// definition adds an agent definition.
func (l *listing) definition(d definition.Definition, known definition.Known) {
	name := Slug(d.Name)
	if name == "" {
		l.unused(d.Path, d.Line("name"), d.Name, "the name has no letter and no digit", "write a name of letters, digits, dots and dashes")
		return
	}
	if d.ProfileDir != "" {
		d.Others = append(d.Others, "profile_store_dir")
	}
	for _, p := range definition.Check(d, known) {
		if p.Line == d.Line("model") && strings.Contains(p.Msg, "LLM profile") {
			continue // add notes why it is not a model
		}
		l.problems = append(l.problems, p)
	}
	l.problems = append(l.problems, limits(d)...)
	l.add(Entry{
		Name: name, Title: d.Name, Description: plainDescription(d.Description), Kind: Definition, Path: d.Path, Definition: &d,
	}, strings.TrimSuffix(d.Model, ".json"), d.Line("model"))
}

var errNoAgent = errors.New("there is no such agent")
