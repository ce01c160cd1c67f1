package kit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/suggest"
	"github.com/ohgw/ohgw/setup"
)

// Option is one of the known answers to a question.
type Option struct {
	Name string // what is typed, and returned
	Text string // what people read beside it; options without one stand in columns
}

// Choice is a question with known answers. Each has a number.
type Choice struct {
	Question string
	Options  []Option
	Default  string             // the answer to an empty line; "" for none
	Help     string             // what "?" shows, before all options
	Free     func(string) error // takes an answer that is not an option, or says what is wrong with it; nil: none
}

// mostShown is how many options a question shows without being asked for all.
const mostShown = 40

// Choose asks until there is an answer: the number of an option, its name, or a
// part of the name that no other option has. A part that several options have
// shows these. "?" shows the help and all options.
func (a *App) Choose(ctx context.Context, c Choice) (string, error) {
	a.showOptions(c, c.Options[:min(len(c.Options), mostShown)])
	if more := len(c.Options) - mostShown; more > 0 {
		fmt.Fprintf(a.Stderr, "  and %d more; type a part of a name to search\n", more)
	}
	question := c.Question
	if at := slices.IndexFunc(c.Options, func(o Option) bool { return o.Name == c.Default }); at >= 0 {
		question += fmt.Sprintf(" [%d]", at+1)
	}
	for {
		answer, err := a.Ask(ctx, question+": ")
		switch {
		case err != nil:
			return "", err
		case answer == "" && c.Default != "":
			return c.Default, nil
		case answer == "":
			continue
		case answer == "?":
			a.Say(c.Help)
			a.showOptions(c, c.Options)
			continue
		}
		found, problem := c.find(answer)
		switch {
		case problem != "":
			a.Say(problem)
		case len(found) == 1:
			return found[0].Name, nil
		default:
			a.showOptions(c, found)
		}
	}
}

// AskText asks for a line until check takes it. "?" shows the help. An empty
// line is an answer if check takes it.
func (a *App) AskText(ctx context.Context, question, help string, check func(string) error) (string, error) {
	for {
		answer, err := a.Ask(ctx, question+": ")
		if err != nil {
			return "", err
		}
		if answer == "?" {
			a.Say(help)
			continue
		}
		problem := check(answer)
		if problem == nil {
			return answer, nil
		}
		a.Say(Sentence(problem))
	}
}

// AskYesNo asks a question that is answered with yes or no; an empty line is
// yes.
func (a *App) AskYesNo(ctx context.Context, question, help string) (bool, error) {
	for {
		answer, err := a.Ask(ctx, question+" [Y/n]: ")
		if err != nil {
			return false, err
		}
		switch strings.ToLower(answer) {
		case "", "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		case "?":
			a.Say(help)
		default:
			a.Say("Answer y or n.")
		}
	}
}

// Say shows a text below a question, in lines of the terminal's width.
func (a *App) Say(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		for _, part := range Wrap(line, a.Stderr.Width()-2) {
			fmt.Fprintln(a.Stderr, "  "+part)
		}
	}
}

// find returns the options that an answer may mean; one is the answer. The problem is
// why there is none.
func (c Choice) find(answer string) (found []Option, problem string) {
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(c.Options) {
		return c.Options[n-1 : n], ""
	}
	word := strings.ToLower(answer)
	for _, fits := range []func(string) bool{
		func(name string) bool { return name == word },
		func(name string) bool { return strings.HasPrefix(name, word) },
		func(name string) bool { return strings.Contains(name, word) },
	} {
		for _, o := range c.Options {
			if fits(strings.ToLower(o.Name)) {
				found = append(found, o)
			}
		}
		if len(found) > 0 {
			return found, ""
		}
	}
	if c.Free != nil {
		if err := c.Free(answer); err != nil {
			return nil, Sentence(err)
		}
		return []Option{{Name: answer}}, ""
	}
	names := make([]string, len(c.Options))
	for i, o := range c.Options {
		names[i] = o.Name
	}
	if near := suggest.Nearest(answer, names); near != "" {
		return nil, fmt.Sprintf("There is no %q. Did you mean %q?", answer, near)
	}
	return nil, fmt.Sprintf("There is no %q. Type a number, a name, a part of a name, or ? for help.", answer)
}

// Sentence is an error with its hint, as text in a conversation.
func Sentence(err error) string {
	text := err.Error()
	hint := ""
	if f, ok := errors.AsType[*fault.Error](err); ok {
		text, hint = f.Msg, f.Hint
	}
	text = capital(setup.Clean(text)) + "."
	if hint != "" {
		text += " " + capital(setup.Clean(hint)) + "."
	}
	return strings.ReplaceAll(text, "?.", "?")
}

func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// showOptions prints options with their numbers: those with a text one a line,
// the others in columns.
func (a *App) showOptions(c Choice, shown []Option) {
	var plain []string
	width := 0
	for _, o := range shown {
		if o.Text != "" {
			width = max(width, utf8.RuneCountInString(o.Name))
		}
	}
	for _, o := range shown {
		number := slices.IndexFunc(c.Options, func(other Option) bool { return other.Name == o.Name }) + 1
		if o.Text == "" {
			plain = append(plain, fmt.Sprintf("%4d  %s", number, o.Name))
			continue
		}
		fmt.Fprintf(a.Stderr, "%4d  %s%s  %s\n", number, a.Stderr.Styled(iostream.Bold, o.Name),
			strings.Repeat(" ", width-utf8.RuneCountInString(o.Name)), a.Stderr.Styled(iostream.Faint, o.Text))
	}
	for _, line := range columns(plain, a.Stderr.Width()) {
		fmt.Fprintln(a.Stderr, line)
	}
}

// columns sets cells in columns, from top to bottom, as many as fit.
func columns(cells []string, width int) []string {
	if len(cells) == 0 {
		return nil
	}
	const gap = 2
	widest := 0
	for _, c := range cells {
		widest = max(widest, utf8.RuneCountInString(c))
	}
	n := max(1, (width+gap)/(widest+gap))
	rows := (len(cells) + n - 1) / n
	lines := make([]string, rows)
	for i, c := range cells {
		row := i % rows
		if i >= rows {
			pad := (i/rows)*(widest+gap) - utf8.RuneCountInString(lines[row])
			lines[row] += strings.Repeat(" ", max(0, pad))
		}
		lines[row] += c
	}
	return lines
}
