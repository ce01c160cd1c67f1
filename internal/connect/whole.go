package connect

import (
	"github.com/BurntSushi/toml"
)

// addWhole returns the text of a file that holds only our settings. It refuses to
// replace other text.
func (c Client) addWhole(old string, v Values) (string, error) {
	if !blank(old) && !c.wroteWhole(old) {
		return "", ErrTaken
	}
	return c.Settings(v), nil
}

// removeWhole is the file without our settings: nothing, if it is ours.
func (c Client) removeWhole(old string) string {
	if c.wroteWhole(old) {
		return ""
	}
	return old
}

// wroteWhole reports whether a file is our settings, with any values.
func (c Client) wroteWhole(text string) bool {
	is, err := c.read(text)
	if err != nil || is == nil {
		return false
	}
	ours, err := c.read(c.anySettings())
	return err == nil && fits(is, ours)
}

// anySettings are our settings with marks for the values.
func (c Client) anySettings() string {
	return Values{BaseURL: anyValue, ContainerURL: anyValue, Model: anyValue, Program: anyValue}.fill(c.settings)
}

func readTOML(text string) (any, error) {
	var v map[string]any
	err := toml.Unmarshal([]byte(text), &v)
	return v, err
}
