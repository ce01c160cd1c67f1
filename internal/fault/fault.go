// Package fault is the one error type that is written for people: what
// happened, what to do next, and which exit code it means. It has the table of
// the exit codes.
//
// Packages return ordinary wrapped errors; a fault is made where the sentence
// for the person is known. cli prints it, once, in one place.
package fault

// Error is a failure as a person should read it.
type Error struct {
	Msg  string // what happened: "cannot reach the agent-server at http://…"
	Hint string // what to do next; may be empty
	Code Code   // exit code; zero means Failed
	Err  error  // the cause below; may be nil
}

// New makes an Error with the exit code of a plain failure.
func New(msg, hint string, err error) *Error {
	return &Error{Msg: msg, Hint: hint, Code: Failed, Err: err}
}

// Error is Msg followed by the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	return e.Msg + ": " + e.Err.Error()
}

// Unwrap returns the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// UsageError is a mistake in the command line. It is shown together with the
// line that says how the command is used.
type UsageError struct{ fault *Error }

// NewUsage makes a UsageError, with the exit code Usage.
func NewUsage(msg, hint string) error {
	return &UsageError{&Error{Msg: msg, Hint: hint, Code: Usage}}
}

// Error is the message.
func (e *UsageError) Error() string { return e.fault.Error() }

// Unwrap returns the Error in it, for errors.As.
func (e *UsageError) Unwrap() error { return e.fault }
