// Package routing is OpenHands' meta-profiles: what one call of an LLM is asked in order
// to choose the LLM profile for a task, and what its answer stands for. It reads no file
// and calls no LLM.
//
// Nothing is guessed: an answer that names none of the profiles stands for none.
package routing

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/pattern"
)

// Router is the content of a meta-profile: how one call of the profile Classifier
// chooses the profile for a task, by Classes or by a prompt of the user's own.
type Router struct {
	Name       string // "" for one that is in no file
	Classifier string
	Classes    []Class
	Template   string // with {{ instance_text }}; "" where Classes count
	Table      string // for {{ model_table }} in it
}

// Class is a kind of tasks and the profile for it.
type Class struct{ Description, Profile string }

var (
	placeholder = pattern.Of(`\{\{\s*(instance_text|model_table)\s*\}\}`)
	firstNumber = pattern.Of(`-?\d+`)
	jsonObject  = pattern.Of(`(?s)\{.*\}`)
)

// Question asks for the class of a task, or what the user's own prompt asks for. It has
// two messages, since some providers refuse a request with a system message alone.
func (r *Router) Question(task string) (system, user string) {
	const who = "You choose the model for a task."
	if r.Template != "" {
		ask := placeholder().ReplaceAllStringFunc(r.Template, func(mark string) string {
			if strings.Contains(mark, "model_table") {
				return r.Table
			}
			return task
		})
		return who, strings.TrimSpace(ask)
	}
	var b strings.Builder
	b.WriteString(who + " Answer with the number of the class that fits what the user wants now best, and nothing else; " +
		"with 0 if none fits.\n\nClasses:\n")
	for i, class := range r.Classes {
		fmt.Fprintf(&b, "%d. %s\n", i+1, class.Description)
	}
	return b.String(), task
}

// Choice reads what an answer stands for: one of the profiles, and the description of
// the class, which is "" where a prompt chooses. Both are "" for an answer that names
// none.
func (r *Router) Choice(answer string, profiles []string) (profile, class string) {
	if r.Template == "" {
		n, err := strconv.Atoi(firstNumber().FindString(answer))
		if err != nil || n < 1 || n > len(r.Classes) {
			return "", ""
		}
		return r.Classes[n-1].Profile, r.Classes[n-1].Description
	}
	var said struct {
		Model string `json:"model"`
	}
	object := jsonObject().FindString(answer)
	named := object != "" && json.Unmarshal([]byte(object), &said) == nil && strings.TrimSpace(said.Model) != ""
	for _, name := range profiles {
		switch {
		case named:
			if strings.EqualFold(name, strings.TrimSpace(said.Model)) {
				return name, ""
			}
		case len(name) > len(profile) && strings.Contains(strings.ToLower(answer), strings.ToLower(name)):
			profile = name
		}
	}
	return profile, ""
}
