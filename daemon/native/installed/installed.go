// Package installed serves the skills that a user has installed: /api/skills/install and
// /api/skills/installed. They are directories beside OpenHands' own list of them, which
// its programs read and write as well. Nothing is fetched from the network.
package installed

import (
	"context"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// Boxes gives access to files with the rights that clients are to have.
type Boxes interface {
	// Below is access to a directory and what is in it, until release is called. Root is
	// the directory. One that clients may not reach is sandbox.ErrOutside.
	Below(ctx context.Context, dir string) (files sandbox.Streams, root string, release func(), err error)
}

// Config is what the routes need. All fields are required.
type Config struct {
	// Home is the user's directory. Skills are below .openhands in it.
	Home  string
	Boxes Boxes
	// Describe reads the SKILL.md of a directory of that name, and says what the skill
	// is for.
	Describe func(name string, data []byte) (description string, err error)
	Now      func() time.Time
}

// Routes are those of installed skills.
func Routes(cfg Config) []wire.Route {
	s := &server{Config: cfg, store: store{filepath.Join(cfg.Home, ".openhands", "skills", "installed"), cfg.Describe, cfg.Now}}
	const all, one = "/api/skills/installed", "/api/skills/installed/{name}"
	return []wire.Route{
		{Method: http.MethodPost, Path: "/api/skills/install", Summary: "Install a skill from a directory of this machine", Body: true, Handle: s.install},
		{Method: http.MethodGet, Path: all, Summary: "The skills that were installed", Handle: s.list},
		{Method: http.MethodGet, Path: one, Summary: "A skill that was installed", Handle: s.get},
		{Method: http.MethodPatch, Path: one, Summary: "Let the agent use a skill, or not", Body: true, Handle: s.enable},
		{Method: http.MethodDelete, Path: one, Summary: "Remove a skill that was installed", Handle: s.remove},
		{Method: http.MethodPost, Path: one + "/refresh", Summary: "Install a skill again from where it came", Handle: s.refresh},
	}
}

type server struct {
	Config

	store store
}

// answer is a skill as clients see it.
type answer struct {
	Name        string  `json:"name"`
	Version     string  `json:"version"`
	Description string  `json:"description"`
	Enabled     bool    `json:"enabled"`
	Source      string  `json:"source"`
	Resolved    *string `json:"resolved_ref"`
	RepoPath    *string `json:"repo_path"`
	InstalledAt string  `json:"installed_at"`
	Path        string  `json:"install_path"`
}

func answerOf(k known) answer {
	return answer{k.Name, k.Version, k.Description, k.Enabled, k.Source, k.Resolved, k.RepoPath, k.InstalledAt, k.Path}
}

func (s *server) list(w http.ResponseWriter, r *http.Request) error {
	list := []answer{}
	err := s.store.update(r.Context(), func(skills *catalog) error {
		for _, k := range skills.sorted() {
			list = append(list, answerOf(k))
		}
		return nil
	})
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"skills": list})
	return nil
}

// namePattern is that of the names of skills.
const namePattern = `^[a-z0-9]+(-[a-z0-9]+)*$`

// maxName is how long a name may be.
const maxName = 255

var skillName = regexp.MustCompile(`\A[a-z0-9]+(-[a-z0-9]+)*\z`)

func pathName(r *http.Request) (string, error) {
	name := r.PathValue("name")
	loc := []any{"path", "skill_name"}
	if len(name) > maxName {
		return "", wire.Unprocessable(wire.Invalid{
			Type: "string_too_long", Loc: loc, Msg: "String should have at most 255 characters", Input: name, Ctx: map[string]any{"max_length": maxName},
		})
	}
	if !skillName.MatchString(name) {
		return "", wire.Unprocessable(wire.Invalid{
			Type: "string_pattern_mismatch", Loc: loc, Msg: "String should match pattern '" + namePattern + "'", Input: name, Ctx: map[string]any{"pattern": namePattern},
		})
	}
	return name, nil
}

func notInstalled(name string) error {
	return wire.Refuse(http.StatusNotFound, "Skill '%s' is not installed", name)
}

func (s *server) get(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	k, err := s.store.one(r.Context(), name)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, answerOf(k))
	return nil
}

func (s *server) enable(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	body, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	body.Need("enabled")
	enabled := body.Bool("enabled", false)
	if err := body.Err(); err != nil {
		return err
	}
	err = s.store.update(r.Context(), func(skills *catalog) error {
		k, ok := skills.Known[name]
		if !ok {
			return notInstalled(name)
		}
		k.Enabled = enabled
		skills.Known[name] = k
		return nil
	})
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"name": name, "enabled": enabled})
	return nil
}

func (s *server) remove(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	if err := s.store.remove(r.Context(), name); err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]string{"message": "Skill '" + name + "' uninstalled"})
	return nil
}

func (s *server) install(w http.ResponseWriter, r *http.Request) error {
	body, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	body.Need("source")
	source := body.Text("source", 1, -1)
	if source == nil && body.Err() == nil {
		body.String("source", "") // it is null
	}
	ref, repoPath, force := body.Text("ref", 0, -1), body.Text("repo_path", 0, -1), body.Bool("force", false)
	if err := body.Err(); err != nil {
		return err
	}
	k, err := s.fetch(r.Context(), known{Source: *source, Requested: ref, RepoPath: repoPath}, force)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, answerOf(k))
	return nil
}

func (s *server) refresh(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	old, err := s.store.one(r.Context(), name)
	if err != nil {
		return err
	}
	k, err := s.fetch(r.Context(), known{Source: old.Source, RepoPath: old.RepoPath}, true)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"message": "Skill '" + name + "' updated", "skill": answerOf(k)})
	return nil
}

// remote is what git would fetch: an address, or a short form of one.
var remote = regexp.MustCompile(`^(github:|[A-Za-z][A-Za-z0-9+.-]*://|[\w.-]+@[\w.-]+:)`)

// noSource is the answer for a source in which there is no skill to be had.
func noSource(err error) error {
	return &wire.Error{Status: http.StatusBadRequest, Detail: "Failed to fetch skill source. Check that the source is valid.", Err: err}
}

// fetch installs what is at the source.
func (s *server) fetch(ctx context.Context, k known, force bool) (known, error) {
	source := strings.TrimSpace(k.Source)
	switch {
	case remote.MatchString(source):
		return k, wire.Refuse(http.StatusNotImplemented, "ohgw fetches no skills from the network. Clone the repository, and give the directory of the skill as its source.")
	case k.RepoPath != nil, !strings.ContainsAny(source, `/\`) && !strings.HasPrefix(source, ".") && !strings.HasPrefix(source, "~"), strings.ContainsRune(source, 0):
		return k, noSource(nil)
	}
	if rest, ok := strings.CutPrefix(source, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		source = filepath.Join(s.Home, rest)
	}
	return s.store.install(ctx, s.Boxes, source, k, force)
}
