// Command llmtest runs the scripted LLM of package llmtest for end-to-end
// tests that are not Go. It prints its base URL and serves until it is
// interrupted; what it answers is written in the users' messages.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:0", "TCP address to listen on")
	flag.StringVar(&o.model, "model", "test", "name of the model that it lists")
	flag.StringVar(&o.answer, "answer", "", "file with the script that answers an agent, whatever it asks")
	flag.Parse()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "llmtest:", err)
		stop()
		os.Exit(1)
	}
}

// options is the command line.
type options struct{ addr, model, answer string }

func run(ctx context.Context, o options, stdout io.Writer) error {
	server, err := llmtest.Start(o.addr)
	if err != nil {
		return err
	}
	defer server.Close()
	server.Models(o.model)
	if o.answer != "" {
		text, err := os.ReadFile(o.answer)
		if err != nil {
			return err
		}
		replies, err := llmtest.Script(string(text))
		if err != nil {
			return err
		}
		server.On(func(r *llmtest.Request) bool { return len(r.Tools) > 0 }, replies...)
	}
	if _, err := fmt.Fprintln(stdout, server.URL); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
