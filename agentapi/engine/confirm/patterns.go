package confirm

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/ohgw/ohgw/agentapi/engine/confirm/shellrisk"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/pattern"
)

// What is looked for where the analyzer has no patterns of its own. The texts have single
// spaces.
var (
	riskyCommand = pattern.Of(`(?i)\brm (?:-[fr]{2,}|-r -f|-f -r|--recursive --force|--force --recursive)\b|\bsudo rm\b|\bmkfs\.\w+|` +
		`\bdd\b.{0,100}of=/dev/|\b(?:eval|exec|os\.system|subprocess\.(?:call|run|popen|check_output|check_call)) ?\(|` +
		`\b(?:curl|wget)\b[^|]{0,200}\| ?(?:ba)?sh\b`)
	download     = pattern.Of(`(?i)\b(?:curl|wget)\b.{0,100}https?://`)
	newOrders    = pattern.Of(`(?i)\b(?:ignore|disregard|forget|override|bypass) (?:all )?(?:previous|prior|above) (?:instruction|prompt|rule|directive)s?\b`)
	anotherModel = pattern.Of(`(?i)\byou are now (?:in )?(?:\w+ )?mode\b|\bpretend (?:you are|to be) (?:a )?different\b`)
)

// patterns look for texts: in what an action executes, and in all that the model said.
type patterns struct{ high, medium, highText, mediumText matcher }

type matcher func(text string) bool

func newPatterns(data json.RawMessage) (analyzer, error) {
	var form struct {
		High       *[][]string `json:"high_patterns"`
		Medium     *[][]string `json:"medium_patterns"`
		HighText   *[][]string `json:"injection_high_patterns"`
		MediumText *[][]string `json:"injection_medium_patterns"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, fmt.Errorf("the security analyzer cannot be read: %w", err)
	}
	var p patterns
	for _, list := range []struct {
		given *[][]string
		usual func() *regexp.Regexp
		to    *matcher
	}{
		{form.High, riskyCommand, &p.high},
		{form.Medium, download, &p.medium},
		{form.HighText, newOrders, &p.highText},
		{form.MediumText, anotherModel, &p.mediumText},
	} {
		*list.to = func(text string) bool { return list.usual().MatchString(text) }
		if list.given == nil {
			continue
		}
		own, err := matcherOf(*list.given)
		if err != nil {
			return nil, err
		}
		*list.to = own
	}
	return p, nil
}

// matcherOf compiles a client's own patterns: an expression, what it means, and an id.
func matcherOf(given [][]string) (matcher, error) {
	list := make([]*regexp.Regexp, len(given))
	for i, row := range given {
		if len(row) != 3 {
			return nil, fmt.Errorf("a pattern of the security analyzer has %d members; give three, the expression, its description and its id", len(row))
		}
		re, err := regexp.Compile("(?i)" + row[0])
		if err != nil {
			return nil, fmt.Errorf("the pattern %q of the security analyzer cannot be used: %w; write it without look-around and back references", row[0], err)
		}
		list[i] = re
	}
	return func(text string) bool {
		for _, re := range list {
			if re.MatchString(text) {
				return true
			}
		}
		return false
	}, nil
}

func (p patterns) risk(a *event.Action) string {
	segments := executed(a)
	run := normal(join(segments))
	all := normal(join(append(segments, said(a)...)))
	if p.high(run) || p.highText(all) {
		return high
	}
	found := shellrisk.None
	for _, segment := range segments {
		found = max(found, shellrisk.Deletes(segment))
	}
	switch {
	case found == shellrisk.Found:
		return high
	case p.medium(run) || p.mediumText(all):
		return medium
	case found == shellrisk.Unknown:
		return unknown
	}
	return low
}
