package files

import (
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// loaded reads the file of a profile. The error is missing where there is no file; else it
// names what kind of profile cannot be read, and the first thing that is wrong.
func loaded(f document.File, kind, name string, missing error, parse func(*jsonedit.Doc) (shape.Tree, []pydantic.Fault, error)) (shape.Tree, error) {
	snap := f.Read()
	switch {
	case snap.Missing():
		return nil, missing
	case snap.Gate != nil:
		return nil, refuse(openhands.Malformed, "Failed to load %s `%s`: the file %s", kind, name, snap.Gate.Msg)
	}
	tree, faults, err := parse(snap.Doc)
	if err != nil {
		return nil, refuse(openhands.Malformed, "Failed to load %s `%s`: %v", kind, name, err)
	}
	if len(faults) > 0 {
		return nil, refuse(openhands.Malformed, "Failed to load %s `%s`: %v: %s", kind, name, faults[0].Loc, faults[0].Msg)
	}
	return tree, nil
}
