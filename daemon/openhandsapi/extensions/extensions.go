// Package extensions serves the plugins and skills of the user: what is installed, what an
// agent could be given, and where the files of a plugin are. It knows no file.
package extensions

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/pattern"
)

// Store has what is installed. Its failures are [openhands.Error]s.
type Store interface {
	Install(ctx context.Context, from control.Plugin, force bool) (openhands.Extension, error)
	List(ctx context.Context) ([]openhands.Extension, error)
	Get(name string) (openhands.Extension, error)
	Enable(ctx context.Context, name string, enabled bool) error
	Remove(ctx context.Context, name string) error
	Refresh(ctx context.Context, name string) (openhands.Extension, error)
}

// Config is what the routes need. All fields are required.
type Config struct {
	Plugins, Skills Store
	// Contents are the skills and files of a plugin's directory; not ok: there is none.
	Contents func(dir string) (plugin openhands.PluginInfo, ok bool)
	// Available returns the plugins of the user, and those of a project, an absolute
	// path; "" stands for no project. Of two with one name the project's counts.
	Available func(project string, own bool) []openhands.PluginInfo
	// Fetch finds a plugin without installing it. Its failures are [FetchError]s.
	Fetch func(ctx context.Context, from control.Plugin) (openhands.FetchedPlugin, error)
}

// Routes are those of plugins, and those of installed skills.
func Routes(cfg Config) []wire.Route {
	s := &server{cfg}
	plugins := kind{noun: "plugin", store: cfg.Plugins, pattern: `^[a-z0-9]+(?:-[a-z0-9]+)*$`, show: s.withContents}
	skills := kind{noun: "skill", store: cfg.Skills, pattern: `^[a-z0-9]+(-[a-z0-9]+)*$`, show: alone}
	routes := []wire.Route{
		{Method: http.MethodPost, Path: "/api/plugins", Summary: "Plugins of the user and of a project", Body: true, Handle: s.available},
		{Method: http.MethodPost, Path: "/api/plugins/fetch", Summary: "Find a plugin without installing it", Body: true, Handle: s.fetch},
	}
	return append(append(routes, plugins.routes()...), skills.routes()...)
}

type server struct{ Config }

// kind is what can be installed.
type kind struct {
	noun, pattern string
	store         Store
	show          func(openhands.Extension) any
}

func (k kind) routes() []wire.Route {
	base := "/api/" + k.noun + "s"
	one := base + "/installed/{name}"
	return []wire.Route{
		{Method: http.MethodPost, Path: base + "/install", Summary: "Install a " + k.noun, Body: true, Handle: k.install},
		{Method: http.MethodGet, Path: base + "/installed", Summary: "The installed " + k.noun + "s", Handle: k.list},
		{Method: http.MethodGet, Path: one, Summary: "An installed " + k.noun, Handle: k.get},
		{Method: http.MethodPatch, Path: one, Summary: "Switch an installed " + k.noun + " on or off", Body: true, Handle: k.enable},
		{Method: http.MethodDelete, Path: one, Summary: "Remove an installed " + k.noun, Handle: k.remove},
		{Method: http.MethodPost, Path: one + "/refresh", Summary: "Install a " + k.noun + " again from its source", Handle: k.refresh},
	}
}

// installed is what OpenHands shows of an extension.
type installed struct {
	Name        string  `json:"name"`
	Version     string  `json:"version"`
	Description string  `json:"description"`
	Enabled     bool    `json:"enabled"`
	Source      string  `json:"source"`
	ResolvedRef *string `json:"resolved_ref"`
	RepoPath    *string `json:"repo_path"`
	InstalledAt string  `json:"installed_at"`
	Path        string  `json:"install_path"`
}

func shown(e openhands.Extension) installed {
	return installed{e.Name, e.Version, e.Description, e.Enabled, e.Source, e.ResolvedRef, e.RepoPath, e.InstalledAt, e.Path}
}

func alone(e openhands.Extension) any { return shown(e) }

// withContents shows a plugin with what is in it; null where it cannot be read.
func (s *server) withContents(e openhands.Extension) any {
	out := struct {
		installed

		Skills []openhands.PluginSkill `json:"skills"`
		Files  []string                `json:"files"`
	}{installed: shown(e)}
	if p, ok := s.Contents(e.Path); ok {
		out.Skills, out.Files = p.Skills, p.Files
	}
	return out
}

// readSource reads where something is.
func readSource(o *pydantic.Object) (from control.Plugin) {
	switch {
	case !o.Need("source"):
	case !o.Has("source"):
		o.String("source", "") // null is refused
	default:
		if source := o.Text("source", 1, -1); source != nil {
			from.Source = *source
		}
	}
	if ref := o.Text("ref", 0, -1); ref != nil {
		from.Ref = *ref
	}
	if path := o.Text("repo_path", 0, -1); path != nil {
		from.Path = *path
	}
	return from
}

func (k kind) install(w http.ResponseWriter, r *http.Request) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	from, force := readSource(o), o.Bool("force", false)
	if err := o.Err(); err != nil {
		return err
	}
	e, err := k.store.Install(r.Context(), from, force)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, k.show(e))
	return nil
}

func (k kind) list(w http.ResponseWriter, r *http.Request) error {
	all, err := k.store.List(r.Context())
	if err != nil {
		return err
	}
	list := make([]any, 0, len(all))
	for _, e := range all {
		list = append(list, k.show(e))
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{k.noun + "s": list})
	return nil
}

// name is the name in the path.
func (k kind) name(r *http.Request) (string, error) {
	name := r.PathValue("name")
	if len(name) <= 255 && validName().MatchString(name) {
		return name, nil
	}
	return "", pydantic.Refuse(pydantic.Mismatch(k.pattern).At([]any{"path", k.noun + "_name"}, name))
}

var validName = pattern.Of(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (k kind) get(w http.ResponseWriter, r *http.Request) error {
	name, err := k.name(r)
	if err != nil {
		return err
	}
	e, err := k.store.Get(name)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, k.show(e))
	return nil
}

func (k kind) enable(w http.ResponseWriter, r *http.Request) error {
	name, err := k.name(r)
	if err != nil {
		return err
	}
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	o.Need("enabled")
	enabled := o.Bool("enabled", false)
	if err := o.Err(); err != nil {
		return err
	}
	if err := k.store.Enable(r.Context(), name, enabled); err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, struct {
		Name    string `json:"name"`
		Enabled bool   `json:"enabled"`
	}{name, enabled})
	return nil
}

func (k kind) remove(w http.ResponseWriter, r *http.Request) error {
	name, err := k.name(r)
	if err != nil {
		return err
	}
	if err := k.store.Remove(r.Context(), name); err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]string{"message": k.titled() + " '" + name + "' uninstalled"})
	return nil
}

func (k kind) refresh(w http.ResponseWriter, r *http.Request) error {
	name, err := k.name(r)
	if err != nil {
		return err
	}
	e, err := k.store.Refresh(r.Context(), name)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"message": k.titled() + " '" + name + "' updated", k.noun: k.show(e)})
	return nil
}

// titled is the noun at the beginning of a sentence.
func (k kind) titled() string {
	if k.noun == "plugin" {
		return "Plugin"
	}
	return "Skill"
}

func (s *server) available(w http.ResponseWriter, r *http.Request) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	own, project := o.Bool("load_user", true), o.Bool("load_project", true)
	dir := o.Text("project_dir", 0, -1)
	if err := o.Err(); err != nil {
		return err
	}
	at := ""
	if project && dir != nil {
		at = *dir
	}
	list := s.Available(at, own)
	if list == nil {
		list = []openhands.PluginInfo{}
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"plugins": list})
	return nil
}

// limits of the time for a fetch, in seconds.
const (
	usualTimeout = 60
	maxTimeout   = 600
)

func (s *server) fetch(w http.ResponseWriter, r *http.Request) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	from := readSource(o)
	secrets := readSecrets(o)
	seconds := o.Int("timeout", usualTimeout, pydantic.Between(1, maxTimeout))
	if err := o.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	filled, err := secrets.fill(from)
	if err != nil {
		return err
	}
	found, err := s.Fetch(ctx, filled)
	if err != nil {
		return explain(err, secrets)
	}
	found.Source, found.RepoPath = from.Source, nil
	if from.Path != "" {
		found.RepoPath = &from.Path
	}
	if found.Manifest == nil {
		found.Manifest = json.RawMessage("{}")
	}
	wire.WriteJSON(w, http.StatusOK, found)
	return nil
}
