package profile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/pattern"
)

// everythingElse checks what belongs to no single profile.
func (c *checker) everythingElse(files []document.File, opts CheckOptions) {
	c.twins(files)
	c.settings(files)
	c.leftovers()
	for _, l := range opts.Older {
		if !sameDir(l.Base, c.store.cfg.Base) && (opts.CLI == "" || !sameDir(l.Base, opts.CLI)) {
			at := finding{c: c, file: document.File{Path: l.Base}}
			at.add(Note, "older-store", "OH_PERSISTENCE_DIR="+quote(l.Base)+" ohgw profiles check", "an agent-server before 1.40 kept its files here; current ones do not read them")
		}
	}
	if opts.CLI != "" {
		if snap := document.CLIFile(opts.CLI).Read(); !snap.Missing() {
			c.file(snap)
		}
	}
	c.agents(files)
	c.metas(files)
	if n := countVisible(files); n > MaxProfiles {
		at := finding{c: c, file: document.File{Path: document.ProfilesDir(c.store.cfg.Base)}}
		at.add(Note, "over-limit", "ohgw profiles remove NAME", "%d profiles: OpenHands lists all of them, but creates no more above %d", n, MaxProfiles)
	}
	at := finding{c: c, file: document.File{Path: c.store.connectionsPath()}}
	if info, err := os.Stat(at.file.Path); err == nil && exposed(info.Mode()) {
		at.add(Warning, "readable-by-others", "chmod 600 "+quote(at.file.Path), "other users of this machine can read the file")
	}
	if c.conns.err != nil {
		at.add(Error, "connections-unreadable", "ls -l "+quote(c.store.connectionsPath()), "%v", c.conns.err)
	}
}

func countVisible(files []document.File) int {
	n := 0
	for _, f := range files {
		if document.ValidName(f.Name()) {
			n++
		}
	}
	return n
}

// twins reports names that are one file, or none, on other systems.
func (c *checker) twins(files []document.File) {
	seen := map[string]string{}
	for _, f := range files {
		name := f.Name()
		at := finding{c: c, file: f, profile: name}
		if isDevice(name) {
			at.add(Note, "device-name", fmt.Sprintf("ohgw profiles rename %s %s", name, c.freeName("profile-"+name)), "the name is a device name on Windows")
		}
		lower := strings.ToLower(name)
		if other, found := seen[lower]; found {
			at.add(Note, "twin-name", fmt.Sprintf("ohgw profiles rename %s %s", quote(name), c.freeName(suggestName(name)+"-2")), "the name differs from %s only in case, which is the same file on other systems", other)
		}
		seen[lower] = name
	}
}

// leftovers reports the new content of files that a program had no time to put
// in their place. It looks twice: a program may be about to.
func (c *checker) leftovers() {
	var found []string
	for _, dir := range []string{document.ProfilesDir(c.store.cfg.Base), c.store.cfg.Base} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // What that means is reported elsewhere.
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), ".tmp") && e.Type().IsRegular() {
				found = append(found, filepath.Join(dir, e.Name()))
			}
		}
	}
	for _, path := range found {
		if _, err := os.Lstat(path); err == nil {
			at := finding{c: c, file: document.File{Path: path}}
			at.add(Note, "left-over", "rm "+quote(path), "a program was interrupted while writing this file; it may contain keys")
		}
	}
}

func (c *checker) settings(files []document.File) {
	snap := c.store.settings().Read()
	if snap.Missing() {
		return
	}
	c.file(snap)
	if snap.Doc == nil {
		return
	}
	finding{c: c, file: snap.File, newer: snap.Newer()}.removed(snap.Doc.Root())
	active, ok := snap.Doc.Root().Get(activeMember).Text()
	if !ok || active == "" {
		return
	}
	for _, f := range files {
		if f.Name() == active {
			return
		}
	}
	other := "NAME"
	if names, err := c.store.Names(); err == nil && len(names) > 0 {
		other = names[0]
	}
	finding{c: c, file: snap.File}.add(Warning, "active-missing", "ohgw profiles use "+other, "the active profile %.80q does not exist", active)
}

// agents reports agent profiles that use a profile that is not there.
func (c *checker) agents(files []document.File) {
	users, err := c.store.agentProfiles()
	if err != nil {
		at := finding{c: c, file: document.File{Path: document.AgentProfilesDir(c.store.cfg.Base)}}
		at.add(Error, "agent-profiles-unreadable", "ls -l "+quote(at.file.Path), "%v", err)
		return
	}
	names := map[string]bool{}
	for _, f := range files {
		names[f.Name()] = true
	}
	for _, user := range users {
		at := finding{c: c, file: user.file}
		if user.sealed != nil {
			at.newerFile(user.sealed)
		}
		if !names[user.ref] {
			at.add(Error, "agent-profile-dangling", "ohgw profiles add "+quote(user.ref),
				"agent profile %s uses the profile %.80q, which does not exist", user.file.Name(), user.ref)
		}
	}
}

// exposed reports whether others may read the file. Windows has no such bits.
func exposed(mode fs.FileMode) bool {
	return runtime.GOOS != "windows" && mode.Perm()&0o077 != 0
}

// edit is the command that opens a file in the user's editor.
func edit(path string) string { return "${EDITOR:-vi} " + quote(path) }

var plainWord = pattern.Of(`\A[A-Za-z0-9_@%+=:,./-]+\z`)

// quote spells a word for a shell. What a terminal does not show is spelled in a
// way that is shown.
func quote(word string) string {
	if plainWord().MatchString(word) {
		return word
	}
	if strings.ContainsFunc(word, unicode.IsControl) {
		quoted := strconv.Quote(word)
		return "$'" + strings.NewReplacer(`\"`, `"`, "'", `\'`).Replace(quoted[1:len(quoted)-1]) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var notInNames = pattern.Of(`[^A-Za-z0-9._-]+`)

// suggestName makes a valid name of an old one.
func suggestName(old string) string {
	name := strings.TrimLeft(notInNames().ReplaceAllString(old, "-"), "-._")
	if len(name) > 64 {
		name = name[:64]
	}
	if name = strings.TrimRight(name, "-"); name == "" {
		return "NAME"
	}
	return name
}
