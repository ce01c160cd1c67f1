package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/config"
)

// Variable is an environment variable that is not a setting.
type Variable struct{ Name, Help string }

// Variables returns the variables beside those of the settings.
func Variables() []Variable {
	return []Variable{
		{"OHGW_CONFIG", "the config file, as --config"},
		{"OHGW_API_KEY", "the token that status, models and chat send to the daemon"},
		{"OHGW_API_KEYS", "tokens, separated by commas, that replace the stored ones in serve"},
		{"OHGW_AGENT_SERVER_KEY", "the agent-server's session key; without it OH_SESSION_API_KEYS_0, then SESSION_API_KEY"},
		{"OHGW_AGENT_SERVER_LLM_KEY", "the API key of agent_server.llm.model, for an agent-server older than 1.22"},
		{"OHGW_CLOUD_API_KEY", "the key of OpenHands Cloud, for the server of OHGW_CLOUD_URL or else the default one; without it OH_API_KEY, OPENHANDS_API_KEY, then OPENHANDS_CLOUD_API_KEY"},
		{"OHGW_CLOUD_URL", "the server of OpenHands Cloud; without it OPENHANDS_CLOUD_API_URL, OPENHANDS_CLOUD_URL, then the default one of ohgw server"},
		{"OH_SECRET_KEY", "OpenHands' secret; it decrypts OpenHands' keys and encrypts those of --key-store file"},
		{"OH_PREVIOUS_SECRET_KEYS", "OpenHands' secrets of before, as a JSON list or as OH_PREVIOUS_SECRET_KEYS_0, _1 and so on; they decrypt only"},
		{"NO_COLOR", "no colour, unless --color says so"},
		{"CLICOLOR_FORCE", "use colour without a terminal, too"},
		{"XDG_CONFIG_HOME", "the directory of ohgw/config.toml; ~/.config, or ~/Library/Application Support on macOS"},
		{"XDG_STATE_HOME", "the directory of ohgw/ with tokens and workspaces; ~/.local/state, or ~/Library/Application Support on macOS"},
		{"XDG_RUNTIME_DIR", "the directory of ohgw/ with the daemon's address; /run/user/UID where that exists, else run/ in the state directory"},
	}
}

func newEnvironmentTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("A setting comes from its flag, else its variable, else its key in the config\nfile, else the default. In a variable, separate the values of a list with commas.\n\nSettings:\n")
	for _, f := range config.Fields() {
		fmt.Fprintf(&b, "  %s\n      %s\n      key %s", f.Env, f.Help, f.Key)
		if f.Flag != "" {
			fmt.Fprintf(&b, ", flag --%s", f.Flag)
		}
		if d := f.Default(); d != "" {
			fmt.Fprintf(&b, ", default %s", d)
		}
		b.WriteString("\n")
	}
	b.WriteString("\nOther variables:\n")
	for _, v := range Variables() {
		fmt.Fprintf(&b, "  %s\n      %s\n", v.Name, v.Help)
	}
	return &cobra.Command{Use: "environment", Short: "Variables and settings", Long: strings.TrimSpace(b.String())}
}
