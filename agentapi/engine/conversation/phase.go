package conversation

// phase is how far the work at hand may go. Such work is a run, and between two runs a
// message, a summary, a question or a judgement. All begin steady, except the run for a
// message: it takes over the phase in which the message was taken, so an interrupt in
// between is not lost.
//
//	steady -> pausing -> stopping
//	     `----------------^
type phase int

const (
	steady   phase = iota // to its end
	pausing               // a run: until the end of the step in flight
	stopping              // it ends now, and its job with it
)

// beginWork begins work that no earlier pause or interrupt is about.
func (r *run) beginWork() { r.phase = steady }

// pause ends the run after the step in flight. It does not take back an interrupt.
func (r *run) pause() { r.phase = max(r.phase, pausing) }

// stop interrupts what is at work.
func (r *run) stop() {
	r.phase = stopping
	if r.job != nil {
		r.job.cancel()
	}
}
