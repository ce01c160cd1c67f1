package budget

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Period is the time after which a limit renews. Periods are those of the calendar in UTC; a
// week begins on Monday.
type Period string

// The periods. Total is the whole life of a token.
const (
	Hour  Period = "hour"
	Day   Period = "day"
	Week  Period = "week"
	Month Period = "month"
	Total Period = ""
)

// Periods are all of them, the shortest first.
func Periods() []Period { return []Period{Hour, Day, Week, Month, Total} }

// begin returns when the period of a time began; zero for Total.
func (p Period) begin(at time.Time) time.Time {
	at = at.UTC()
	day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	switch p {
	case Hour:
		return at.Truncate(time.Hour)
	case Day:
		return day
	case Week:
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case Month:
		return day.AddDate(0, 0, 1-day.Day())
	}
	return time.Time{}
}

// next returns when the period behind that of a time begins; zero for Total.
func (p Period) next(at time.Time) time.Time {
	from := p.begin(at)
	switch p {
	case Hour:
		return from.Add(time.Hour)
	case Day:
		return from.AddDate(0, 0, 1)
	case Week:
		return from.AddDate(0, 0, 7)
	case Month:
		return from.AddDate(0, 1, 0)
	}
	return time.Time{}
}

// Rule is a limit of money or of tokens for a period.
type Rule struct {
	Amount // one of its fields is set

	Period Period
}

// Nothing is the rule that allows nothing: that of a limit which cannot be read.
func Nothing() Rule { return Rule{Amount: Amount{Cost: -1}} }

// ParseCostRule reads a limit of US dollars: 5/day, 0.50/hour, or 20 for all time.
func ParseCostRule(text string) (r Rule, err error) {
	amount, period, err := split(text)
	if err != nil {
		return Rule{}, err
	}
	r.Period = period
	r.Cost, err = ParseCost(amount)
	return r, err
}

// ParseTokensRule reads a limit of tokens: 1M/day, 20000/hour, or 5M for all time.
func ParseTokensRule(text string) (r Rule, err error) {
	amount, period, err := split(text)
	if err != nil {
		return Rule{}, err
	}
	r.Period = period
	r.Tokens, err = ParseTokens(amount)
	return r, err
}

// split cuts a limit into its amount and its period.
func split(text string) (amount string, p Period, err error) {
	amount, period, given := strings.Cut(text, "/")
	if p = Period(period); given && (p == Total || !slices.Contains(Periods(), p)) {
		return "", "", ErrPeriod
	}
	return amount, p, nil
}

// String returns the rule as it is parsed.
func (r Rule) String() string {
	amount := strconv.FormatFloat(r.Cost, 'f', -1, 64)
	if r.Tokens > 0 {
		amount = strconv.FormatInt(r.Tokens, 10)
	}
	if r.Period == Total {
		return amount
	}
	return amount + "/" + string(r.Period)
}

// Renews returns when the limit that counts at a time renews; zero: never.
func (r Rule) Renews(at time.Time) time.Time { return r.Period.next(at) }

// Spent describes for people how much of the limit is spent.
func (r Rule) Spent(spent Amount) string {
	of := fmt.Sprintf("%.4f of its %s US dollars", spent.Cost, strconv.FormatFloat(r.Cost, 'f', -1, 64))
	switch {
	case r == Nothing():
		return "a budget that this ohgw cannot read"
	case r.Tokens > 0:
		of = fmt.Sprintf("%d of its %d tokens", spent.Tokens, r.Tokens)
	}
	if r.Period == Total {
		return of
	}
	return of + " per " + string(r.Period)
}

// reached reports whether nothing is left.
func (r Rule) reached(spent Amount) bool {
	if r.Tokens > 0 {
		return spent.Tokens >= r.Tokens
	}
	return spent.Cost >= r.Cost
}
