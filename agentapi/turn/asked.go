package turn

import "github.com/ohgw/ohgw/agentapi/event"

// waiting are the actions that wait for a confirmation: those that sub-agents ask for, where
// there are any, else those of the agent.
func (r *Reader) waiting() (list []Action) {
	for _, asked := range r.asked {
		if a, ok := asked.Action.Body.(*event.Action); ok {
			list = append(list, Action{Tool: shorten(a.ToolName, maxLine), Line: labelled(asked.Label, a), Detail: detail(a)})
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

// leftAsked reports the actions of sub-agents that wait. The calls of the agent that are
// open meanwhile go on when they are answered.
func (r *Reader) leftAsked() (updates []Update) {
	for _, asked := range r.asked {
		if a, ok := asked.Action.Body.(*event.Action); ok {
			call := begun(asked.Action.ID, a)
			call.State, call.Line = CallWaiting, labelled(asked.Label, a)
			updates = append(updates, Update{Kind: Progress, Call: call})
		}
	}
	return updates
}

// labelled is an action in one line, with the name of its sub-agent before it.
func labelled(label string, a *event.Action) string {
	if label == "" {
		return line(a)
	}
	return shorten(shorten(label, maxLine/4)+": "+line(a), maxLine)
}
