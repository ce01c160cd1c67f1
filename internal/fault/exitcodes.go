package fault

import "errors"

// Code is the class of a failure. It is the exit code of the program.
type Code int

// The exit codes of ohgw; [ExitCodes] says what each means. They are part of the
// program's interface: a test pins the numbers.
const (
	Failed      Code = 1
	Usage       Code = 2
	Partly      Code = 3
	Credential  Code = 4
	Unreachable Code = 5
	Conflict    Code = 6
	Refused     Code = 7
	Interrupted Code = 130

	// How one question to an agent can fail, for programs that ask many.
	Configuration Code = 8
	Provider      Code = 9
	Agent         Code = 10
	Budget        Code = 11
)

// ExitCode is a line of the table of exit codes.
type ExitCode struct {
	Code    Code
	Meaning string
}

// ExitCodes lists what the program can end with, in the words of the help, the man pages
// and the README.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{0, "success; an empty list is a success"},
		{Failed, "failed"},
		{Usage, "wrong command line, variable or config file"},
		{Partly, "some items failed; stderr lists them"},
		{Credential, "no usable key or token"},
		{Unreachable, "the daemon, the agent-server or a provider does not answer"},
		{Conflict, "it exists already, or another process uses it"},
		{Refused, "refused: no sandbox, one weaker than required, or one that was escaped"},
		{Configuration, "no usable profile, model or config file for a question (chat --print)"},
		{Provider, "the model's provider refused or failed (chat --print)"},
		{Agent, "the agent came to no answer, or waits for a person (chat --print)"},
		{Budget, "a limit of steps, tokens, money or time was reached (chat --print)"},
		{Interrupted, "interrupted by Ctrl-C; any other signal: 128 + its number"},
	}
}

// CodeOf is the exit code that err means: 0 for nil, the Code of the outermost
// Error in its chain, else Failed.
func CodeOf(err error) Code {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code != 0 {
		return e.Code
	}
	return Failed
}

// OfGateway returns the exit code of a question that the gateway ended with this code of
// an error; Failed where the code does not say more.
func OfGateway(code string) Code {
	switch code {
	case "llm_error", "context_length_exceeded":
		return Provider
	case "run_error", "run_stuck", "run_interrupted", "agent_lost", "agent_unavailable", "agent_server_error", "agent_server_lost", "invalid_structured_output":
		return Agent
	case "agent_server_unavailable": // also at the end of a stream, which has no status for it
		return Unreachable
	case "run_timeout", "insufficient_quota":
		return Budget
	case "sandbox_unavailable":
		return Refused
	case "model_not_found", "agent_error": // the latter says that the profile cannot be used
		return Configuration
	}
	return Failed
}

// Outcome returns the word for an exit code in the last line of ohgw chat --json.
func (c Code) Outcome() string {
	switch c {
	case 0:
		return "finished"
	case Usage:
		return "usage"
	case Credential:
		return "credential"
	case Unreachable:
		return "unreachable"
	case Refused:
		return "sandbox"
	case Configuration:
		return "configuration"
	case Provider:
		return "provider"
	case Agent:
		return "agent"
	case Budget:
		return "budget"
	case Failed, Partly, Conflict:
		return "failed"
	case Interrupted:
		return "interrupted"
	}
	if c > 128 { // another signal
		return "interrupted"
	}
	return "failed"
}
