package config

import "strings"

// Section says which commands a setting is for.
type Section string

// The sections.
const (
	ServeSection  Section = "serve"  // ohgw serve
	ClientSection Section = "client" // the commands that ask a running daemon
	ChatSection   Section = "chat"   // ohgw chat on a terminal
	KeySection    Section = "keys"   // whatever needs the LLM keys: serve, too

	// SandboxSection is for the commands that run the embedded agent.
	SandboxSection Section = "sandbox"

	// StateSection is for the commands about the database that several gateways share.
	StateSection Section = "state"
)

// The setting that says where the LLM keys are, and its choices.
const (
	KeyStoreKey  = "key_store"
	KeyringStore = "keyring"
	FileStore    = "file"
)

// Field is one setting: its names, its meaning and its place in a [Config].
type Field struct {
	Flag    string // without dashes; "" for a setting without a flag
	Env     string
	Key     string // in the config file, with dots for tables
	Arg     string // what stands for the value in help; "" for choices and switches
	Help    string // lower case, no full stop
	Choices []string
	Section Section
	Words   []string // values to offer where there are no Choices

	min   int                          // smallest number
	check func(string) (string, error) // of each text; gives its normal form
	path  bool                         // a path, which may be relative to where it is written
	tilde bool                         // a path that may begin with "~/", for whoever knows the home directory
	adds  bool                         // the flag adds to the list of the other sources
	whole bool                         // not in the table of one workspace
	lone  bool                         // a list that is mostly one value, which is written without brackets in files and in JSON
	at    func(*Config) any            // pointer to the value

	// public is what the setting keeps of the value of its variable, which may hold a
	// password; nil: all.
	public func(string) string

	// A flag can be for two settings: shared is the flag of the other one, and takes
	// says which values are for this one. Nil is all.
	shared string
	takes  func(string) bool
}

// Fields is the table of all settings, in the order in which they are shown.
func Fields() []Field { return append(append(generalFields(), stateFields()...), sandboxFields()...) }

// generalFields lists the settings outside of tables for workspaces.
func generalFields() []Field { //nolint:funlen // A table is as long as it is.
	return []Field{
		{
			Flag: "addr", Env: "OHGW_ADDR", Key: "addr", Arg: "HOST:PORT", Section: ServeSection,
			Help: "listen on this address", check: checkAddr,
			at: func(c *Config) any { return &c.Addr },
		},
		{
			Flag: "backend", Env: "OHGW_BACKEND", Key: "backend", Section: ServeSection,
			Help: "what runs the agents; auto uses an agent-server if one answers, otherwise the embedded agent", Choices: []string{"auto", "agent-server", "embedded", "cloud"}, check: checkBackend,
			at: func(c *Config) any { return &c.Backend },
		},
		{
			Flag: "agent-server", Env: "OHGW_AGENT_SERVER_URL", Key: "agent_server.url", Arg: "URL", Section: ServeSection,
			Help: "URL of the OpenHands agent-server; default: http://127.0.0.1:8000 if one runs there; several, or dns+http://NAME:PORT, are a pool", check: checkServers, lone: true,
			at: func(c *Config) any { return &c.AgentServer.URLs },
		},
		{
			Env: "OHGW_AGENT_SERVER_SLOTS", Key: "agent_server.slots", Arg: "N", Section: ServeSection,
			Help: "how many runs each agent-server of a pool is meant for", min: 1,
			at: func(c *Config) any { return &c.AgentServer.Slots },
		},
		{
			Flag: "cloud", Env: "OHGW_CLOUD_SERVER", Key: "cloud.server", Arg: "NAME", Section: ServeSection,
			Help: "stored server that runs the agents of the cloud backend; default: that of ohgw server use",
			at:   func(c *Config) any { return &c.Cloud.Server },
		},
		{
			Env: "OHGW_CLOUD_URL", Key: "cloud.url", Arg: "URL", Section: ServeSection,
			Help: "URL of the server that runs the agents of the cloud backend, in place of a stored one", check: checkURL,
			at: func(c *Config) any { return &c.Cloud.URL },
		},
		{
			Env: "OHGW_AGENT_SERVER_KEY_FILE", Key: "agent_server.key_file", Arg: "FILE", Section: ServeSection,
			Help: "file with the agent-server's key, readable only by you", path: true,
			at: func(c *Config) any { return &c.AgentServer.KeyFile },
		},
		{
			Env: "OHGW_AGENT_SERVER_LLM_PROFILE", Key: "agent_server.llm.profile", Arg: "NAME", Section: ServeSection,
			Help: "name of the only model of an agent-server older than 1.22",
			at:   func(c *Config) any { return &c.AgentServer.LLM.Profile },
		},
		{
			Env: "OHGW_AGENT_SERVER_LLM_MODEL", Key: "agent_server.llm.model", Arg: "MODEL", Section: ServeSection,
			Help: "LiteLLM name of that model, such as anthropic/claude-sonnet-4-5",
			at:   func(c *Config) any { return &c.AgentServer.LLM.Model },
		},
		{
			Env: "OHGW_AGENT_SERVER_LLM_BASE_URL", Key: "agent_server.llm.base_url", Arg: "URL", Section: ServeSection,
			Help: "base URL of that model; default: its provider's", check: checkURL,
			at: func(c *Config) any { return &c.AgentServer.LLM.BaseURL },
		},
		{
			Env: "OHGW_AGENT_SERVER_LLM_KEY_FILE", Key: "agent_server.llm.key_file", Arg: "FILE", Section: ServeSection,
			Help: "file with the API key of agent_server.llm.model, readable only by you", path: true,
			at: func(c *Config) any { return &c.AgentServer.LLM.KeyFile },
		},
		{
			Flag: "key-store", Env: "OHGW_KEY_STORE", Key: KeyStoreKey, Section: KeySection,
			Help: "where LLM keys are stored; use file on machines without a keyring", Choices: []string{KeyringStore, FileStore},
			at: func(c *Config) any { return &c.KeyStore },
		},
		{
			Flag: "demo", Env: "OHGW_DEMO", Key: "demo", Section: ServeSection,
			Help: "add a scripted model that needs no key and use the embedded agent",
			at:   func(c *Config) any { return &c.Demo },
		},
		{
			Flag: "confirm", Env: "OHGW_CONFIRM", Key: "confirm", Section: ServeSection,
			Help: "which actions of the embedded agent need confirmation", Choices: []string{"never", "risky", "always"},
			at: func(c *Config) any { return &c.Confirm },
		},
		{
			Flag: "workspace", Env: "OHGW_WORKSPACE", Key: "workspace", Arg: "DIR", Section: ServeSection,
			Help: "directory in which all agents work; default: a new one for each conversation", path: true,
			at: func(c *Config) any { return &c.Workspace },
		},
		{
			Flag: "workspace-per", Env: "OHGW_WORKSPACE_PER", Key: "workspace_per", Section: ServeSection,
			Help: "what gets its own directory; chat keeps one for each chat of a UI, inside the workspace directory if one is set", Choices: []string{"conversation", "chat"},
			at: func(c *Config) any { return &c.WorkspacePer },
		},
		{
			Flag: "no-auth", Env: "OHGW_NO_AUTH", Key: "no_auth", Section: ServeSection,
			Help: "require no token; allowed only on a loopback address",
			at:   func(c *Config) any { return &c.NoAuth },
		},
		{
			Flag: "metrics-open", Env: "OHGW_METRICS_OPEN", Key: "metrics_open", Section: ServeSection,
			Help: "allow reading /metrics without a token",
			at:   func(c *Config) any { return &c.MetricsOpen },
		},
		{
			Flag: "native", Env: "OHGW_NATIVE", Key: "native", Section: ServeSection,
			Help: "also serve OpenHands' own API, of the agent-server, at /api and /sockets",
			at:   func(c *Config) any { return &c.Native },
		},
		{
			Flag: "allow-origin", Env: "OHGW_ALLOW_ORIGIN", Key: "allow_origin", Arg: "ORIGIN", Section: ServeSection,
			Help: "allow web pages from this origin, such as https://chat.example.org", check: checkOrigin,
			at: func(c *Config) any { return &c.AllowOrigins },
		},
		{
			Flag: "allow-host", Env: "OHGW_ALLOW_HOST", Key: "allow_host", Arg: "HOST", Section: ServeSection,
			Help: "allow requests for this host name", check: checkHost,
			at: func(c *Config) any { return &c.AllowHosts },
		},
		{
			Flag: "log-format", Env: "OHGW_LOG_FORMAT", Key: "log_format", Section: ServeSection,
			Help: "format of the log; auto is text on a terminal, otherwise json", Choices: []string{"auto", "text", "json"},
			at: func(c *Config) any { return &c.LogFormat },
		},
		{
			Flag: "max-runs", Env: "OHGW_MAX_RUNS", Key: "max_runs", Arg: "N", Section: ServeSection,
			Help: "how many agents run at the same time", min: 1,
			at: func(c *Config) any { return &c.MaxRuns },
		},
		{
			Flag: "max-queue", Env: "OHGW_MAX_QUEUE", Key: "max_queue", Arg: "N", Section: ServeSection,
			Help: "how many requests may wait while all agents are busy",
			at:   func(c *Config) any { return &c.MaxQueue },
		},
		{
			Flag: "one-shot-ttl", Env: "OHGW_ONE_SHOT_TTL", Key: "one_shot_ttl", Arg: "TIME", Section: ServeSection,
			Help: "how long to keep a conversation that was started without an id; 0 removes it at once",
			at:   func(c *Config) any { return &c.OneShotTTL },
		},
		{
			Flag: "responses-ttl", Env: "OHGW_RESPONSES_TTL", Key: "responses_ttl", Arg: "TIME", Section: ServeSection,
			Help: "how long to keep a stored response and its conversation; 0 keeps them",
			at:   func(c *Config) any { return &c.ResponsesTTL },
		},
		{
			Flag: "run-timeout", Env: "OHGW_RUN_TIMEOUT", Key: "run_timeout", Arg: "TIME", Section: ServeSection,
			Help: "time limit of one answer; 0 for no limit",
			at:   func(c *Config) any { return &c.RunTimeout },
		},
		{
			Flag: "idle-time", Env: "OHGW_IDLE_TIME", Key: "idle.time", Arg: "TIME", Section: ServeSection,
			Help: "how long the embedded agent keeps the shell and programs of an unused conversation; 0 ends them with the run",
			at:   func(c *Config) any { return &c.Idle.Time },
		},
		{
			Flag: "max-idle", Env: "OHGW_MAX_IDLE", Key: "idle.conversations", Arg: "N", Section: ServeSection,
			Help: "how many unused conversations the embedded agent keeps open; the longest unused one is closed first",
			at:   func(c *Config) any { return &c.Idle.Max },
		},
		{
			Flag: "max-idle-memory", Env: "OHGW_MAX_IDLE_MEMORY", Key: "idle.memory", Arg: "SIZE", Section: ServeSection,
			Help: "memory limit for unused open conversations: their histories and their undoable file edits", min: 1,
			at: func(c *Config) any { return &c.Idle.Memory },
		},
		{
			Flag: "stream-text", Env: "OHGW_STREAM_TEXT", Key: "stream_text", Section: ServeSection,
			Help: "what a stream contains: all text as it is generated, or only the final answer", Choices: []string{"live", "answer"},
			at: func(c *Config) any { return &c.StreamText },
		},
		{
			Flag: "progress", Env: "OHGW_PROGRESS", Key: "progress", Section: ServeSection,
			Help: "where to show the agent's actions", Choices: []string{"reasoning", "off"},
			at: func(c *Config) any { return &c.Progress },
		},
		{
			Flag: "history", Env: "OHGW_HISTORY", Key: "history", Section: ServeSection,
			Help: "how a new conversation uses the earlier messages of a request", Choices: []string{"quote", "ignore"},
			at: func(c *Config) any { return &c.History },
		},
		{
			Flag: "housekeeping", Env: "OHGW_HOUSEKEEPING", Key: "housekeeping", Section: ServeSection,
			Help: "how to answer chat UIs' requests for titles and tags; llm calls the profile's model without an agent", Choices: []string{"llm", "rule", "agent"},
			at: func(c *Config) any { return &c.Housekeeping },
		},
		{
			Flag: "titles", Env: "OHGW_TITLES", Key: "titles", Section: ServeSection,
			Help: "titles of new conversations in OpenHands' lists; llm asks the conversation's model once for each that is kept", Choices: []string{"off", "llm"},
			at: func(c *Config) any { return &c.Titles },
		},
		{
			Env: "OHGW_BROWSER", Key: "browser", Arg: "FILE", Section: ServeSection,
			Help: "Chromium, Chrome, Edge or Brave for agents with browser_tool_set; default: the one that is found", path: true,
			at: func(c *Config) any { return &c.Browser },
		},
		{
			Flag: "browser", Env: "OHGW_BROWSER_TOOLS", Key: "browser_tools", Section: ServeSection,
			Help: "give new conversations a browser if the tools of their agent are not set; use the embedded agent",
			at:   func(c *Config) any { return &c.BrowserTools },
		},
		{
			Flag: "headed", Env: "OHGW_BROWSER_HEADED", Key: "browser_headed", Section: ServeSection,
			Help: "show the window of the agents' browser on your display",
			at:   func(c *Config) any { return &c.BrowserHeaded },
		},
		{
			Flag: "prompt-size", Env: "OHGW_PROMPT_SIZE", Key: "prompt_size", Section: ServeSection,
			Help: "how much the embedded agent is told; auto is small for a local model whose context is below 16,000 tokens", Choices: []string{"auto", "full", "small"},
			at: func(c *Config) any { return &c.PromptSize },
		},
		{
			Flag: "repetition", Env: "OHGW_REPETITION", Key: "repetition", Section: ServeSection,
			Help: "what to do with an answer of the embedded agent that repeats the same characters at least ten times, 2,000 in all", Choices: []string{"stop", "allow"},
			at: func(c *Config) any { return &c.Repetition },
		},
		{
			Flag: "chat-header", Env: "OHGW_CHAT_HEADER", Key: "chats.headers", Arg: "NAME", Section: ServeSection,
			Help: "also read the chat's id from this request header", check: checkHeader,
			at: func(c *Config) any { return &c.ChatHeaders },
		},
		{
			Flag: "chat-field", Env: "OHGW_CHAT_FIELD", Key: "chats.fields", Arg: "PATH", Section: ServeSection,
			Help: "also read the chat's id from this field of the request body, such as metadata.room", check: checkPath,
			at: func(c *Config) any { return &c.ChatFields },
		},
		{
			Flag: "image-urls", Env: "OHGW_IMAGE_URLS", Key: "image_urls", Section: ServeSection,
			Help: "accept images by http(s) URL, except from private addresses",
			at:   func(c *Config) any { return &c.ImageURLs },
		},
		{
			Flag: "drain", Env: "OHGW_DRAIN", Key: "drain", Arg: "TIME", Section: ServeSection,
			Help: "how long running answers may continue at shutdown",
			at:   func(c *Config) any { return &c.Drain },
		},
		{
			Flag: "max-body", Env: "OHGW_MAX_BODY", Key: "limits.body", Arg: "SIZE", Section: ServeSection,
			Help: "largest request body", min: 1,
			at: func(c *Config) any { return &c.Limits.Body },
		},
		{
			Flag: "max-messages", Env: "OHGW_MAX_MESSAGES", Key: "limits.messages", Arg: "N", Section: ServeSection,
			Help: "most messages in a request", min: 1,
			at: func(c *Config) any { return &c.Limits.Messages },
		},
		{
			Flag: "max-message", Env: "OHGW_MAX_MESSAGE", Key: "limits.message", Arg: "SIZE", Section: ServeSection,
			Help: "longest text of one message", min: 1,
			at: func(c *Config) any { return &c.Limits.Message },
		},
		{
			Flag: "max-images", Env: "OHGW_MAX_IMAGES", Key: "limits.images", Arg: "N", Section: ServeSection,
			Help: "most images in a request", min: 1,
			at: func(c *Config) any { return &c.Limits.Images },
		},
		{
			Flag: "url", Env: "OHGW_URL", Key: "client.url", Arg: "URL", Section: ClientSection,
			Help: "URL of the daemon to use; default: the one you started", check: checkURL,
			at: func(c *Config) any { return &c.Client.URL },
		},
		{
			Flag: "theme", Env: "OHGW_CHAT_THEME", Key: "chat.theme", Section: ChatSection,
			Help: "colours of the chat; auto asks the terminal for its background, terminal uses the terminal's own 16 colours", Choices: []string{"auto", "light", "dark", "terminal"},
			at: func(c *Config) any { return &c.Chat.Theme },
		},
		{
			Flag: "mouse", Env: "OHGW_CHAT_MOUSE", Key: "chat.mouse", Section: ChatSection,
			Help: "let a click open an action and the wheel scroll in the chat; hold Shift to select text",
			at:   func(c *Config) any { return &c.Chat.Mouse },
		},
		{
			Env: "OHGW_CHAT_NOTIFY", Key: "chat.notify", Section: ChatSection,
			Help: "notify you of the end of a run longer than 10 seconds while another window has the focus",
			at:   func(c *Config) any { return &c.Chat.Notify },
		},
		{
			Flag: "vim", Env: "OHGW_CHAT_VIM", Key: "chat.vim", Section: ChatSection,
			Help: "use the keys of vi in the input of the chat",
			at:   func(c *Config) any { return &c.Chat.Vim },
		},
	}
}

// Switch reports whether the setting is on or off, so that its flag needs no
// value.
func (f Field) Switch() bool {
	_, ok := f.at(&Config{}).(*bool)
	return ok
}

// Placeholder stands for the value in help: "HOST:PORT", "live|answer". It is
// empty for a switch.
func (f Field) Placeholder() string {
	if f.Choices != nil {
		return strings.Join(f.Choices, "|")
	}
	return f.Arg
}

// IsPath reports whether the setting is a path, or a list of paths.
func (f Field) IsPath() bool { return f.path }

// Repeats reports whether the setting holds several values: its flag may be
// given again, its variable separates them with commas.
func (f Field) Repeats() bool {
	_, ok := f.at(&Config{}).(*[]string)
	return ok
}

// Value is the setting in c: a string, bool, int or []string, fit for JSON.
func (f Field) Value(c Config) any {
	switch p := f.at(&c).(type) {
	case *bool:
		return *p
	case *int:
		return *p
	case *[]string:
		if f.lone && len(*p) < 2 {
			return strings.Join(*p, "")
		}
		return append([]string{}, *p...) // an empty list, never null
	}
	return f.Text(c)
}

// Text is the setting in c as its flag would have it; values of a list are
// separated by commas.
func (f Field) Text(c Config) string { return text(f.at(&c)) }

// Default returns the text of the setting that holds when no source sets it.
func (f Field) Default() string { return f.Text(Default()) }
