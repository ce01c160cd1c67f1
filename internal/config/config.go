// Package config holds ohgw's settings and where each of them came from.
//
// A setting comes from the first of: flag, OHGW_* variable, config file,
// default. [Fields] is the one table of all settings; flags, variables, keys,
// `ohgw config show` and the man page are made from it. Secrets are never
// settings: the config file may name a file that holds a key, not the key.
//
// It reads one file, and writes to it only what the user chose ([Remember]).
// Invariant: what [Load] returns is valid, as far as that can be checked
// without the network and other files.
package config

import "time"

// Config is every setting with its value.
type Config struct {
	Addr         string // host:port that serve listens on
	Backend      string // auto, agent-server, embedded, cloud
	Demo         bool
	Confirm      string // never, risky, always
	AgentServer  AgentServer
	Cloud        Cloud
	State        State
	KeyStore     string // keyring, file
	Workspace    string // directory that all conversations work in; "" for one each
	WorkspacePer string // conversation, chat
	NoAuth       bool
	MetricsOpen  bool     // GET /metrics needs no token
	Native       bool     // serve OpenHands' own API, too
	AllowOrigins []string // origins of web pages that may call, such as https://chat.example.org
	AllowHosts   []string // names, without port, under which clients may call
	LogFormat    string   // auto, text, json
	MaxRuns      int      // runs at the same time
	MaxQueue     int      // requests that wait for one of those
	OneShotTTL   time.Duration
	ResponsesTTL time.Duration
	RunTimeout   time.Duration // 0: none
	Idle         Idle
	Drain        time.Duration
	StreamText   string // live, answer
	Progress     string // reasoning, off
	History      string // quote, ignore
	Housekeeping string // llm, rule, agent
	Titles       string // off, llm
	Browser      string // path of the browser of agents; "": the one that is found
	// BrowserTools gives a browser to agents whose tools are not set, and BrowserHeaded shows
	// its windows.
	BrowserTools, BrowserHeaded bool

	PromptSize  string   // auto, full, small
	Repetition  string   // stop, allow
	ChatHeaders []string // headers that name chats, beyond those known
	ChatFields  []string // fields of a body that do
	ImageURLs   bool     // http(s) image URLs are fetched
	Limits      Limits
	Client      Client
	Chat        Chat
	Sandbox     Sandbox
	// Workspaces are the settings of the sandbox for single workspaces, by path:
	// absolute, or with "~/".
	Workspaces map[string]Sandbox
}

// AgentServer is which OpenHands agent-server to use.
type AgentServer struct {
	// URLs are without a slash at the end, none twice; none to look for a server.
	// Several are a pool, and so is one with "dns+" before it, whose host names any
	// number of servers.
	URLs    []string
	Slots   int    // how many runs a server of a pool is meant for
	KeyFile string // file that holds its key; "" for none
	LLM     LLM    // for servers before 1.22, which have no profiles
}

// URL is the first agent-server; "" to look for one.
func (a AgentServer) URL() string {
	if len(a.URLs) == 0 {
		return ""
	}
	return a.URLs[0]
}

// Cloud is which server of OpenHands Cloud runs the agents.
type Cloud struct {
	Server string // its name in ohgw server list; "" for the default one
	URL    string // of a server that need not be in that list; "" for none
}

// LLM is a model that ohgw gives to the agent-server itself.
type LLM struct {
	Profile string // its name for clients
	Model   string // as LiteLLM spells it; "" for none
	BaseURL string // "" for the provider's own
	KeyFile string // file that holds its key
}

// Idle limits what the embedded agent keeps of conversations that are not in use.
type Idle struct {
	Time   time.Duration // how long; 0: not at all
	Max    int           // conversations
	Memory Size          // that they hold together
}

// Limits is what a request may hold.
type Limits struct {
	Body     Size
	Messages int
	Message  Size
	Images   int
}

// Client is for the commands that ask a running daemon.
type Client struct {
	URL string // of the daemon; "" to look for the one of this user
}

// Chat is how ohgw chat looks and behaves on a terminal.
type Chat struct {
	Theme string // auto, light, dark, terminal
	Mouse bool   // clicks and the wheel are the chat's
	// Notify: the desktop shows the end of a long turn.
	Notify bool
	Vim    bool // the input has the keys of vi
}

// Default returns the settings that hold when no source sets any.
func Default() Config {
	return Config{
		Addr:         "127.0.0.1:6449",
		Backend:      "auto",
		Confirm:      "never",
		AgentServer:  AgentServer{Slots: 10, LLM: LLM{Profile: "default"}},
		KeyStore:     KeyringStore,
		LogFormat:    "auto",
		MaxRuns:      8,
		MaxQueue:     64,
		OneShotTTL:   15 * time.Minute,
		ResponsesTTL: 30 * 24 * time.Hour,
		Idle:         Idle{Time: 30 * time.Minute, Max: 100, Memory: 128 << 20},
		Drain:        10 * time.Second,
		StreamText:   "live",
		Progress:     "reasoning",
		History:      "quote",
		Housekeeping: "llm",
		Titles:       "off",
		PromptSize:   "auto",
		Repetition:   "stop",
		WorkspacePer: "conversation",
		Chat:         Chat{Theme: "auto", Notify: true},
		Sandbox: Sandbox{
			Mode: "on", Minimum: "reduced", OnBlock: "report", Git: "guarded", Network: allowList, Allow: []string{"@packages"}, Processes: 4096,
		},
		Limits: Limits{Body: 32 << 20, Messages: 2000, Message: 1 << 20, Images: 16},
	}
}
