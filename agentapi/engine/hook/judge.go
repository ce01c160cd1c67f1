package hook

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/hookfile"
)

// Judge asks models for hooks. Its methods answer with a text that has the decision.
type Judge interface {
	// Prompt asks the model of the conversation once.
	Prompt(ctx context.Context, q Question) (string, error)
	// Agent has an agent with that model find out.
	Agent(ctx context.Context, q Question) (string, error)
}

// Question is what a model is asked for a hook.
type Question struct {
	Usage  string // the key of its numbers in the statistics
	System string // "" for an agent: the usual one
	Text   string
	// Tools and MaxIterations are those of an agent.
	Tools         []string
	MaxIterations int
}

var (
	//go:embed prompt.md
	promptText string
	//go:embed event.md
	eventText string
)

const stoppedText = "The hook was stopped with the run."

func lateText(seconds int) string {
	return fmt.Sprintf("The hook did not end after %d seconds and was stopped.", max(seconds, 1))
}

// judged is the result of a hook that a model decides.
func (r *Runner) judged(ctx context.Context, h hookfile.Hook, e Event, judge Judge) Result {
	if judge == nil {
		return undecided("There is no model that could decide.")
	}
	told, err := json.MarshalIndent(r.told(e), "", "  ")
	if err != nil {
		return undecided(err.Error())
	}
	name := "default"
	if h.Name != nil && *h.Name != "" {
		name = *h.Name
	}
	q := Question{
		Usage: h.Type + "-hook:" + name, Tools: h.Tools, MaxIterations: max(1, h.MaxIterations),
		Text: strings.TrimSpace(strings.NewReplacer("{{name}}", Name(e.Type), "{{event}}", string(told)).Replace(eventText)),
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(max(h.Timeout, 1))*time.Second)
	defer cancel()
	var answer string
	if h.Type == hookfile.TypePrompt {
		q.System = strings.TrimSpace(strings.ReplaceAll(promptText, "{{rule}}", optionalText(h.Prompt)))
		answer, err = judge.Prompt(limited, q)
	} else {
		q.System = optionalText(h.SystemPrompt)
		answer, err = judge.Agent(limited, q)
	}
	switch {
	case ctx.Err() != nil:
		return undecided(stoppedText)
	case limited.Err() != nil:
		return undecided(lateText(h.Timeout))
	case err != nil:
		return undecided(fmt.Sprintf("The model of the hook could not be asked: %v.", err))
	}
	return decided(answer)
}

func optionalText(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// undecided is the result of a hook that did not decide: it refuses nothing.
func undecided(why string) Result { return Result{Err: cut(why), Reason: cut(why)} }

// decided reads the decision in an answer: the first JSON object in it.
func decided(answer string) Result {
	if strings.TrimSpace(answer) == "" {
		return undecided("The model of the hook gave no answer.")
	}
	said, ok := firstObject(answer)
	if !ok {
		return undecided("The answer of the hook's model has no JSON object.")
	}
	decision, _ := said["decision"].(string)
	result := Result{Success: true, Reason: words(said["reason"])}
	switch strings.ToLower(decision) {
	case "deny":
		result.Blocked = true
	case "allow":
	default:
		return undecided("The answer of the hook's model has no decision: it has to be allow or deny.")
	}
	return result
}

// firstObject is the first JSON object in a text, which may have other words around it.
func firstObject(text string) (object map[string]any, ok bool) {
	const attempts = 100 // braces that begin no object
	rest := []byte(text)
	for range attempts {
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
