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
	addr := flag.String("addr", "127.0.0.1:0", "TCP address to listen on")
	flag.Parse()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "llmtest:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string, stdout io.Writer) error {
	server, err := llmtest.Start(addr)
	if err != nil {
		return err
	}
	defer server.Close()
	if _, err := fmt.Fprintln(stdout, server.URL); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
