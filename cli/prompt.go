package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// confirm asks for a yes before something is destroyed. Where nobody can be
// asked it fails and names the flag that says yes.
func (a *app) confirm(ctx context.Context, question, flag string) (bool, error) {
	if !a.canAsk() {
		return false, usage("this needs a yes, and nobody can be asked", "pass "+flag)
	}
	// A read from a terminal cannot be interrupted, and nothing is done yet
	// that would have to be undone: Ctrl-C ends the program here.
	stop := context.AfterFunc(ctx, func() {
		code, _ := interrupted(ctx, context.Cause(ctx))
		fmt.Fprintln(a.Stderr)
		a.Exit(int(code))
	})
	defer stop()
	fmt.Fprintf(a.Stderr, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(a.Stdin).ReadString('\n') // No line is no yes.
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
