package confirm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/engine/confirm/shellrisk"
	"github.com/ohgw/ohgw/agentapi/event"
)

// The kinds of analyzers that are built here.
const (
	llmKind      = "LLMSecurityAnalyzer"
	patternKind  = "PatternSecurityAnalyzer"
	railsKind    = "PolicyRailSecurityAnalyzer"
	ensembleKind = "EnsembleSecurityAnalyzer"
)

// analyzer says how risky an action is.
type analyzer interface{ risk(a *event.Action) string }

// newAnalyzer reads an analyzer; nil for none. The error is a sentence.
func newAnalyzer(data json.RawMessage) (analyzer, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("the security analyzer cannot be read: %w", err)
	}
	switch head.Kind {
	case llmKind:
		return byModel{}, nil
	case railsKind:
		return byRails{}, nil
	case patternKind:
		return newPatterns(data)
	case ensembleKind:
		return newEnsemble(data)
	case "GraySwanAnalyzer", "ToolShieldLLMSecurityAnalyzer":
		return nil, fmt.Errorf("%w: %s; use %s, %s, %s or %s", ErrElsewhere, head.Kind, llmKind, patternKind, railsKind, ensembleKind)
	}
	return nil, fmt.Errorf("the security analyzer %q is not known; use %s, %s, %s or %s", head.Kind, llmKind, patternKind, railsKind, ensembleKind)
}

// byModel takes the model's word.
type byModel struct{}

func (byModel) risk(a *event.Action) string {
	if a.SecurityRisk == "" {
		return unknown
	}
	return a.SecurityRisk
}

// byRails reads the shell source of an action.
type byRails struct{}

func (byRails) risk(a *event.Action) string {
	found := shellrisk.None
	for _, segment := range executed(a) {
		found = max(found, shellrisk.Composed(segment))
	}
	switch found {
	case shellrisk.Found:
		return high
	case shellrisk.Unknown:
		return unknown
	case shellrisk.None:
	}
	return low
}

// ensemble says the highest risk that one of several analyzers says.
type ensemble struct {
	parts []analyzer // nil: one that is not here, for which everything is risky
	// strict says that a risk is unknown if one of them does not know it.
	strict bool
}

func newEnsemble(data json.RawMessage) (analyzer, error) {
	var form struct {
		Analyzers []json.RawMessage `json:"analyzers"`
		Strict    bool              `json:"propagate_unknown"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, fmt.Errorf("the security analyzer cannot be read: %w", err)
	}
	if len(form.Analyzers) == 0 {
		return nil, errors.New("analyzers of an EnsembleSecurityAnalyzer is empty; give at least one")
	}
	e := ensemble{strict: form.Strict}
	var failed error
	for _, one := range form.Analyzers {
		part, err := newAnalyzer(one)
		if err == nil && part == nil {
			err = errors.New("an analyzer of an EnsembleSecurityAnalyzer is null; remove it")
		}
		failed = cmp.Or(failed, err)
		e.parts = append(e.parts, part)
	}
	return e, failed
}

func (e ensemble) risk(a *event.Action) string {
	worst := ""
	for _, part := range e.parts {
		found := high
		if part != nil {
			found = part.risk(a)
		}
		switch {
		case order[found] == 0 && e.strict:
			return unknown
		case order[found] > order[worst]:
			worst = found
		}
	}
	if worst == "" {
		return unknown
	}
	return worst
}
