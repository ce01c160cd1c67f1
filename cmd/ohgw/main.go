// Command ohgw serves OpenHands agents to OpenAI clients.
package main

import (
	"os"

	"github.com/ohgw/ohgw/cli"
	_ "github.com/ohgw/ohgw/internal/sandbox/early" // ends a process that is a part of a sandbox
	"github.com/ohgw/ohgw/internal/sandbox/escape"
)

func main() {
	if escape.Wanted(os.Args) {
		os.Exit(escape.Main(os.Args))
	}
	os.Exit(cli.Main(os.Args[1:]))
}
