package kit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

// answering is an App whose person types these lines.
func answering(t *testing.T, lines ...string) *clitest.App {
	t.Helper()
	a := clitest.New(t, nil)
	a.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	return a
}

func TestAnswersAreFoundByNumberNameAndPart(t *testing.T) {
	t.Parallel()
	choice := kit.Choice{Question: "LLM", Default: "groq", Help: "Any of them.", Options: []kit.Option{
		{Name: "anthropic", Text: "with a key"}, {Name: "groq"}, {Name: "openai"}, {Name: "openrouter"},
	}}
	for name, tt := range map[string]struct {
		typed []string
		want  string
		shown string // on the terminal
	}{
		"an empty line":   {[]string{""}, "groq", "LLM [2]: "},
		"a number":        {[]string{"3"}, "openai", ""},
		"a name":          {[]string{"OpenAI"}, "openai", ""},
		"a beginning":     {[]string{"anthr"}, "anthropic", ""},
		"a part":          {[]string{"router"}, "openrouter", ""},
		"several":         {[]string{"open", "4"}, "openrouter", "   3  openai         4  openrouter\n"},
		"help":            {[]string{"?", "1"}, "anthropic", "  Any of them.\n   1  anthropic  with a key\n"},
		"a typing error":  {[]string{"anhtropic", "1"}, "anthropic", `  There is no "anhtropic". Did you mean "anthropic"?`},
		"nothing like it": {[]string{"gpt-5", "1"}, "anthropic", `  There is no "gpt-5". Type a number, a name, a part of a name, or ? for help.`},
		"no such number":  {[]string{"7", "1"}, "anthropic", `  There is no "7".`},
	} {
		a := answering(t, tt.typed...)
		got, err := a.Choose(t.Context(), choice)
		if err != nil || got != tt.want || !strings.Contains(a.Err.String(), tt.shown) {
			t.Errorf("%s: Choose = %q, error %v, want %q; the terminal shows, without %q:\n%s", name, got, err, tt.want, tt.shown, &a.Err)
		}
	}
	if _, err := answering(t).Choose(t.Context(), kit.Choice{Question: "LLM", Options: choice.Options}); fault.CodeOf(err) != fault.Usage {
		t.Errorf("without an answer: %v, want a usage error", err)
	}
}

func TestAnAnswerThatIsNotAnOptionIsChecked(t *testing.T) {
	t.Parallel()
	a := answering(t, "bad", "my-model")
	got, err := a.Choose(t.Context(), kit.Choice{Question: "Model", Options: []kit.Option{{Name: "gpt-5"}}, Free: func(text string) error {
		if text == "bad" {
			return fault.NewUsage("this is not a model", "type its name")
		}
		return nil
	}})
	if err != nil || got != "my-model" || !strings.Contains(a.Err.String(), "  This is not a model. Type its name.\n") {
		t.Errorf("%q, %v; the terminal shows:\n%s", got, err, &a.Err)
	}
}

func TestManyOptionsAreNotAllShown(t *testing.T) {
	t.Parallel()
	a := answering(t, "x27")
	var many []kit.Option
	for i := range 300 {
		many = append(many, kit.Option{Name: "x" + string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10))})
	}
	if _, err := a.Choose(t.Context(), kit.Choice{Question: "Model", Options: many}); err == nil {
		t.Error("x27 begins several names, and nothing else was typed")
	}
	if !strings.Contains(a.Err.String(), "and 260 more; type a part of a name to search") {
		t.Errorf("the terminal shows:\n%s", &a.Err)
	}
}

func TestTextAndYesAreAsked(t *testing.T) {
	t.Parallel()
	a := answering(t, "?", "no", "yes it is")
	got, err := a.AskText(t.Context(), "Base URL", "A URL.", func(text string) error {
		if text == "no" {
			return errors.New("too short")
		}
		return nil
	})
	want := "Base URL:   A URL.\nBase URL:   Too short.\nBase URL: "
	if diff := cmp.Diff(want, a.Err.String()); err != nil || got != "yes it is" || diff != "" {
		t.Errorf("%q, %v; -want +got:\n%s", got, err, diff)
	}
	for typed, want := range map[string]bool{"": true, "Y": true, "no": false, "?\nwhat\ny": true} {
		if got, err := answering(t, typed).AskYesNo(t.Context(), "Sure", "Think."); err != nil || got != want {
			t.Errorf("%q: AskYesNo = %t, error %v", typed, got, err)
		}
	}
}
