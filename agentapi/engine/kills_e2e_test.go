//go:build e2e

package engine_test

// kills is how many processes are killed.
const kills = 200
