package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// List is a JSON array without its null elements. Servers put null where they do
// not know an id or cannot read a row. null and an absent array are empty.
type List[T any] []T

// UnmarshalJSON reads the array.
func (l *List[T]) UnmarshalJSON(data []byte) error {
	*l = nil
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("decode list: %w", err)
	}
	for _, item := range raw {
		if bytes.Equal(item, []byte("null")) {
			continue
		}
		var v T
		if err := json.Unmarshal(item, &v); err != nil {
			return fmt.Errorf("decode list: %w", err)
		}
		*l = append(*l, v)
	}
	return nil
}
