package terminal

import (
	"cmp"
	"strings"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// priority is OpenHands' variable: "none" leaves the agent's programs the priority of
// ohgw. It may be in the environment of ohgw or in env of the tool's params.
const priority = "OH_TERMINAL_PROCESS_PRIORITY"

// niceness returns what is put before the shell's command, so that what the agent
// builds and tests does not take the processors from the machine's other programs.
// Its programs inherit it. There is none where there is no nice.
func (t *Terminal) niceness() []string {
	var outer string
	for _, entry := range t.cfg.Environ {
		if value, ok := strings.CutPrefix(entry, priority+"="); ok {
			outer = value
		}
	}
	if strings.EqualFold(strings.TrimSpace(cmp.Or(t.cfg.Params.Env[priority], outer)), "none") {
		return nil
	}
	nice, err := sandbox.Find("nice", t.cfg.Environ)
	if err != nil {
		return nil
	}
	return []string{nice, "-n", "10"}
}
