package transport

import (
	"encoding/json"
	"strings"
	"time"
)

// Time is a time as servers write it: with or without a zone, with a fraction
// before or after the zone. What cannot be read leaves it zero, with its text.
type Time struct {
	time.Time

	Raw string
}

// UnmarshalJSON reads any form. It never fails.
func (t *Time) UnmarshalJSON(data []byte) error {
	*t = Time{}
	if json.Unmarshal(data, &t.Raw) == nil {
		t.Time = ParseTime(t.Raw)
	}
	return nil
}

// ParseTime reads a server's time as UTC; zero if it cannot.
func ParseTime(text string) time.Time {
	text = strings.TrimSpace(text)
	// Sanitized recordings have two fractions: .000Z.789012.
	text = strings.Replace(text, ".000Z.", ".", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// Hex is an id without dashes, in lower case; an id that is not a UUID stays as
// it is.
func Hex(id string) string {
	plain := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(id), "-", ""))
	if len(plain) != 32 || strings.Trim(plain, "0123456789abcdef") != "" {
		return strings.TrimSpace(id)
	}
	return plain
}
