package kit

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
)

// Confirm asks for confirmation before something is destroyed, unless yes, the
// flag --yes, gives it. It notes refused where the user refuses. Without a
// terminal to ask on, it fails and names the flag.
func (a *App) Confirm(ctx context.Context, yes bool, question, refused string) (bool, error) {
	if yes {
		return true, nil
	}
	if !a.CanAsk() {
		return false, fault.NewUsage("confirmation is required, and there is no terminal to ask on", "pass --yes")
	}
	fmt.Fprint(a.Stderr, Fitted(a.Stderr, question+" [y/N]", 0)+" ")
	answer, _ := a.readLine(ctx) // No line is a refusal.
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true, nil
	}
	a.Note("%s", refused)
	return false, nil
}

// Ask asks for a line. No line at all is an error.
func (a *App) Ask(ctx context.Context, question string) (string, error) {
	text := strings.TrimRight(question, " ")
	fmt.Fprint(a.Stderr, Fitted(a.Stderr, text, 0)+question[len(text):])
	answer, err := a.readLine(ctx)
	if err != nil {
		return "", fault.NewUsage("no answer was given", "pass the flags instead (see --help)")
	}
	return answer, nil
}

// keyHelp is what "?" shows where a key is asked for.
const keyHelp = `It is what the provider or server calls an API key or a token; its page for developers makes one.
What you type or paste is not shown; Enter ends it. It is kept as "ohgw keys --help" says, and printed nowhere.
Ctrl-C ends without a key.`

// AskKey asks for a key that the terminal does not show. "?" shows the help.
func (a *App) AskKey(ctx context.Context, question string) (secret.Value, error) {
	if !a.CanAsk() {
		return secret.Value{}, fault.NewUsage("a key is required, and there is no terminal to ask on", "pass it on stdin or with --file")
	}
	for {
		text, err := a.ReadHidden(ctx, question+" (hidden): ", func() { a.Leave(ctx) })
		fmt.Fprintln(a.Stderr)
		if err != nil {
			return secret.Value{}, fmt.Errorf("read key: %w", err)
		}
		if string(bytes.TrimSpace(text)) == "?" {
			a.Say(keyHelp)
			continue
		}
		defer clear(text)
		return secret.Read(bytes.NewReader(text))
	}
}

// Leave ends the program. A read from a terminal cannot be interrupted, and
// nothing is done yet that would have to be undone where questions are asked:
// Ctrl-C ends the program there.
func (a *App) Leave(ctx context.Context) {
	code, _ := Interrupted(ctx, context.Cause(ctx))
	if a.Leaving != nil {
		a.Leaving(context.Cause(ctx))
	}
	fmt.Fprintln(a.Stderr)
	a.Exit(int(code))
}

// readLine reads a line from a person, without blanks around it. It takes no
// byte of the next line: that is the answer to another question.
func (a *App) readLine(ctx context.Context) (string, error) {
	stop := context.AfterFunc(ctx, func() { a.Leave(ctx) })
	defer stop()
	var line strings.Builder
	for b := make([]byte, 1); ; {
		n, err := a.Stdin.Read(b)
		if n > 0 && b[0] == '\n' || err != nil {
			return strings.TrimSpace(line.String()), err
		}
		line.Write(b[:n])
	}
}
