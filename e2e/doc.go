// Package e2e tests the program as its users have it: the built binary, a real
// OpenHands agent-server behind it, the newest client libraries in front. Only
// the LLM is scripted (internal/testkit/llmtest), so that every word is known.
//
// Its tests have the build tag e2e, because they take minutes and need what
// scripts/e2e-setup installs. They are run by `make e2e`, the benchmarks by
// `make bench`. What is missing skips a test with a loud word, and fails it
// where the environment has CI=true.
//
// A client is a program in e2e/go, e2e/python or e2e/node. protocol_test.go
// says what those for chat completions read and write, clients_test.go what has to
// come of it. responses_test.go does both for those of the Responses API.
package e2e
