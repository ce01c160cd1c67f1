package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
)

func newExitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("ohgw ends with:\n\n")
	for _, line := range fault.ExitCodes() {
		fmt.Fprintf(&b, "  %-3d %s\n", line.Code, line.Meaning)
	}
	return &cobra.Command{Use: "exit-codes", Short: "Exit codes", Long: strings.TrimSpace(b.String())}
}
