// Package budget has limits of what agents may cost: how they are written, and what
// has been spent of them.
//
// An [Amount] is in US dollars and in tokens; a [Rule] is one for a period of the
// calendar, in UTC. A [Ledger] has a small file for each token, which has its whole
// size from the first moment: a disk that fills up later does not lose what is spent.
package budget

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Amount is what may be spent; a zero field is no limit.
type Amount struct {
	Cost   float64 // US dollars
	Tokens int64
}

// IsZero reports whether the amount limits nothing.
func (a Amount) IsZero() bool { return a == Amount{} }

// ParseAmount reads dollars such as 0.50 or $5, tokens such as 20000tokens or 200ktokens,
// or one of each with a comma.
func ParseAmount(text string) (Amount, error) {
	var a Amount
	for part := range strings.SplitSeq(text, ",") {
		one, err := parseOne(strings.TrimSpace(part))
		if err != nil || one.Cost > 0 && a.Cost > 0 || one.Tokens > 0 && a.Tokens > 0 {
			return Amount{}, fmt.Errorf("%w: %q", ErrAmount, text)
		}
		a.Cost, a.Tokens = a.Cost+one.Cost, a.Tokens+one.Tokens
	}
	return a, nil
}

// Error is a limit that cannot be read.
type Error string

func (e Error) Error() string { return string(e) }

// What can be wrong with a limit.
const (
	// ErrAmount: it is neither dollars nor tokens.
	ErrAmount Error = "not an amount of dollars or tokens"
	// ErrPeriod: there is no such period.
	ErrPeriod Error = "not a period"
)

const (
	maxCost   = 1e9
	maxTokens = 1e15
)

func parseOne(s string) (Amount, error) {
	number, unit := s, ""
	for _, suffix := range []string{"tokens", "token"} {
		if cut, ok := strings.CutSuffix(strings.ToLower(s), suffix); ok {
			number, unit = strings.TrimSpace(cut), "tokens"
			break
		}
	}
	if unit == "" {
		cost, err := strconv.ParseFloat(strings.TrimPrefix(number, "$"), 64)
		if err != nil || !(cost > 0) || cost > maxCost {
			return Amount{}, ErrAmount
		}
		return Amount{Cost: cost}, nil
	}
	factor := 1.0
	for suffix, f := range map[string]float64{"k": 1e3, "m": 1e6} {
		if cut, ok := strings.CutSuffix(number, suffix); ok {
			number, factor = cut, f
			break
		}
	}
	tokens, err := strconv.ParseFloat(number, 64)
	if err != nil || !(tokens*factor >= 1) || tokens*factor > maxTokens || tokens*factor != math.Trunc(tokens*factor) {
		return Amount{}, ErrAmount
	}
	return Amount{Tokens: int64(tokens * factor)}, nil
}

// String is the amount as ParseAmount reads it.
func (a Amount) String() string {
	var parts []string
	if a.Cost > 0 {
		parts = append(parts, strconv.FormatFloat(a.Cost, 'f', -1, 64))
	}
	if a.Tokens > 0 {
		parts = append(parts, strconv.FormatInt(a.Tokens, 10)+"tokens")
	}
	return strings.Join(parts, ",")
}

// The periods. Total is the whole life of a token.
const (
	Hour  = "hour"
	Day   = "day"
	Week  = "week"
	Month = "month"
	Total = ""
)

// Periods are all of them, the shortest first.
func Periods() []string { return []string{Hour, Day, Week, Month, Total} }

// Rule is an amount for a period.
type Rule struct {
	Amount

	Period string
}

// ParseRule reads an amount of dollars or of tokens, with a period behind a slash or
// without: 5/day, 100/month, 200000tokens/day, 20.
func ParseRule(text string) (Rule, error) {
	amount, period, given := strings.Cut(strings.TrimSpace(text), "/")
	one, err := parseOne(strings.TrimSpace(amount))
	if err != nil {
		return Rule{}, fmt.Errorf("%w: %q", ErrAmount, text)
	}
	period = strings.ToLower(strings.TrimSpace(period))
	for _, known := range Periods() {
		if period == known && (period != "" || !given) {
			return Rule{one, period}, nil
		}
	}
	return Rule{}, fmt.Errorf("%w: %q", ErrPeriod, text)
}

// String is the rule as ParseRule reads it.
func (r Rule) String() string {
	if r.Period == Total {
		return r.Amount.String()
	}
	return r.Amount.String() + "/" + r.Period
}

// Renews is when the period after that of a time begins; zero: never.
func (r Rule) Renews(now time.Time) time.Time {
	_, next := begin(r.Period, now)
	return next
}

// begin is when the period of a time began, and the next begins; zero for Total.
func begin(period string, now time.Time) (from, next time.Time) {
	now = now.UTC()
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch period {
	case Hour:
		from = now.Truncate(time.Hour)
		return from, from.Add(time.Hour)
	case Day:
		return day, day.AddDate(0, 0, 1)
	case Week: // begins on Monday
		from = day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
		return from, from.AddDate(0, 0, 7)
	case Month:
		from = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
		return from, from.AddDate(0, 1, 0)
	}
	return time.Time{}, time.Time{}
}
