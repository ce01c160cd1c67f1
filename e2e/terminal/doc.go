// Package terminal tests the chat as people have it: the built program, in a
// real terminal (tmux) with real keys, and the embedded agent behind a real
// gateway. Only the LLM is scripted (internal/testkit/llmtest).
//
// Its tests have the build tag e2e. What a screen has to show is in testdata, one file a
// state and size; `go test -tags e2e ./e2e/terminal -update` rewrites those, for a person
// to look at.
package terminal
