package conversation

// phase is how far that may go which the goroutine is at: a run, or a summary, a
// question, a judgement between two runs. Each of them begins steady. A run that a
// message asks for goes on in the phase of that message, so an interrupt between the
// two is not lost.
//
//	steady -> pausing -> stopping
//	     `----------------^
type phase int

const (
	steady   phase = iota // to its end
	pausing               // a run: until the end of the step in flight
	stopping              // it ends now, and its job with it
)

// pause ends the run after the step in flight. It takes back no interrupt.
func (r *run) pause() { r.phase = max(r.phase, pausing) }

// stop interrupts what is at work.
func (r *run) stop() {
	r.phase = stopping
	if r.job != nil {
		r.job.cancel()
	}
}
