package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

const (
	// maxStdin bounds what is read of stdin, in bytes. The gateway has limits of
	// its own; this one is for memory.
	maxStdin = 32 << 20
	// stdinPatience is how long ohgw waits for stdin before it says so.
	stdinPatience = 3 * time.Second
)

// atMost wants an argument or none.
func atMost(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := kit.NoKeys(cmd, args); err != nil {
			return err
		}
		if len(args) > 1 {
			return fault.NewUsage(fmt.Sprintf("unexpected argument %q", args[1]), "put quotation marks around "+name)
		}
		return nil
	}
}

// readPrompt reads what there is to ask: the argument, or stdin, or both.
func readPrompt(ctx context.Context, a *kit.App, prompt string) (string, error) {
	text := ""
	if !a.StdinTTY {
		var err error
		if text, err = readStdin(ctx, a); err != nil {
			return "", err
		}
	}
	switch blank := strings.TrimSpace(text) == ""; {
	case strings.TrimSpace(prompt) == "" && blank:
		return "", fault.NewUsage("the prompt is missing", `pass the prompt as an argument or on stdin; without --print, ohgw chat opens a chat on a terminal`)
	case strings.TrimSpace(prompt) == "":
		return text, nil
	case blank:
		return prompt, nil
	}
	return prompt + "\n\n<stdin>\n" + strings.TrimRight(text, "\n") + "\n</stdin>", nil
}

// readStdin reads all of stdin. It cannot be interrupted, so Ctrl-C ends the
// program there; nothing has been started yet.
func readStdin(ctx context.Context, a *kit.App) (string, error) {
	stop := context.AfterFunc(ctx, func() { a.Leave(ctx) })
	defer stop()
	tell := time.AfterFunc(stdinPatience, func() {
		a.Note("Reading the prompt from stdin until its end. If stdin is not meant, add: < /dev/null")
	})
	defer tell.Stop()
	data, err := io.ReadAll(io.LimitReader(a.Stdin, maxStdin+1))
	switch {
	case errors.Is(err, fs.ErrClosed):
		return "", nil // There is none.
	case err != nil:
		return "", fmt.Errorf("read stdin: %w", err)
	case len(data) > maxStdin:
		return "", fault.NewUsage(fmt.Sprintf("stdin has more than %d MiB", maxStdin>>20), "put the text in a file, and ask the agent to read it")
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}
