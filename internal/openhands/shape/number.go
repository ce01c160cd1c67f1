package shape

import (
	"fmt"
	"strconv"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

func (f Field) refusedNumber(v jsonedit.Value) (kind, msg string) {
	n, ok := f.number(v)
	bound := func(limit float64) string { return strconv.FormatFloat(limit, 'f', -1, 64) }
	switch {
	case ok && f.open && n <= f.min:
		return "greater_than", "Input should be greater than " + bound(f.min)
	case ok && f.open && n >= f.max:
		return "less_than", "Input should be less than " + bound(f.max)
	case ok && n < f.min:
		return "greater_than_equal", "Input should be greater than or equal to " + bound(f.min)
	case ok && n > f.max:
		return "less_than_equal", "Input should be less than or equal to " + bound(f.max)
	case f.Kind == FloatKind:
		return "float_parsing", "Input should be a valid number, unable to parse string as a number"
	case v.Kind() == jsonedit.String:
		return "int_parsing", "Input should be a valid integer, unable to parse string as an integer"
	case v.Kind() == jsonedit.Number:
		return "int_from_float", "Input should be a valid integer, got a number with a fractional part"
	}
	return "int_type", "Input should be a valid integer"
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
