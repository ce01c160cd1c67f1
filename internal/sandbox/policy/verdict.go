package policy

import (
	"github.com/ohgw/ohgw/internal/subpath"
)

// State is what programs in a box can do with a path.
type State string

// The states of a path.
const (
	Writable  State = "writable"
	ReadOnly  State = "read-only"
	Hidden    State = "hidden"    // shown as empty
	Protected State = "protected" // read-only in a writable tree, whatever is granted
	// Own is writable, and not the file of the user: programs see what the box has
	// there.
	Own State = "own"
)

// Rule is what decides on a path.
type Rule string

// The rules, as the fields of a Policy are called.
const (
	ByWorkspace Rule = "workspace"
	ByHome      Rule = "home"
	ByTmp       Rule = "tmp"
	ByWrite     Rule = "write"
	ByRead      Rule = "read"
	ByHide      Rule = "hide"
	ByProtect   Rule = "protect"
	BySystem    Rule = "system" // no field has the path
)

// Verdict is what a policy says about a path.
type Verdict struct {
	State State
	Rule  Rule
	At    string // the path in the rule
}

// private are the trees of a box alone.
var private = []string{"/dev", "/proc", "/run", "/tmp", "/var/tmp"}

// Of says what a policy does with an absolute, clean path without symbolic links.
// Modes and owners of files limit it further.
//
// The innermost tree decides, as the innermost mount does. At the same path, what is
// shown wins over what is hidden, and the later one in that list wins.
func (p *Policy) Of(at string) Verdict {
	v := Verdict{ReadOnly, BySystem, "/"}
	consider := func(state State, rule Rule, trees ...string) {
		for _, tree := range trees {
			if tree != "" && subpath.Within(tree, at) && len(tree) >= len(v.At) {
				v = Verdict{state, rule, tree}
			}
		}
	}
	consider(Own, BySystem, private...)
	consider(Hidden, ByHide, p.Hide...)
	consider(Own, ByHome, p.HomeAt)
	consider(Writable, ByWorkspace, p.Workspace)
	if p.Tmp != "" {
		consider(Own, ByTmp, "/tmp")
	}
	consider(Writable, ByWrite, p.Write...)
	consider(ReadOnly, ByRead, p.Read...)
	if v.State != Hidden {
		for _, tree := range p.Protect { // they are made last, with all that is below them
			if subpath.Within(tree, at) {
				return Verdict{Protected, ByProtect, tree}
			}
		}
	}
	return v
}
