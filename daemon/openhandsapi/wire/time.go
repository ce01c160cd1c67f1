package wire

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// LocalTime reads a time of the query as those of events are: local, without a zone,
// and without a fraction that is zero. It is "" where the query does not have it.
func LocalTime(r *http.Request, name string) (string, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return "", nil
	}
	t, ok := parseTime(text)
	if !ok {
		return "", pydantic.Refuse(pydantic.Fault{
			Type: "datetime_from_date_parsing", Loc: []any{"query", name}, Msg: "Input should be a valid datetime or date", Input: text,
		})
	}
	form := "2006-01-02T15:04:05.000000"
	if t.Nanosecond()/int(time.Microsecond) == 0 {
		form = "2006-01-02T15:04:05"
	}
	return t.In(time.Local).Format(form), nil
}

// parseTime reads ISO 8601, with a zone or in local time, or seconds since 1970.
func parseTime(text string) (time.Time, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		whole, part := math.Modf(seconds)
		if math.IsNaN(seconds) || math.Abs(seconds) > 1<<38 {
			return time.Time{}, false
		}
		return time.Unix(int64(whole), int64(part*1e6)*1e3), true
	}
	// A plus of a query is a space, unless it was escaped.
	if i := strings.LastIndexByte(text, ' '); i > len("2006-01-02") {
		text = text[:i] + "+" + text[i+1:]
	}
	text = strings.Replace(strings.ToUpper(text), " ", "T", 1)
	for _, form := range []string{
		"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02",
	} {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
