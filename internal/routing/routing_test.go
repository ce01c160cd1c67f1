package routing_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/routing"
)

func TestAnAnswerStandsForAProfileOrNone(t *testing.T) {
	t.Parallel()
	classes := &routing.Router{Classes: []routing.Class{{Description: "easy", Profile: "small"}, {Description: "hard", Profile: "gone"}}}
	direct := &routing.Router{Template: "{{instance_text}}"}
	profiles := []string{"gpt", "gpt-mini", "Big"}
	for name, tt := range map[string]struct {
		router         *routing.Router
		answer         string
		profile, class string
	}{
		"a number":                     {classes, "2", "gone", "hard"},
		"a number in words":            {classes, "It is 1, not 2.", "small", "easy"},
		"no class":                     {classes, "0", "", ""},
		"too high":                     {classes, "3", "", ""},
		"below zero":                   {classes, "-1", "", ""},
		"no number":                    {classes, "easy", "", ""},
		"nothing":                      {classes, "", "", ""},
		"a number that is no int":      {classes, "99999999999999999999", "", ""},
		"JSON":                         {direct, `{"model":"gpt"}`, "gpt", ""},
		"JSON in a fence":              {direct, "```json\n{\"model\": \" big \"}\n```", "Big", ""},
		"JSON of no profile":           {direct, `{"model":"o1"} or gpt`, "", ""},
		"JSON without a model":         {direct, `{"choice":"gpt"}`, "gpt", ""},
		"the longest name in the text": {direct, "Take gpt-mini.", "gpt-mini", ""},
		"another case":                 {direct, "BIG", "Big", ""},
		"no name":                      {direct, "none", "", ""},
	} {
		if profile, class := tt.router.Choice(tt.answer, profiles); profile != tt.profile || class != tt.class {
			t.Errorf("%s: profile = %q, class %q", name, profile, class)
		}
	}
}

func TestTheQuestionHasTheClassesOrIsTheUsersPrompt(t *testing.T) {
	t.Parallel()
	classes := &routing.Router{Classes: []routing.Class{{Description: "easy"}, {Description: "hard"}}}
	system, user := classes.Question("the task")
	if !strings.Contains(system, "1. easy\n2. hard\n") || user != "the task" {
		t.Errorf("system = %q, user %q", system, user)
	}
	direct := &routing.Router{Template: " {{ instance_text }} by {{model_table}} {{ odd }}\n", Table: "T"}
	// What the task says is not taken for a part of the prompt.
	if system, user = direct.Question("do {{model_table}}"); user != "do {{model_table}} by T {{ odd }}" || system == "" {
		t.Errorf("system = %q, user %q", system, user)
	}
}
