package turn

import (
	"fmt"
	"math"
	"strconv"

	"github.com/ohgw/ohgw/agentapi/event"
)

// retried announces a repeated request to the model's provider. It is a line of
// progress, so that every client shows it.
func retried(r event.Retry) []Update {
	when := "now"
	const least = 0.05 // is shown as more than nothing
	if r.Seconds >= least {
		when = "in " + seconds(r.Seconds)
	}
	next := Retry(r)
	next.Cause = shorten(r.Cause, maxLine)
	line := shorten(fmt.Sprintf("%s; attempt %d of %d %s", next.Cause, r.Attempt, r.Of, when), maxLine)
	return []Update{{Kind: Progress, Text: line, Retry: &next}}
}

// seconds is a number of seconds for people: "0.5 s", "16 s".
func seconds(n float64) string {
	const tenths = 10
	if n < tenths {
		return strconv.FormatFloat(math.Round(n*tenths)/tenths, 'f', -1, 64) + " s"
	}
	return strconv.FormatFloat(math.Round(n), 'f', 0, 64) + " s"
}
