package shellrisk

import "strings"

// wrapper is a program that runs another one, whose name stands among its own words.
type wrapper struct {
	none   string // options without a value, between spaces
	value  string // ... with one
	before int    // words before the program
	assign bool   // variables are set before the program
}

// wrapperOf knows the wrappers that OpenHands looks through, with the options of which it
// knows whether they have a value.
func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "env":
		return wrapper{none: " -i --ignore-environment ", value: " -u --unset -C --chdir ", assign: true}, true
	case "sudo":
		return wrapper{none: " -E -H -i -n -S ", value: " -u --user -g --group -D --chdir ", assign: true}, true
	case "command":
		return wrapper{none: " -p -v -V "}, true
	case "time":
		return wrapper{none: " -p "}, true
	case "timeout":
		return wrapper{none: " --foreground --preserve-status --verbose ", value: " -k --kill-after -s --signal ", before: 1}, true
	case "exec":
		return wrapper{none: " -c -l ", value: " -a "}, true
	case "nice":
		return wrapper{value: " -n --adjustment "}, true
	case "chroot":
		return wrapper{none: " --skip-chdir ", value: " --userspec --groups ", before: 1}, true
	case "setsid":
		return wrapper{none: " -f --fork -c --ctty -w --wait "}, true
	case "stdbuf":
		return wrapper{value: " -i --input -o --output -e --error "}, true
	case "strace":
		return wrapper{none: " -f ", value: " -o -e -p -s "}, true
	case "builtin", "nohup", "busybox", "toybox":
		return wrapper{}, true
	}
	return wrapper{}, false
}

// values counts how many words behind an option are its values.
func (w wrapper) values(option string) (count int, known bool) {
	has := func(list, name string) bool { return strings.Contains(list, " "+name+" ") }
	switch {
	case has(w.none, option):
		return 0, true
	case has(w.value, option):
		return 1, true
	case strings.HasPrefix(option, "--"):
		name, _, assigned := strings.Cut(option, "=")
		return 0, assigned && (has(w.none, name) || has(w.value, name))
	case len(option) < 3:
		return 0, false
	}
	for i := 1; i < len(option); i++ { // letters in one word; what is behind one with a value is it
		switch letter := "-" + option[i:i+1]; {
		case has(w.value, letter) && i == len(option)-1:
			return 1, true
		case has(w.value, letter):
			return 0, true
		case !has(w.none, letter):
			return 0, false
		}
	}
	return 0, true
}

// unwrapped finds the command that wrappers run in the end. It is open if that cannot be
// told.
func (c command) unwrapped() command {
	for {
		w, ok := wrapperOf(c.name)
		if !ok || c.isBuiltin() && !c.plain {
			return c
		}
		at, state := w.skip(c)
		if state == stops {
			return c
		}
		if state == lost || !c.args[at].known || c.args[at].many {
			c.open = true
			return c
		}
		target := c.args[at]
		if c.name == "builtin" && target.text != "builtin" && target.text != "command" && target.text != "exec" {
			return c
		}
		c.runs(target, c.args[at+1:])
	}
}

// isBuiltin reports whether the command is one of the wrappers that only a shell has.
func (c command) isBuiltin() bool { return c.name == "builtin" || c.name == "command" }

// runs makes the command the one that it runs.
func (c *command) runs(target word, args []word) {
	flat := !strings.Contains(target.text, "/")
	timed := c.name == "time"
	c.plain = c.plain && flat && (c.isBuiltin() || timed && c.bare)
	c.bare = c.bare && flat && timed && target.raw == target.text
	c.name, c.args = base(target.text), args
}

// How the search for the program of a wrapper went.
type searched int

const (
	here  searched = iota
	stops          // the wrapper runs nothing
	lost           // it cannot be told from the options
)

// skip finds the program among the words of a wrapper.
func (w wrapper) skip(c command) (at int, state searched) {
	at, state = w.options(c)
	if state != here {
		return at, state
	}
	if c.name == "env" && at < len(c.args) && c.args[at].known && c.args[at].text == "-" {
		at++
	}
	for ; w.assign && at < len(c.args); at++ {
		if c.args[at].many {
			return at, lost
		}
		if !strings.Contains(c.args[at].begins(), "=") {
			if !c.args[at].known {
				return at, lost
			}
			break
		}
	}
	for i := range w.before {
		if at+i < len(c.args) && c.args[at+i].many {
			return at, lost
		}
	}
	if at += w.before; at >= len(c.args) {
		return at, stops
	}
	return at, here
}

func (w wrapper) options(c command) (at int, state searched) {
	for at < len(c.args) {
		arg := c.args[at]
		if arg.many || !arg.known {
			if arg.many || !w.hasValueInside(arg.begins()) {
				return at, w.unsure(arg)
			}
			at++
			continue
		}
		if arg.text == "--" {
			return at + 1, here
		}
		if !strings.HasPrefix(arg.text, "-") || arg.text == "-" {
			return at, here
		}
		n, ok := w.values(arg.text)
		if !ok || at+n >= len(c.args) || n == 1 && c.args[at+1].many {
			return at, lost
		}
		if c.name == "command" && strings.ContainsAny(arg.text, "vV") {
			return at, stops
		}
		at += n + 1
	}
	return at, here
}

// unsure returns how the search continues at a word that has to be looked up: the word
// sets a variable, or the search is lost.
func (w wrapper) unsure(arg word) searched {
	if !arg.many && w.assign && isAssignment(arg.begins()) {
		return here
	}
	return lost
}

func isAssignment(text string) bool {
	return !strings.HasPrefix(text, "-") && strings.Contains(text, "=")
}

// hasValueInside reports whether a word begins with a known option and its "=".
func (w wrapper) hasValueInside(begins string) bool {
	n, known := w.values(begins)
	return known && n == 0 && strings.HasPrefix(begins, "--") && strings.Contains(begins, "=")
}
