package agentapi

import "errors"

// What became of a request. Test with errors.Is; every error of a backend that
// is not ctx's is an [Error] of one of these kinds.
var (
	// ErrUnavailable: the backend cannot be reached and nothing was started. A
	// repeat is safe.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrRefused: the backend answered and said no; nothing was started. A
	// repeat would be refused again.
	ErrRefused = errors.New("backend refused")
	// ErrUncertain: the request was sent and it is not known whether it started
	// something. It must not be repeated.
	ErrUncertain = errors.New("outcome unknown")
	// ErrLost: the backend was lost while a run was going on.
	ErrLost = errors.New("backend lost")
	// ErrFull: the backend runs as many agents as it can, and no run was started. A
	// [FullError] says what became of the message, and starts the run when there is
	// room.
	ErrFull = errors.New("backend full")
	// ErrBusy: the conversation has a run of another client.
	ErrBusy = errors.New("conversation busy")
	// ErrTooLong: the message does not fit into the model's context, whatever else
	// leaves it. It was not stored, and nothing was started.
	ErrTooLong = errors.New("message too long for the model")
	// ErrSandbox: the agent's programs cannot be kept in a sandbox as the user wants
	// it. Nothing was done outside of one.
	ErrSandbox = errors.New("sandbox unavailable")
	// ErrUnauthorized: the backend rejected the key.
	ErrUnauthorized = errors.New("backend rejected the key")
	// ErrUnsupported: this backend, or this version of it, cannot do that.
	ErrUnsupported = errors.New("not supported by the backend")
	// ErrProfileNotFound: there is no such profile.
	ErrProfileNotFound = errors.New("profile not found")
	// ErrConversationNotFound: there is no such conversation.
	ErrConversationNotFound = errors.New("conversation not found")
)

// ErrNothingWaits is the private cause of an [ErrRefused]: nothing waits for the decision.
var ErrNothingWaits = errors.New("nothing waits for a decision")

// ErrNoGoals is the private cause of an [ErrUnsupported]: a conversation cannot pursue goals.
var ErrNoGoals = errors.New("no goals")

// CodeSandbox is the code of a run's error event when its sandbox could not be
// started: [ErrSandbox] of a run that had begun.
const CodeSandbox = "SandboxUnavailable"

// CodeBudget is the code of a ConversationErrorEvent that says that a run has reached a limit
// of money or tokens; OpenHands knows it, too.
const CodeBudget = "MaxBudgetReached"

// Error is a failure of a backend.
type Error struct {
	// Kind is one of the Err values of this package.
	Kind error
	// Msg is a sentence for the person in front of the client: no secret, no
	// address with credentials, the next step where there is one.
	Msg string
	// Err is the private cause, for logs. May be nil.
	Err error
	// InProcess says that the backend is in this process: there is no server
	// whose address or log could help.
	InProcess bool
}

// Error is Msg followed by the private cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	return e.Msg + ": " + e.Err.Error()
}

// Is reports whether target is the kind of the error.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Unwrap returns the private cause, but not where that is an Error again: one
// error has one kind, and the outermost knows best what became of the request.
// A run that was lost because the server cannot be reached is lost.
func (e *Error) Unwrap() error {
	if _, inner := errors.AsType[*Error](e.Err); inner {
		return nil
	}
	return e.Err
}

// InProcess returns err with its [Error] marked as one of a backend in this process.
func InProcess(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.InProcess {
		return err
	}
	marked := *e
	marked.InProcess = true
	return &marked
}

// PublicMessage is the sentence for people in err's chain, or fallback.
func PublicMessage(err error, fallback string) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Msg != "" {
		return e.Msg
	}
	return fallback
}
