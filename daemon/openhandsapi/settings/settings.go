// Package settings serves what OpenHands keeps for its users: settings, secrets, LLM
// profiles, recipes of agents, provider connections, and the names of models. It knows
// no file: a [Store] keeps all of that.
package settings

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/pattern"
)

// Store keeps the values. Its failures are *openhands.Error, or are the program's.
type Store struct {
	Settings      Values
	Servers       Servers
	Secrets       Secrets
	LLMProfiles   LLMProfiles
	AgentProfiles AgentProfiles
	MetaProfiles  MetaProfiles
	Connections   Connections
}

// Values are the settings.
type Values interface {
	Get(ctx context.Context, e openhands.Exposure) (openhands.Settings, error)
	Patch(ctx context.Context, p openhands.Patch) (openhands.Settings, error)
}

// Servers are the tool servers (MCP) of the settings.
type Servers interface {
	Add(ctx context.Context, name string, server []byte) (openhands.Settings, error)
	Patch(ctx context.Context, name string, patch []byte) (openhands.Settings, error)
	Remove(ctx context.Context, name string) (openhands.Settings, error)
}

// Secrets are the user's secrets.
type Secrets interface {
	List(ctx context.Context) ([]openhands.SecretInfo, error)
	Get(ctx context.Context, name string) (string, error)
	Set(ctx context.Context, name, value string, description *string) error
	Remove(ctx context.Context, name string) error
}

// LLMProfiles are the LLM profiles.
type LLMProfiles interface {
	List(ctx context.Context) (openhands.LLMProfiles, error)
	Get(ctx context.Context, name string, e openhands.Exposure) (openhands.LLMConfig, error)
	Save(ctx context.Context, name string, llm json.RawMessage, secrets bool) error
	Remove(ctx context.Context, name string) error
	Rename(ctx context.Context, name, to string) error
	Activate(ctx context.Context, name string) error
	Parse(llm json.RawMessage) (json.RawMessage, error)
}

// AgentProfiles are the recipes of agents.
type AgentProfiles interface {
	List(ctx context.Context) (openhands.AgentProfiles, error)
	Get(ctx context.Context, name string) (map[string]any, error)
	Save(ctx context.Context, name string, members map[string]any) error
	Remove(ctx context.Context, name string) error
	Rename(ctx context.Context, name, to string) error
	Activate(ctx context.Context, id string) error
	// Diagnose says what an agent profile would give; with a draft, that in its place.
	Diagnose(ctx context.Context, name string, draft map[string]any) (openhands.Diagnosis, error)
}

// MetaProfiles are the choices of LLM profiles by kinds of tasks.
type MetaProfiles interface {
	List(ctx context.Context) (openhands.MetaProfiles, error)
	Get(ctx context.Context, name string) (map[string]any, error)
	Save(ctx context.Context, name string, members json.RawMessage) error
	Remove(ctx context.Context, name string) error
	// Activate reports false where the agent of the settings chooses no model.
	Activate(ctx context.Context, name string) (bool, error)
}

// Connections are the provider connections.
type Connections interface {
	List(ctx context.Context) ([]openhands.Connection, error)
	Add(ctx context.Context, c openhands.ConnectionChange) (openhands.Connection, error)
	Patch(ctx context.Context, id string, c openhands.ConnectionChange) (openhands.Connection, error)
	Remove(ctx context.Context, id string) (openhands.Connection, error)
}

// Trial is how an LLM answered a small question.
type Trial struct {
	OK   bool
	Type string // the class of OpenHands' error
	Msg  string // has no key in it
}

// Config is what the routes need. Store and Try are required.
type Config struct {
	Store Store
	// Try asks an LLM, its secrets in clear, one small question.
	Try func(ctx context.Context, llm json.RawMessage) Trial
	// Providers are the prefixes of models that are known, beside the verified ones.
	Providers []string
	Logger    *slog.Logger // nil: nothing is logged
}

// Routes are those of settings, profiles and models.
func Routes(cfg Config) []wire.Route {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{cfg}
	var routes []wire.Route
	routes = append(routes, s.valueRoutes()...)
	routes = append(routes, s.secretRoutes()...)
	routes = append(routes, s.profileRoutes()...)
	routes = append(routes, s.agentProfileRoutes()...)
	routes = append(routes, s.metaProfileRoutes()...)
	routes = append(routes, s.connectionRoutes()...)
	return append(routes, s.modelRoutes()...)
}

type server struct{ Config }

// exposure reads the header that says how secrets are shown.
func exposure(r *http.Request) (openhands.Exposure, error) {
	switch value := strings.ToLower(strings.TrimSpace(r.Header.Get("X-Expose-Secrets"))); value {
	case "":
		return openhands.Masked, nil
	case "encrypted", "true": // an old word, which must not show more
		return openhands.Encrypted, nil
	case "plaintext":
		return openhands.Clear, nil
	default:
		return 0, wire.Refuse(http.StatusBadRequest, "Invalid X-Expose-Secrets header value: '%.40s'. Valid values are: 'encrypted', 'plaintext'.", value)
	}
}

// namePattern is that of the names of profiles, and maxName their highest number of characters.
const (
	namePattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`
	maxName     = 64
)

var profileName = pattern.Of(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z`)

// pathName is the name of a profile in the path.
func pathName(r *http.Request) (string, error) {
	return checkedName(r.PathValue("name"), "path", "name")
}

func checkedName(name string, loc ...any) (string, error) {
	if !profileName().MatchString(name) {
		return "", mismatch(namePattern, name, loc...)
	}
	return name, nil
}

func mismatch(pattern, input string, loc ...any) error {
	return pydantic.Refuse(pydantic.Mismatch(pattern).At(loc, input))
}

// newName reads the body of a renaming.
func newName(r *http.Request) (string, error) {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return "", err
	}
	o.Need("new_name")
	name := o.Within("new_name", "", 1, maxName)
	if err := o.Err(); err != nil {
		return "", err
	}
	return checkedName(name, "body", "new_name")
}

func missing(field string) error {
	return pydantic.Refuse(pydantic.Missing().At([]any{"body", field}, nil))
}
