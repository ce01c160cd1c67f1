package jsonedit

import (
	"cmp"
	"fmt"
	"slices"
)

// Replace returns the text with raw, which must be JSON, in the place of values of this
// text, wherever they are: also in arrays, where [Doc.Set] does not reach. No value may be
// inside of another one. Every other byte stays.
func (d *Doc) Replace(raw []byte, values ...Value) (*Doc, error) {
	if d.irregular.Any() {
		return nil, fmt.Errorf("replace a value: %w", ErrIrregular)
	}
	values = slices.SortedFunc(slices.Values(values), func(a, b Value) int { return cmp.Compare(b.at.start, a.at.start) })
	src := d.src
	for _, v := range values {
		src = splice(src, v.at, raw)
	}
	after, err := Parse(src)
	if err != nil {
		return nil, fmt.Errorf("replace a value: %w", err)
	}
	return after, nil
}
