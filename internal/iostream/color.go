package iostream

import "fmt"

// ColorMode is what the user wants: auto, always or never.
type ColorMode string

// The modes.
const (
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// ParseColorMode reads a ColorMode.
func ParseColorMode(s string) (ColorMode, error) {
	switch m := ColorMode(s); m {
	case ColorAuto, ColorAlways, ColorNever:
		return m, nil
	}
	return "", fmt.Errorf("%q is not one of auto, always, never", s)
}

// UseColor decides about colour on one stream. In the mode auto, from strong
// to weak: NO_COLOR (https://no-color.org), CLICOLOR_FORCE, TERM=dumb, and
// then whether the stream is a terminal.
func UseColor(mode ColorMode, tty bool, getenv func(string) string) bool {
	switch mode {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	case ColorAuto:
	}
	if getenv("NO_COLOR") != "" {
		return false
	}
	if force := getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return tty && getenv("TERM") != "dumb"
}
