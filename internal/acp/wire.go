package acp

import "encoding/json"

// The methods of the protocol.
const (
	methodInitialize   = "initialize"
	methodAuthenticate = "authenticate"
	methodNew          = "session/new"
	methodLoad         = "session/load"
	methodResume       = "session/resume"
	methodClose        = "session/close"
	methodSetMode      = "session/set_mode"
	methodSetOption    = "session/set_config_option"
	methodPrompt       = "session/prompt"
	methodCancel       = "session/cancel"
	methodUpdate       = "session/update"
	methodPermission   = "session/request_permission"
)

// protocolVersion is the version of the protocol that is spoken here.
const protocolVersion = 1

type initializeParams struct {
	Version    *int            `json:"protocolVersion"`
	ClientInfo *implementation `json:"clientInfo"`
}

type initializeResult struct {
	Version      int            `json:"protocolVersion"`
	Capabilities capabilities   `json:"agentCapabilities"`
	Info         implementation `json:"agentInfo"`
	AuthMethods  []struct{}     `json:"authMethods"` // none: the key is ohgw's own
}

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

type capabilities struct {
	LoadSession bool `json:"loadSession"`
	Prompt      struct {
		Image           bool `json:"image"`
		Audio           bool `json:"audio"`
		EmbeddedContext bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	MCP struct {
		HTTP bool `json:"http"`
		SSE  bool `json:"sse"`
	} `json:"mcpCapabilities"`
	Session map[string]struct{} `json:"sessionCapabilities"`
}

type newParams struct {
	Dir string            `json:"cwd"`
	MCP []json.RawMessage `json:"mcpServers"`
}

type loadParams struct {
	Session string `json:"sessionId"`
	Dir     string `json:"cwd"`
}

// sessionResult is a session that has begun, or begun again: then the editor
// knows its ID.
type sessionResult struct {
	Session string     `json:"sessionId,omitempty"`
	Modes   *modeState `json:"modes"`
	Options []option   `json:"configOptions"`
}

type modeState struct {
	Current   string `json:"currentModeId"`
	Available []mode `json:"availableModes"`
}

type mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// option is a setting of a session.
type option struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Category string        `json:"category"`
	Type     string        `json:"type"`
	Current  string        `json:"currentValue"`
	Options  []optionValue `json:"options"`
}

type optionValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type optionsResult struct {
	Options []option `json:"configOptions"`
}

type optionsUpdate struct {
	Kind    string   `json:"sessionUpdate"`
	Options []option `json:"configOptions"`
}

type modeUpdate struct {
	Kind string `json:"sessionUpdate"`
	Mode string `json:"currentModeId"`
}

type setModeParams struct {
	Session string `json:"sessionId"`
	Mode    string `json:"modeId"`
}

type setOptionParams struct {
	Session string          `json:"sessionId"`
	Option  string          `json:"configId"`
	Value   json.RawMessage `json:"value"`
}

// sessionParams are the parameters of what is about a session as a whole.
type sessionParams struct {
	Session string `json:"sessionId"`
}

type promptParams struct {
	Session string  `json:"sessionId"`
	Prompt  []block `json:"prompt"`
}

type promptResult struct {
	StopReason string `json:"stopReason"`
}

// The reasons why a turn ends.
const (
	stopEnd       = "end_turn"
	stopTokens    = "max_tokens"
	stopCancelled = "cancelled"
)

// block is a content block: text, an image, a link to a resource or the
// resource itself.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"` // base64
	MIME     string    `json:"mimeType,omitempty"`
	Name     string    `json:"name,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

type resource struct {
	URI  string  `json:"uri"`
	MIME string  `json:"mimeType,omitempty"`
	Text *string `json:"text,omitempty"`
	Blob string  `json:"blob,omitempty"` // base64
}

// notification is a session/update.
type notification struct {
	Session string `json:"sessionId"`
	Update  any    `json:"update"`
}

// chunk is a piece of a message.
type chunk struct {
	Kind    string `json:"sessionUpdate"`
	Content block  `json:"content"`
}

// toolCall reports an action, or what is new of one.
type toolCall struct {
	Kind      string         `json:"sessionUpdate,omitempty"` // empty in a permission request
	ID        string         `json:"toolCallId"`
	Title     string         `json:"title,omitempty"`
	Name      string         `json:"name,omitempty"` // of the tool
	ToolKind  string         `json:"kind,omitempty"`
	Status    string         `json:"status,omitempty"`
	Content   []toolContent  `json:"content,omitempty"`
	Locations []location     `json:"locations,omitempty"`
	RawInput  map[string]any `json:"rawInput,omitempty"`
	RawOutput map[string]any `json:"rawOutput,omitempty"`
}

// The states of a tool call.
const (
	statusPending   = "pending"
	statusRunning   = "in_progress"
	statusCompleted = "completed"
	statusFailed    = "failed"
)

// toolContent is a content block, or the two sides of an edit.
type toolContent struct {
	Type    string  `json:"type"` // "content" or "diff"
	Content *block  `json:"content,omitempty"`
	Path    string  `json:"path,omitempty"`
	OldText *string `json:"oldText,omitempty"`
	NewText *string `json:"newText,omitempty"`
}

type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

type plan struct {
	Kind    string      `json:"sessionUpdate"`
	Entries []planEntry `json:"entries"`
}

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// usage is how full the model's context is.
type usage struct {
	Kind string `json:"sessionUpdate"`
	Used int64  `json:"used"`
	Size int64  `json:"size"`
	Cost *cost  `json:"cost,omitempty"`
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

type permissionParams struct {
	Session string             `json:"sessionId"`
	Call    toolCall           `json:"toolCall"`
	Options []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type permissionResult struct {
	Outcome struct {
		Outcome string `json:"outcome"` // "selected" or "cancelled"
		Option  string `json:"optionId"`
	} `json:"outcome"`
}
