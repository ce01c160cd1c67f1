package cli_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// fakeSystemctl writes down what it is told, in SYSTEMCTL_LOG, and says that
// units are in SYSTEMCTL_STATE.
func fakeSystemctl() {
	if os.Getenv("SYSTEMCTL_FAILS") != "" {
		fmt.Fprintln(os.Stderr, "no bus")
		os.Exit(1)
	}
	if slices.Contains(os.Args, "show") {
		fmt.Printf("ActiveState=%s\nSubState=running\nUnitFileState=enabled\n", os.Getenv("SYSTEMCTL_STATE"))
		return
	}
	log, err := os.OpenFile(os.Getenv("SYSTEMCTL_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(log, strings.Join(os.Args[1:], " "))
	if err := log.Close(); err != nil {
		panic(err)
	}
}
