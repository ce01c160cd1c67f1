package hook

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/optional"
	"github.com/ohgw/ohgw/internal/plainjson"
	"github.com/ohgw/ohgw/internal/truncate"
)

// Judge asks models for hooks of the types prompt and agent. Its methods return the text in
// which the decision is.
type Judge interface {
	// Prompt asks the model of the conversation once.
	Prompt(ctx context.Context, q Question) (string, error)
	// Agent has an agent with that model find out.
	Agent(ctx context.Context, q Question) (string, error)
}

// Question is what a model is asked for a hook.
type Question struct {
	Usage  string // the key of its numbers in the statistics
	System string // "" for an agent: the usual prompt
	Text   string
	// Tools and MaxIterations are those of an agent.
	Tools         []string
	MaxIterations int
}

// OpenHands' own words, which are also those that its hooks are tried with.
var (
	//go:embed prompt.md
	promptText string
	//go:embed event.md
	eventText string
	//go:embed agent.md
	agentText string
)

// Limits of what a model is asked and of what is read of its answer, in bytes, and of the
// braces that may begin the object in it.
const (
	maxEvent  = 400_000
	maxAnswer = 1 << 20
	maxBraces = 1000
)

// judged has a model decide for a hook. As in OpenHands, a model that does not decide refuses
// nothing.
func (r *Runner) judged(ctx context.Context, h hookfile.Hook, e Event, judge Judge) Result {
	told, err := plainjson.Indent(r.told(e), "", "  ")
	if err != nil {
		return undecided(h, "execution failed", err.Error())
	}
	q := Question{Usage: h.Type + "-hook:" + cmp.Or(optional.Value(h.Name), "default"), Tools: h.Tools, MaxIterations: max(1, h.MaxIterations)}
	text, ask := eventText, judge.Prompt
	if h.Type == hookfile.TypePrompt {
		q.System = strings.TrimSpace(strings.ReplaceAll(promptText, "{{policy}}", optional.Value(h.Prompt)))
	} else {
		q.System, text, ask = optional.Value(h.SystemPrompt), agentText, judge.Agent
	}
	event := truncate.Bytes(string(told), maxEvent, cutMark)
	q.Text = strings.TrimSpace(strings.NewReplacer("{{name}}", Name(e.Type), "{{event}}", event).Replace(text))
	limited, cancel := context.WithTimeout(ctx, time.Duration(max(h.Timeout, 1))*time.Second)
	defer cancel()
	answer, err := ask(limited, q)
	switch {
	case ctx.Err() != nil:
		return undecided(h, "execution failed", stoppedText)
	case limited.Err() != nil:
		return undecided(h, "execution failed", lateText(h.Timeout))
	case err != nil:
		return undecided(h, "execution failed", err.Error())
	}
	return decided(h, answer)
}

// undecided is the result of a hook whose model did not decide, in OpenHands' words.
func undecided(h hookfile.Hook, what, failure string) Result {
	reason := strings.ToUpper(h.Type[:1]) + h.Type[1:] + " hook " + what + " — defaulting to allow"
	return Result{Reason: reason, Err: fitting(cmp.Or(failure, reason))}
}

// decided reads the decision in an answer: the first JSON object in it.
func decided(h hookfile.Hook, answer string) Result {
	if answer == "" {
		return undecided(h, "produced no final response", "")
	}
	said, ok := firstObject(answer)
	if !ok {
		return undecided(h, "returned no parseable JSON", "")
	}
	decision, _ := said["decision"].(string)
	result := Result{Success: true, Reason: words(said["reason"])}
	switch strings.ToLower(decision) {
	case "deny":
		result.Blocked = true
	case "allow":
	default:
		return undecided(h, "returned an invalid decision", "")
	}
	return result
}

// firstObject finds the first JSON object in a text, which may have other words around it.
func firstObject(text string) (object map[string]any, ok bool) {
	rest := []byte(truncate.Bytes(text, maxAnswer, ""))
	for range maxBraces {
		i := bytes.IndexByte(rest, '{')
		if i < 0 {
			return nil, false
		}
		rest = rest[i:]
		if err := json.NewDecoder(bytes.NewReader(rest)).Decode(&object); err == nil {
			return object, true
		}
		rest = rest[1:]
	}
	return nil, false
}
