package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/suggest"
)

func newCompletion(a *kit.App) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a completion script for a shell",
		Long: kit.Long(`
Prints a script that lets the shell complete commands, flags and their values.

  bash        source <(ohgw completion bash)
              in ~/.bashrc; it needs the package bash-completion
  zsh         ohgw completion zsh > "${fpath[1]}/_ohgw"
  fish        ohgw completion fish > ~/.config/fish/completions/ohgw.fish
  powershell  ohgw completion powershell | Out-String | Invoke-Expression

The command only prints; it installs nothing.`, 0, fault.Usage),
		Example:   kit.Examples("ohgw completion bash", "ohgw completion fish > ~/.config/fish/completions/ohgw.fish"),
		Args:      kit.Exactly("the shell"),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.Stdout)
			case "fish":
				return root.GenFishCompletion(a.Stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Stdout)
			}
			hint := "use bash, zsh, fish or powershell"
			if near := suggest.Nearest(args[0], shells); near != "" {
				hint = "did you mean " + near + "?"
			}
			return fault.NewUsage(fmt.Sprintf("no completion is available for %q", args[0]), hint)
		},
	}
}
