// Command ohgw serves OpenHands agents to OpenAI clients.
package main

import (
	"os"

	"github.com/ohgw/ohgw/cli"
	"github.com/ohgw/ohgw/internal/sandbox/boxfiles"
	"github.com/ohgw/ohgw/internal/sandbox/escape"
	"github.com/ohgw/ohgw/internal/sandbox/inside"
)

func main() {
	if inside.Wanted(os.Args) {
		os.Exit(inside.Main(os.Args))
	}
	if boxfiles.Wanted(os.Args) {
		os.Exit(boxfiles.Main())
	}
	if escape.Wanted(os.Args) {
		os.Exit(escape.Main(os.Args))
	}
	os.Exit(cli.Main(os.Args[1:]))
}
