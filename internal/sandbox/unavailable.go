package sandbox

// UnavailableError is the error of Box.Start when the box itself cannot be started,
// or not any more: the disk is full, or the kernel forbids what it allowed before.
// No program was started, in the box or outside. A later Start tries again.
type UnavailableError struct{ Err error }

// Error is what the cause says.
func (e *UnavailableError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }
