// Package fault is the one error type that is written for people: what
// happened, what to do next, and which exit code it means.
//
// Packages return ordinary wrapped errors; a fault is made where the sentence
// for the person is known. cli prints it, once, in one place.
package fault

import "errors"

// Code is the class of a failure. It is the exit code of the program.
type Code int

// The exit codes of ohgw, in the words of the README. They are part of its interface:
// help, man pages and README list all of them, and a test compares. Another one pins
// the numbers.
const (
	Failed      Code = 1   // failure
	Usage       Code = 2   // the command line is wrong
	Partly      Code = 3   // partial success: stderr lists what failed
	Credential  Code = 4   // no usable key or token
	Unreachable Code = 5   // the daemon, the agent-server or the provider does not answer
	Conflict    Code = 6   // it already exists, or another process holds it
	Refused     Code = 7   // refused: no sandbox, one weaker than required, or one that was escaped
	Interrupted Code = 130 // interrupted

	// How one question to an agent can fail, for programs that ask many.
	Configuration Code = 8  // no usable profile, model or config file
	Provider      Code = 9  // the model's provider refused or failed
	Agent         Code = 10 // the agent came to no answer, or waits for a person
	Budget        Code = 11 // a limit of steps, tokens, money or time was reached
)

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
