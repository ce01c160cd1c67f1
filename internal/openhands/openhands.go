// Package openhands has the values that OpenHands keeps for its users and shows on its
// API: settings, LLM profiles, recipes of agents, provider connections. It knows no
// file and no wire; what keeps them is package files.
package openhands

import (
	"encoding/json"

	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// Exposure says how secrets are shown.
type Exposure byte

// The exposures.
const (
	Masked    Exposure = iota // ten asterisks
	Encrypted                 // only who has the server's key can read them
	Clear                     // as they are
)

// Kind is what a failure is about.
type Kind byte

// The kinds of failures.
const (
	NotFound   Kind = iota + 1
	Taken           // a name is, or a limit is reached, or something needs it
	Malformed       // the request or a file that it names makes no sense
	Invalid         // a value is refused
	Unreadable      // what is stored cannot be read, and so is not changed
	Busy            // another program holds the lock
	NoKey           // nothing is there to encrypt with
)

// Error is a failure. Msg is for whoever asked, and quotes no secret.
type Error struct {
	Kind   Kind
	Msg    string
	Detail any              // takes the place of Msg where it is not nil: a JSON object
	Faults []pydantic.Fault // take the place of both where there are some
	Err    error            // the cause, for logs; may be nil
}

// Error is the message.
func (e *Error) Error() string { return e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Settings are those of an agent-server.
type Settings struct {
	Agent        map[string]any  `json:"agent_settings"`
	Conversation map[string]any  `json:"conversation_settings"`
	KeySet       bool            `json:"llm_api_key_is_set"`
	Active       *string         `json:"active_profile"`
	ActiveAgent  *string         `json:"active_agent_profile_id"`
	ActiveMeta   *string         `json:"active_meta_profile"`
	Misc         json.RawMessage `json:"misc_settings"`
}

// Patch changes settings. Each is a JSON merge patch; nil changes nothing.
type Patch struct {
	Agent, Conversation, Misc map[string]any
	// Active, ActiveAgent and ActiveMeta name the active profiles, nil for none, where
	// they are set: SetActive, SetActiveAgent and SetActiveMeta.
	Active, ActiveAgent, ActiveMeta          *string
	SetActive, SetActiveAgent, SetActiveMeta bool
}

// SecretInfo is a secret of the user without its value.
type SecretInfo struct {
	Name        string  `json:"name"`
	Description *string `json:"description"`
}

// LLMProfile is an LLM profile in a list.
type LLMProfile struct {
	Name       string  `json:"name"`
	Model      *string `json:"model"`
	BaseURL    *string `json:"base_url"`
	Connection *string `json:"provider_connection_id"`
	Broken     bool    `json:"provider_connection_broken"` // there is no such connection
	KeySet     bool    `json:"api_key_set"`
}

// LLMProfiles are all of them.
type LLMProfiles struct {
	Profiles []LLMProfile `json:"profiles"`
	Active   *string      `json:"active_profile"`
}

// LLMConfig is one LLM profile.
type LLMConfig struct {
	Name   string         `json:"name"`
	Config map[string]any `json:"config"`
	KeySet bool           `json:"api_key_set"`
}

// MetaProfile is a meta-profile in a list: a choice of LLM profiles by the kind of task.
type MetaProfile struct {
	Name       string  `json:"name"`
	Classifier *string `json:"classifier_model"` // the LLM profile that chooses
	Classes    int     `json:"num_classes"`
}

// MetaProfiles are all of them.
type MetaProfiles struct {
	Profiles []MetaProfile `json:"meta_profiles"`
	Active   *string       `json:"active_meta_profile"`
}

// AgentProfile is a recipe of an agent in a list.
type AgentProfile struct {
	ID       *string   `json:"id"`
	Name     string    `json:"name"`
	Kind     string    `json:"agent_kind"`
	Revision *int64    `json:"revision"`
	LLM      *string   `json:"llm_profile_ref"`
	Servers  *[]string `json:"mcp_server_refs"` // nil: all
	Newer    string    `json:"-"`               // why more may be in it than what is read; "" for most

	Lines map[string]int `json:"-"` // in which the members of the file are
}

// BrokenProfile is a file that OpenHands does not load as an agent profile.
type BrokenProfile struct {
	Name string
	Line int    // 0: the whole file
	Msg  string // why not
	Hint string // what to do about it
}

// AgentProfiles are all of them.
type AgentProfiles struct {
	Profiles []AgentProfile `json:"profiles"`
	Active   *string        `json:"active_agent_profile_id"`
}

// Diagnosis is what resolving a recipe of an agent would give.
type Diagnosis struct {
	Kind   string   `json:"agent_kind"`
	Valid  bool     `json:"valid"`
	Errors []string `json:"errors"`

	LLM         *string `json:"llm_profile_ref"`
	LLMResolved bool    `json:"llm_profile_resolved"`
	LLMKeySet   bool    `json:"llm_api_key_set"`

	Servers  *[]string `json:"mcp_server_refs"`
	Resolved []string  `json:"resolved_mcp_config_keys"`
	Dangling []string  `json:"dangling_mcp_server_refs"`

	DisabledSkills []string `json:"disabled_skills"`
	Skills         []string `json:"resolved_skills"`

	PublicSkills *[]string `json:"public_skills"` // nil: all
	Secrets      *[]string `json:"secret_refs"`   // nil: all
	Unusable     []string  `json:"unusable_tools"`

	Meta             *string  `json:"meta_profile_ref"`
	DanglingMeta     *string  `json:"dangling_meta_profile_ref"`
	DanglingMetaLLMs []string `json:"dangling_meta_profile_llm_refs"`

	ACPKey   *string  `json:"acp_api_key_secret_name"`
	ACPURL   *string  `json:"acp_base_url_secret_name"`
	ACPFiles []string `json:"acp_file_secret_names"`

	Settings map[string]any `json:"resolved_settings"` // nil where it is not valid
}

// Launch is a recipe of an agent that was resolved.
type Launch struct {
	ID       string
	Revision int
	// Settings are agent_settings with their secrets in clear, but without those of the
	// LLM.
	Settings json.RawMessage
	LLM      string // the LLM profile; "" for an agent of another program
	// Secrets are the names of the user's secrets that the agent may have; nil: all.
	Secrets *[]string
	Ignored []string // members that have no effect in the embedded agent
}

// Connection is a key and a URL that LLM profiles share.
type Connection struct {
	ID       string  `json:"id"`
	Name     string  `json:"display_name"`
	Provider string  `json:"provider"`
	BaseURL  *string `json:"base_url"`
	Created  int64   `json:"created_at"` // in seconds of Unix
	Updated  int64   `json:"updated_at"`
	KeySet   bool    `json:"api_key_set"`
}

// ConnectionChange changes a connection; nil changes nothing. SetBaseURL sets the base
// URL, which may be nil.
type ConnectionChange struct {
	Name, Provider, Key, BaseURL *string
	SetBaseURL                   bool
}
