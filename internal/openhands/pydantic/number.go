package pydantic

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/pattern"
)

// Bounds are those of a number: at least, more than, at most, less than. Nil
// means that there is no such bound.
type Bounds struct{ Ge, Gt, Le, Lt *float64 }

// AtLeast are bounds of which the lower one is low.
func AtLeast(low float64) Bounds { return Bounds{Ge: &low} }

// Between are bounds whose ends may be reached.
func Between(low, high float64) Bounds { return Bounds{Ge: &low, Le: &high} }

// Above are bounds of which only the upper end may be reached.
func Above(low, high float64) Bounds { return Bounds{Gt: &low, Le: &high} }

// maxDigits is how many digits a whole number may have in quotes.
const maxDigits = 4300

// Numbers in quotes.
var (
	quotedInt   = pattern.Of(`\A[+-]?[0-9]+(_[0-9]+)*(\.0+)?\z`)
	quotedFloat = pattern.Of(`\A[+-]?(?i:inf|infinity|nan|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?)\z`)
)

// Int reads a whole number of any size.
func Int(raw json.RawMessage, b Bounds) (*big.Int, *Refusal) {
	n, refused := readInt(raw)
	if refused != nil {
		return nil, refused
	}
	near, _ := new(big.Float).SetInt(n).Float64()
	if refused := b.check(near, ""); refused != nil {
		return nil, refused
	}
	return n, nil
}

// IntUpTo is Int for a number that is used up to a size. Bigger ones are of that size.
func IntUpTo(raw json.RawMessage, b Bounds, size int) (int, *Refusal) {
	n, refused := Int(raw, b)
	switch {
	case refused != nil:
		return 0, refused
	case n.Cmp(big.NewInt(int64(size))) > 0:
		return size, nil
	case n.Cmp(big.NewInt(-int64(size))) < 0:
		return -size, nil
	}
	return int(n.Int64()), nil
}

func readInt(raw json.RawMessage) (*big.Int, *Refusal) {
	if text, ok := unquoted(raw); ok {
		return quotedWhole(strings.TrimSpace(text))
	}
	switch {
	case string(raw) == "true":
		return big.NewInt(1), nil
	case string(raw) == "false":
		return new(big.Int), nil
	case !isNumber(raw):
		return nil, noInt()
	case isWhole(raw):
		return whole(string(raw))
	}
	f := toFloat(string(raw))
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return nil, NotFinite()
	case f != math.Trunc(f):
		return nil, &Refusal{Type: "int_from_float", Msg: "Input should be a valid integer, got a number with a fractional part"}
	case math.Abs(f) >= math.MaxInt64:
		return nil, TooBig()
	}
	return big.NewInt(int64(f)), nil
}

// quotedWhole reads a whole number of a text.
func quotedWhole(text string) (*big.Int, *Refusal) {
	if !quotedInt().MatchString(text) {
		return nil, &Refusal{Type: "int_parsing", Msg: "Input should be a valid integer, unable to parse string as an integer"}
	}
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "+"), ".")
	return whole(strings.ReplaceAll(text, "_", ""))
}

// whole reads digits with or without a minus sign.
func whole(digits string) (*big.Int, *Refusal) {
	if len(digits) > maxDigits {
		return nil, TooBig()
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return nil, TooBig() // digits alone can be read
	}
	return n, nil
}

// TooBig refuses a whole number that cannot be held.
func TooBig() *Refusal {
	return &Refusal{Type: "int_parsing_size", Msg: "Unable to parse input string as an integer, exceeded maximum size"}
}

// NotFinite refuses what is infinite or not a number.
func NotFinite() *Refusal {
	return &Refusal{Type: "finite_number", Msg: "Input should be a finite number"}
}

// Float reads a number. In quotes it may be infinite or NaN.
func Float(raw json.RawMessage, b Bounds) (float64, *Refusal) {
	f, refused := readFloat(raw)
	if refused == nil {
		refused = b.check(f, ".0")
	}
	if refused != nil {
		return 0, refused
	}
	return f, nil
}

func readFloat(raw json.RawMessage) (float64, *Refusal) {
	if text, ok := unquoted(raw); ok {
		text = withoutUnderscores(strings.TrimSpace(text))
		if !quotedFloat().MatchString(text) {
			return 0, &Refusal{Type: "float_parsing", Msg: "Input should be a valid number, unable to parse string as a number"}
		}
		return toFloat(text), nil
	}
	switch {
	case string(raw) == "true":
		return 1, nil
	case string(raw) == "false":
		return 0, nil
	case !isNumber(raw):
		return 0, noFloat()
	}
	return toFloat(string(raw)), nil
}

// withoutUnderscores is a number without the underscores inside of it, which stand alone.
func withoutUnderscores(text string) string {
	if strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") || strings.Contains(text, "__") {
		return text
	}
	return strings.ReplaceAll(text, "_", "")
}

// toFloat reads what is known to be a number. One that is too big is infinite.
func toFloat(text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return math.NaN() // it has a sign, which Go does not read
	}
	return f
}

// isNumber reports whether a value of JSON is a number. Python's JSON has NaN and Infinity.
func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && strings.IndexByte("-0123456789NI", raw[0]) >= 0
}

// isWhole reports whether a number of JSON is spelled as a whole one.
func isWhole(raw json.RawMessage) bool { return !strings.ContainsAny(string(raw), ".eENI") }

// check refuses what is out of bounds. A context spells a bound that is whole with more
// behind it.
func (b Bounds) check(n float64, more string) *Refusal {
	nan := math.IsNaN(n)
	switch {
	case b.Le != nil && (nan || n > *b.Le):
		return outside("less_than_equal", "less than or equal to", "le", *b.Le, more)
	case b.Lt != nil && (nan || n >= *b.Lt):
		return outside("less_than", "less than", "lt", *b.Lt, more)
	case b.Ge != nil && (nan || n < *b.Ge):
		return outside("greater_than_equal", "greater than or equal to", "ge", *b.Ge, more)
	case b.Gt != nil && (nan || n <= *b.Gt):
		return outside("greater_than", "greater than", "gt", *b.Gt, more)
	}
	return nil
}

func outside(kind, words, name string, bound float64, more string) *Refusal {
	text := strconv.FormatFloat(bound, 'f', -1, 64)
	number := json.Number(text)
	if bound == math.Trunc(bound) {
		number += json.Number(more)
	}
	return &Refusal{kind, "Input should be " + words + " " + text, map[string]any{name: number}}
}

// noInt refuses what is neither a number nor a truth value, and no text that might be one.
func noInt() *Refusal { return &Refusal{Type: "int_type", Msg: "Input should be a valid integer"} }

func noFloat() *Refusal { return &Refusal{Type: "float_type", Msg: "Input should be a valid number"} }

func noBool() *Refusal { return &Refusal{Type: "bool_type", Msg: "Input should be a valid boolean"} }
