package graphics

import (
	"slices"
	"strings"
)

// Protocol is how a terminal is given pictures.
type Protocol int

// The protocols.
const (
	None Protocol = iota
	Kitty
	ITerm
	Sixel
)

// sixelAttribute is the device attribute of a terminal that shows Sixel.
const sixelAttribute = 4

// Of returns the protocol of a terminal by its variables; None where these do not decide. A
// multiplexer keeps the variables of the terminal around it, and does not pass its pictures on.
func Of(environ []string) Protocol {
	vars := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	term, program := vars["TERM"], vars["TERM_PROGRAM"]
	switch {
	case vars["TMUX"] != "", vars["STY"] != "", vars["ZELLIJ"] != "", strings.HasPrefix(term, "screen"), strings.HasPrefix(term, "tmux"):
		return None
	case term == "xterm-kitty", term == "xterm-ghostty", vars["KITTY_WINDOW_ID"] != "", program == "ghostty":
		return Kitty
	case program == "iTerm.app", program == "WezTerm", vars["LC_TERMINAL"] == "iTerm2", vars["WEZTERM_PANE"] != "":
		return ITerm
	}
	return None
}

// HasSixel reports whether the answer to a request for the primary device attributes says that
// the terminal shows Sixel.
func HasSixel(attributes []int) bool { return slices.Contains(attributes, sixelAttribute) }
