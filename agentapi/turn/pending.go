package turn

import "github.com/ohgw/ohgw/agentapi/event"

// waiting are the actions that wait for a confirmation: those of sub-agents, where
// there are any, else those of the agent.
func (r *Reader) waiting() (list []Action) {
	for _, p := range r.pending {
		if a, ok := p.Action.Body.(*event.Action); ok {
			list = append(list, Action{Tool: shorten(a.ToolName, maxLine), Line: labelled(p.Label, a), Detail: detail(a)})
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, c := range r.open {
		list = append(list, Action{Tool: c.action.ToolName, Line: line(c.action), Detail: detail(c.action)})
	}
	return list
}

// leftPending reports the actions of sub-agents that wait. The calls of the agent
// that are open meanwhile go on when they are answered.
func (r *Reader) leftPending() (updates []Update) {
	for _, p := range r.pending {
		if a, ok := p.Action.Body.(*event.Action); ok {
			call := begun(p.Action.ID, a)
			call.State, call.Line = CallWaiting, labelled(p.Label, a)
			updates = append(updates, Update{Kind: Progress, Call: call})
		}
	}
	return updates
}

// labelled is an action in one line, with what its sub-agent does before it.
func labelled(label string, a *event.Action) string {
	if label == "" {
		return line(a)
	}
	return shorten(shorten(label, maxLine/4)+": "+line(a), maxLine)
}
