package markdown

import (
	"github.com/charmbracelet/x/ansi"

	"github.com/ohgw/ohgw/tui/wrap"
)

// lineWidth is the width of a rendered line.
func lineWidth(line string) int { return wrap.Width(ansi.Strip(line)) }
