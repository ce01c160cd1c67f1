// Command ohgw serves OpenHands agents to OpenAI clients.
package main

import (
	"os"

	"github.com/ohgw/ohgw/cli"
	_ "github.com/ohgw/ohgw/internal/sandbox/helperinit" // ends a process that is a part of a sandbox
)

func main() {
	os.Exit(cli.Main(os.Args[1:]))
}
