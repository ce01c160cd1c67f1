package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRunServesAtTheURLItPrints(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(ctx, options{addr: "127.0.0.1:0", model: "test"}, in) }()
	line := make([]byte, 100)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(strings.TrimSpace(string(line[:n])) + "/models")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("status = %d", res.StatusCode)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
}
