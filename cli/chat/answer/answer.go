// Package answer prints the answer to one question: for people, who also hear of a silence,
// or as events for programs. It asks nothing.
package answer

// Turn is what a turn was, for programs.
type Turn struct {
	Answer       string   `json:"answer"`
	Model        string   `json:"model"`
	Conversation string   `json:"conversation"`
	Workspace    string   `json:"workspace,omitempty"`
	Access       string   `json:"workspace_access,omitempty"` // "read" or "write"; "" where the conversation had it before
	RequestID    string   `json:"request_id"`
	Status       string   `json:"status"` // of the run: "finished", "paused", ...
	Finish       string   `json:"finish"`
	Notice       string   `json:"notice,omitempty"`
	Waiting      []Action `json:"waiting,omitempty"` // for a confirmation
	Blocked      []Block  `json:"sandbox_blocked,omitempty"`
	Progress     []string `json:"progress"`
	Ignored      []string `json:"ignored"`
	Usage        Usage    `json:"usage"`
	Seconds      float64  `json:"seconds"`
	Error        *Failure `json:"error,omitempty"`

	Taken bool  `json:"-"` // by the gateway
	Speed Speed `json:"-"` // of its calls of models
}

// Action is an action that waits for a confirmation.
type Action struct {
	Tool string `json:"tool"`
	Line string `json:"line"`
}

// Block is something that the sandbox refused.
type Block struct {
	Access string `json:"access"`
	Target string `json:"target"`
	Why    string `json:"why"`
	Allow  string `json:"allow,omitempty"` // after "ohgw sandbox allow"
}

// Usage is the tokens of a turn.
type Usage struct {
	Prompt     int64    `json:"prompt_tokens"`
	Cached     int64    `json:"cached_tokens"`
	Completion int64    `json:"completion_tokens"`
	Reasoning  int64    `json:"reasoning_tokens"`
	Cost       *float64 `json:"cost"` // US dollars; null where it is unknown
}

// Failure is why there is no answer.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Cause   string `json:"cause,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// Show is where the pieces of an answer go. An error ends the turn.
type Show interface {
	Piece(p Piece) error
	// End is called once; whole says whether the answer came to its end.
	End(t Turn, whole bool) error
}
