package agentapi

// Extensions are what the agent of a conversation has beside its own tools. No
// field holds a secret: URLs, headers, arguments and environments are left out.
type Extensions struct {
	Servers []MCPServer // in the order of their names
	Skills  []Skill     // in the order in which the agent takes them
	// Note is a sentence about what the backend cannot report; empty: it reports
	// everything.
	Note string
}

// MCPServer is a server of the agent's settings.
type MCPServer struct {
	Name      string
	Transport string // "stdio", "http" or "sse"; empty if it is not known
	State     ServerState
	// Reason is why it is in that state, for people; may be empty.
	Reason string
	Tools  []string // as the agent calls them; nil while they are not known
}

// ServerState is the state of an MCP server.
type ServerState string

// The states of an MCP server.
const (
	ServerConnected  ServerState = "connected"
	ServerNotStarted ServerState = "not started" // it starts when it is first needed
	ServerFailed     ServerState = "failed"      // its tools are missing
	ServerDisabled   ServerState = "disabled"    // by the settings
)

// Skill is a file of instructions for the agent.
type Skill struct {
	Name        string
	Description string
	Source      string // its path on the machine of the agent, or "built-in"
	State       SkillState
	// Reason is why it was skipped, or what calls for it; may be empty.
	Reason string
}

// SkillBuiltIn is the source of a skill that is in no file.
const SkillBuiltIn = "built-in"

// SkillState says how the agent comes to read a skill.
type SkillState string

// The states of a skill.
const (
	SkillAlways    SkillState = "always"    // it is a part of the system prompt
	SkillListed    SkillState = "listed"    // the model knows its description, and reads it if it fits
	SkillTriggered SkillState = "triggered" // a word of a message, or a file, brings it
	SkillSkipped   SkillState = "skipped"   // the agent does not have it
)
