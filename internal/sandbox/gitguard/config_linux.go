package gitguard

import (
	"maps"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/pattern"
)

// The lines of a git configuration as git itself writes them. A value with quotes,
// comments or escapes is not among them: what is read here and what git reads is the
// same.
var (
	headerLine = pattern.Of(`^\[([A-Za-z0-9-]+)(?: "([^"\\]*)")?\]$`)
	valueLine  = pattern.Of(`^\t([A-Za-z][A-Za-z0-9-]*) = ([^"\\#;]*)$`)
)

// harmless are settings by which git runs nothing and finds no other settings, as
// section and name. A * is any subsection.
var harmless = pattern.Of(`^(branch \S+ (remote|merge|rebase)|remote \S+ (url|fetch)|user  (name|email))$`)

// onlyHarmless reports whether a git configuration differs from an earlier one only
// in settings that run nothing. When in doubt it does not.
func onlyHarmless(before, after string) bool {
	old, ok := settings(before)
	if !ok {
		return false
	}
	changed, ok := settings(after)
	if !ok {
		return false
	}
	for setting := range maps.Keys(old) {
		if changed[setting] == old[setting] {
			delete(old, setting)
			delete(changed, setting)
		}
	}
	left := slices.Concat(slices.Collect(maps.Keys(old)), slices.Collect(maps.Keys(changed)))
	return !slices.ContainsFunc(left, func(s setting) bool { return !isHarmless(s) })
}

// isHarmless reports whether a setting, of the form of [settings], runs nothing.
func isHarmless(s setting) bool {
	// git runs the program of a URL with :: in it, if its settings allow that.
	return harmless().MatchString(s.name) && !strings.Contains(s.value, "::")
}

// withoutHarm removes from the later one of two git configurations the settings that
// are new in it and may run something. It is false where that is not enough.
func withoutHarm(before, after string) (string, bool) {
	old, ok := settings(before)
	if !ok {
		return "", false
	}
	var kept strings.Builder
	section := ""
	for line := range strings.Lines(after) {
		text := strings.TrimSuffix(line, "\n")
		if m := headerLine().FindStringSubmatch(text); m != nil {
			section = sectionOf(m)
		} else if m := valueLine().FindStringSubmatch(text); m != nil {
			setting := settingOf(section, m)
			if old[setting] == 0 && !isHarmless(setting) {
				continue
			}
			old[setting]--
		}
		kept.WriteString(line)
	}
	return kept.String(), onlyHarmless(before, kept.String())
}

// settings counts the lines of a configuration, their names as "section subsection
// name". One that has other lines is not read.
func settings(text string) (map[setting]int, bool) {
	found := map[setting]int{}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := headerLine().FindStringSubmatch(line); m != nil {
			section = sectionOf(m)
			continue
		}
		m := valueLine().FindStringSubmatch(line)
		if m == nil || section == "" || strings.ContainsFunc(line[1:], func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, false
		}
		found[settingOf(section, m)]++
	}
	return found, true
}

// sectionOf and settingOf name what headerLine and valueLine have found.
func sectionOf(m []string) string { return strings.ToLower(m[1]) + " " + m[2] + " " }

func settingOf(section string, m []string) setting {
	return setting{section + strings.ToLower(m[1]), m[2]}
}
