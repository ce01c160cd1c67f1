package schema

import "github.com/ohgw/ohgw/internal/openhands/jsonedit"

// agentProfileSteps are those of an agent profile. There never was a number 0: OpenHands
// takes a profile without a number for one of its own.
var agentProfileSteps = []step{
	{},
	{up: dropSkills},
	{up: foldSwitches, down: unfoldSwitches},
	{up: func(e *editor) { e.delete(subAgents); e.delete(switchLLM) }},
}

// unnumbered is the number of an agent profile that has none: the newest one, except
// that a profile with a switch is of the last release that had it.
func (e *editor) unnumbered() int64 {
	if e.get(subAgents).Exists() || e.get(switchLLM).Exists() {
		return 2
	}
	return newest.agentProfile
}

// dropSkills removes the skills that a profile held, and gives the profile that OpenHands
// itself made the standard tools.
func dropSkills(e *editor) {
	e.delete("skills")
	revision := e.get("revision")
	first, isNumber := revision.Int()
	untouched := !revision.Exists() || isNumber && first == 0
	if !e.isACP() && e.text("name") == "default" && untouched && isEmptyList(e.get(toolsMember)) {
		e.set([]byte("null"), toolsMember)
	}
}

func isEmptyList(v jsonedit.Value) bool {
	if v.Kind() != jsonedit.Array {
		return false
	}
	for range v.Elements() {
		return false
	}
	return true
}
