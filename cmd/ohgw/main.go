// Command ohgw serves OpenHands agents to OpenAI clients.
package main

import (
	"os"

	"github.com/ohgw/ohgw/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
