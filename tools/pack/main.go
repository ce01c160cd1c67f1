// Command pack makes the files of a release from goreleaser.yaml, in the form
// of a snapshot: what GoReleaser makes, less what needs a key or an account.
//
// It is there because GoReleaser itself does not build in a check
// (docs/adr/0013). It reads the same file and refuses a template that it does
// not know, so that the two cannot drift apart unseen. Its packages come from
// nfpm, the library that GoReleaser uses. Two runs on one commit give the same
// bytes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

const usage = `usage: pack snapshot [-target OS/ARCH] ROOT DIST   everything for the commit that is checked out in ROOT
       pack sbom ARCHIVE FILE                      what is built into the program in ARCHIVE, or what a source archive requires`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command\n%s", usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	target := flags.String("target", "", "build for this one `OS/ARCH` only")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch {
	case args[0] == "snapshot" && flags.NArg() == 2:
		return snapshot(ctx, flags.Arg(0), flags.Arg(1), *target)
	case args[0] == "sbom" && flags.NArg() == 2:
		return writeSBOM(flags.Arg(0), flags.Arg(1))
	}
	return fmt.Errorf("wrong arguments\n%s", usage)
}
