package agentapi

// Meter limits what one run may take. A backend in this process calls it after each step,
// so that the run ends with the step that reaches the limit. Other backends cannot: their
// runs are interrupted by whoever sees their usage.
type Meter interface {
	// Took takes all that the run has taken so far, its sub-agents included: US dollars,
	// and tokens of prompts and answers. It returns why the run has to end, as a sentence
	// for people; "" if the run may go on. It may be called at the same time, also by
	// sub-agents.
	Took(cost float64, tokens int64) (why string)
}
