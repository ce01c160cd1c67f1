// Package budget has limits of what agents may cost: how they are written, when they renew,
// and what has been spent of them. It does not know what a run is.
package budget

import (
	"errors"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/pattern"
)

// Amount is money in US dollars, and tokens of prompts and answers. As a limit, a zero field
// limits nothing.
type Amount struct {
	Cost   float64
	Tokens int64
}

// Plus is both together.
func (a Amount) Plus(b Amount) Amount { return Amount{a.Cost + b.Cost, a.Tokens + b.Tokens} }

// Minus is what a has more than b.
func (a Amount) Minus(b Amount) Amount { return Amount{a.Cost - b.Cost, a.Tokens - b.Tokens} }

// What can be wrong with a limit.
var (
	ErrCost   = errors.New("not an amount of US dollars")
	ErrTokens = errors.New("not a number of tokens")
	ErrPeriod = errors.New("not a period")
)

// The forms of amounts: at most a billion dollars in millionths, and 15 digits of tokens.
var (
	costForm   = pattern.Of(`^\$?[0-9]{1,9}(\.[0-9]{1,6})?$`)
	tokensForm = pattern.Of(`^[0-9]{1,12}[kKmM]?$`)
)

// ParseCost reads US dollars: 5, 0.50 or $5.
func ParseCost(text string) (float64, error) {
	if !costForm().MatchString(text) {
		return 0, ErrCost
	}
	cost, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
	if err != nil || cost == 0 {
		return 0, ErrCost
	}
	return cost, nil
}

// ParseTokens reads a number of tokens: 20000, 200k or 1M.
func ParseTokens(text string) (int64, error) {
	if !tokensForm().MatchString(text) {
		return 0, ErrTokens
	}
	digits, factor := strings.TrimRight(text, "kKmM"), int64(1)
	switch strings.ToLower(text[len(digits):]) {
	case "k":
		factor = 1000
	case "m":
		factor = 1000000
	}
	tokens, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || tokens == 0 {
		return 0, ErrTokens
	}
	return tokens * factor, nil
}
