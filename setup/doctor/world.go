package doctor

import (
	"context"
	"io/fs"
	"net/http"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/profile"
)

// World is all that checks look at. Its functions are called by many
// goroutines.
type World struct {
	Now    func() time.Time
	Built  time.Time // when this program was made; zero if unknown
	GOOS   string    // as runtime.GOOS
	Root   bool      // it runs as the user who may do everything
	Getenv func(string) string

	// Settings reads the settings. Its error is made for people.
	Settings func() (*config.Settings, error)
	Paths    func() (paths.Set, error)
	Stat     func(path string) (fs.FileInfo, error)
	// Mine reports whether the user owns a file.
	Mine func(fs.FileInfo) bool
	// Writable tells why no file can be made in a directory; it leaves none.
	Writable func(dir string) error
	// Free is how many bytes can still be written below a directory.
	Free func(dir string) (uint64, error)

	KeyStore func(context.Context) (KeyStore, error)
	// Provider asks the provider of the active profile for its models, which
	// costs nothing.
	Provider func(context.Context) (Provider, error)
	Profiles func(context.Context) (Profiles, error)

	// Bind tells why nothing can listen on an address. Nothing does afterwards.
	Bind func(ctx context.Context, addr string) error
	// Owner names who listens on an address.
	Owner func(ctx context.Context, addr string) string

	Backend func(context.Context) (Backend, error)
	// Agents are those of the embedded agent's files.
	Agents func(context.Context) (Agents, error)
	// Sandbox is that of the backend's agents. It tries to break out.
	Sandbox func(context.Context) (Sandbox, error)
	// Hooks are those of the user, as the embedded agent would run them.
	Hooks func(context.Context) (Hooks, error)
	// ServerClock is the time on the agent-server at an address; zero if it does
	// not say.
	ServerClock func(ctx context.Context, address string) (time.Time, error)
	// Do sends a request and follows no redirect.
	Do func(*http.Request) (*http.Response, error)

	// Browser finds the browser of agents. Its error is made for people.
	Browser func() (string, error)

	LookPath func(name string) (string, error)
	// Output runs a program and gives its standard output.
	Output func(ctx context.Context, name string, args ...string) (string, error)
	// PTY tells why there are no pseudo-terminals; nil if there are.
	PTY func() error

	// Daemon finds the daemon that runs, and asks it how it is. It is nil,
	// without an error, when none runs.
	Daemon func(context.Context) (*Daemon, error)
	// Gateway is a gateway to try: the daemon that runs, or one that is started
	// for this in the same process.
	Gateway func(context.Context) (Gateway, error)
	Version string // of this program
}

// KeyStore is where the LLM keys are.
type KeyStore struct {
	Name    string // for people
	Path    string
	Keys    int
	Plain   int  // that are not encrypted
	Exposed bool // others can read the file
	Problem error
}

// Profiles are OpenHands' LLM profiles on this machine.
type Profiles struct {
	Base   string
	Count  int
	Names  []string // of those that OpenHands can load, sorted
	Report profile.CheckReport
	Active *ActiveProfile // nil: none is active
	// Variable has a provider's key, and Add is the command that adds a profile with it;
	// empty if there are profiles, or no such variable.
	Variable, Add string
}

// ActiveProfile is the profile that the model "openhands" is.
type ActiveProfile struct {
	Name  string
	Model string
	// KeyFrom says where its key is; "" when there is none.
	KeyFrom string
	// NeedsNone says why it needs no key; "" when it does.
	NeedsNone string
	// Variables could hold its key.
	Variables []string
	// Withheld is a key of its provider that is not sent to the base URL of the
	// profile; "" if there is none.
	Withheld string
	// Refused is why a key that there is for the profile is not used, and Repair the
	// command against it; "" if there is none.
	Refused, Repair string
}

// Provider is what the provider of the active profile answered.
type Provider struct {
	Host  string // with its port, if the URL has one
	Model string // of the profile, as the provider calls it
	// Models are those that the key can use; nil if the provider lists none.
	Models []string
	// Problem is why there is no answer, with its repair; nil if there is one.
	Problem *Finding
	// Context is how many tokens a local server gives the model, and Server which program
	// it is; 0 and "" if it does not say.
	Context int64
	Server  window.Server
	// Change is the command that changes the profile, up to its --model.
	Change string
}

// Backend is what runs the agents.
type Backend struct {
	agentapi.Status

	Why      string // it was chosen
	Profiles int    // that it has; 0 where it does not tell

	// KeysWithheld: it was found, not named, and the user has not agreed that it gets
	// stored keys.
	KeysWithheld bool
}

// Sandbox is what keeps agents from the rights of the user.
type Sandbox struct {
	Level  string // as in [agentapi.SandboxStatus]; "backend" where an agent-server runs the commands
	Words  string // all of it in a line
	Reason string // why it is not better; may be empty
	Fix    string
	// Refused and Escaped are the attempts to break out, by their names.
	Refused, Escaped []string
	TestError        error // the attempts could not be made
	Grants           []time.Time
	GrantsError      error
}

// embedded reports whether the agents run in the process of the gateway.
func (b Backend) embedded() bool { return b.Address == "" }

// Daemon is a daemon that runs.
type Daemon struct {
	URL     string
	PID     int // 0 when it is elsewhere
	Version string
	Status  string // "ok" or "draining"
	// BackendError is why its agents cannot be used; "" when they can.
	BackendError string
	// Refused is why the daemon rejected the key; nil when it accepted the key.
	Refused error
}

// Gateway is a gateway that can be tried.
type Gateway struct {
	URL string // without /v1
	Key string // "": it wants none
	// Temporary reports that it runs for this only.
	Temporary bool
}
