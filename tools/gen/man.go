package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ohgw/ohgw/cli"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
)

// pagesDate is the date that the pages show: the day on which their form last
// changed. Without one readers warn, and that of the build would make two
// builds differ.
const pagesDate = "2026-11-21"

// manPages writes the pages of all commands, by their names in the repository.
func manPages(root *cobra.Command) map[string]string {
	pages := map[string]string{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		pages["man/"+pageName(cmd)+".1"] = manPage(cmd)
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				walk(c)
			}
		}
	}
	root.InitDefaultHelpCmd()
	walk(root)
	return pages
}

// pageName is "ohgw-keys-set" for ohgw keys set.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage writes the page of one command. Its sections are those of man-pages(7), in
// their order.
func manPage(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var r roff
	r.comment("Made by go generate from the command; changes here are lost.")
	r.macro("TH", escape(strings.ToUpper(pageName(cmd))), "1", pagesDate, "ohgw", "ohgw manual")
	r.macro("nh")            // what is typed and copied is not to be hyphenated
	r.macro("ad", "l")       // nor stretched,
	r.macro("ss", "12", "0") // not between sentences either
	r.section("Name")
	r.line(escape(pageName(cmd)) + ` \- ` + escape(lowerFirst(cmd.Short)))
	text, codes := splitCodes(cmd.Long)
	synopsis(&r, cmd)
	r.section("Description")
	r.text(text)
	commands(&r, cmd)
	flags(&r, "Options", cmd.LocalFlags())
	flags(&r, "Options of every command", cmd.InheritedFlags())
	exitStatus(&r, cmd, codes)
	environment(&r, cmd, text)
	files(&r, cmd)
	if cmd.Example != "" {
		r.section("Examples")
		r.example(strings.Split(cmd.Example, "\n"))
	}
	seeAlso(&r, cmd)
	return r.b.String()
}

// lowerFirst begins a short text as the one line of a page begins.
func lowerFirst(s string) string {
	if len(s) > 1 && strings.ToUpper(s[:2]) == s[:2] {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

func synopsis(r *roff, cmd *cobra.Command) {
	r.section("Synopsis")
	line := bold(cmd.CommandPath())
	_, args, _ := strings.Cut(cmd.Use, " ")
	for _, arg := range strings.Fields(args) {
		line += " " + argument(arg)
	}
	r.words(line + " [" + italic("option") + `\&...]`)
}

// argument sets a word of a usage line: names are italic, what is typed bold.
func argument(word string) string {
	return regexp.MustCompile(`[A-Za-z-]+|[^A-Za-z-]+`).ReplaceAllStringFunc(word, func(part string) string {
		switch {
		case strings.ToUpper(part) != part:
			return bold(part)
		case strings.ToLower(part) != part:
			return italic(part)
		}
		return escape(part)
	})
}

// commands lists the commands below this one.
func commands(r *roff, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	r.section("Commands")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			r.item(reference(c), escape(c.Short)+".")
		}
	}
}

func flags(r *roff, title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	r.section(title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, help := pflag.UnquoteUsage(f)
		name := bold("--" + f.Name)
		if f.Shorthand != "" {
			name = bold("-"+f.Shorthand) + ", " + name
		}
		if value != "" {
			name += " " + argument(value)
		}
		if f.Name == "help" {
			help = "show help"
		}
		help = prose(upperFirst(help)) + "."
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "[]" && d != "0s" {
			help += " Without it: " + bold(d) + "."
		}
		r.item(name, help)
	})
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// splitCodes takes the exit codes out of the long text of a command.
func splitCodes(long string) (text string, codes [][2]string) {
	text, list, _ := strings.Cut(long, "\n\nExit codes:\n")
	for line := range strings.Lines(list) {
		if code, meaning, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			codes = append(codes, [2]string{code, strings.TrimSpace(meaning)})
		}
	}
	return text, codes
}

// exitStatus lists the exit codes. A command that only holds others ends with
// 0 or, for an unknown command, with 2.
func exitStatus(r *roff, cmd *cobra.Command, codes [][2]string) {
	r.section("Exit status")
	for _, line := range fault.ExitCodes() {
		code := strconv.Itoa(int(line.Code))
		named := slices.ContainsFunc(codes, func(c [2]string) bool { return c[0] == code })
		group := len(codes) == 0 && (line.Code == 0 || code == "2")
		if named || group || !cmd.HasParent() {
			r.item(bold(code), escape(upperFirst(line.Meaning))+".")
		}
	}
}

// environment lists the variables of the settings that the command has, and
// those that its text speaks of; the first page has all of them.
func environment(r *roff, cmd *cobra.Command, text string) {
	r.section("Environment")
	all := !cmd.HasParent()
	any := false
	for _, f := range config.Fields() {
		if all || flagOf(cmd, f) || strings.Contains(text, f.Env) {
			r.item(bold(f.Env), setting(f))
			any = true
		}
	}
	for _, v := range cli.Variables() {
		if all || mentions(text, v.Name) {
			r.item(bold(v.Name), escape(upperFirst(v.Help))+".")
			any = true
		}
	}
	switch {
	case all:
	case any:
		r.macro("PP")
		r.words("The variables of every command are in " + reference(cmd.Root()) + ".")
	default:
		r.words("None of its own; those of every command are in " + reference(cmd.Root()) + ".")
	}
}

func mentions(text, name string) bool {
	return strings.Contains(text, name) && regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).MatchString(text)
}

// flagOf reports whether the flag of a setting is one of the command, or the
// setting has no flag and is for the same commands as one that is.
func flagOf(cmd *cobra.Command, f config.Field) bool {
	if f.Flag != "" {
		return cmd.Flags().Lookup(f.Flag) != nil || cmd.InheritedFlags().Lookup(f.Flag) != nil
	}
	one := map[config.Section]string{config.ServeSection: "agent-server", config.SandboxSection: "sandbox"}[f.Section]
	return one != "" && cmd.Flags().Lookup(one) != nil
}

// setting says what a setting means, and its other names.
func setting(f config.Field) string {
	text := prose(upperFirst(f.Help)) + "."
	if f.Flag != "" {
		text += " The same as " + bold("--"+f.Flag) + "."
	}
	text += " In the config file: " + bold(f.Key) + "."
	if d := f.Default(); d != "" && !f.Switch() {
		text += " Without it: " + bold(d) + "."
	}
	return text
}

// reference is how pages name each other.
func reference(cmd *cobra.Command) string { return bold(pageName(cmd)) + "(1)" }

func seeAlso(r *roff, cmd *cobra.Command) {
	var pages []*cobra.Command
	if cmd.HasParent() {
		pages = append(pages, cmd.Root())
		if parent := cmd.Parent(); parent.HasParent() {
			pages = append(pages, parent)
			for _, c := range parent.Commands() {
				if c != cmd && c.IsAvailableCommand() {
					pages = append(pages, c)
				}
			}
		}
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			pages = append(pages, c)
		}
	}
	if len(pages) == 1 { // a command by itself
		for _, c := range cmd.Root().Commands() {
			if c != cmd && c.IsAvailableCommand() && c.GroupID == cmd.GroupID {
				pages = append(pages, c)
			}
		}
	}
	names := make([]string, len(pages))
	for i, c := range pages {
		names[i] = reference(c)
	}
	r.section("See also")
	r.words(strings.Join(names, ", "))
}
