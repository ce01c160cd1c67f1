package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Lenient is a value of T in an answer that is not worth an answer: in another
// shape it is the zero T, and no error.
type Lenient[T any] struct{ V T }

// UnmarshalJSON never fails.
func (l *Lenient[T]) UnmarshalJSON(data []byte) error {
	var v T
	if json.Unmarshal(data, &v) != nil {
		var none T
		v = none
	}
	l.V = v
	return nil
}

// Count is a number of tokens in any shape that servers write: 12, 12.0, "12",
// null. What is not a number, or negative, is 0.
type Count int64

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(data []byte) error {
	*c = 0
	// The limit keeps sums of counts from overflowing.
	const most = 1e15
	if n := number(data); n > 0 && n < most {
		*c = Count(n)
	}
	return nil
}

// Amount is a sum of US dollars: a number, a text, or an object with its total,
// which is Perplexity's. What is nothing of these is 0.
type Amount float64

// UnmarshalJSON never fails.
func (a *Amount) UnmarshalJSON(data []byte) error {
	*a = 0
	var parts struct {
		Total json.RawMessage `json:"total_cost"`
	}
	if len(data) > 0 && data[0] == '{' && json.Unmarshal(data, &parts) == nil {
		data = parts.Total
	}
	if n := number(data); n > 0 && !math.IsInf(n, 0) {
		*a = Amount(n)
	}
	return nil
}

// number is a JSON number or a text of one; 0 for anything else.
func number(data []byte) float64 {
	n, err := strconv.ParseFloat(strings.Trim(string(data), `" `), 64)
	if err != nil || math.IsNaN(n) {
		return 0
	}
	return n
}
