package profile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/secret"
)

// Severity is how bad a Problem is.
type Severity string

// The severities. Errors keep a profile from working; warnings are lost data,
// exposed keys and the like; notes are worth knowing.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Problem is something that is wrong with a file, or ignored in it, and what
// repairs it.
type Problem struct {
	Profile  string   `json:"profile,omitempty"`
	Path     string   `json:"path"`
	Entry    string   `json:"entry,omitempty"` // where in the file; "" for all of it
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Repair   string   `json:"repair"` // a command, or what to do first
}

// CheckOptions are what a Check looks at.
type CheckOptions struct {
	Names []string         // profiles; none means all, and what belongs to none
	Keys  *secret.Resolver // where keys may be; nil means that keys are not looked for
	CLI   string           // base directory of the OpenHands CLI; "" means not to look there
	Older []Location       // stores that may be those of an older release

	// Ignored lists the members of a profile that are set and have no effect in
	// the embedded agent. If it is nil, they are unknown.
	Ignored func(entry []byte) []string

	// Unfit finds what keeps any program from calling a model with a base URL,
	// which may be "". Only code, severity, text and repair of its problems
	// count; a repair that is empty is to add the profile again. Nil: nothing.
	Unfit func(model, baseURL string) []Problem
}

// CheckReport is what a Check found.
type CheckReport struct {
	Checked  int       `json:"checked"` // files
	Problems []Problem `json:"problems"`
}

// Worst is the worst severity in the report; "" when there is none.
func (r *CheckReport) Worst() Severity {
	for _, severity := range []Severity{Error, Warning, Note} {
		if slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Severity == severity }) {
			return severity
		}
	}
	return ""
}

// Check finds everything that is wrong or ignored. It changes nothing and takes
// no lock. The error is ErrName or ErrNotFound for a name in the options, or
// that the store cannot be read at all.
func (s *Store) Check(ctx context.Context, opts CheckOptions) (CheckReport, error) {
	files, err := s.choose(opts.Names)
	if err != nil {
		return CheckReport{}, err
	}
	c := checker{store: s, conns: s.readConnections(), keys: opts.Keys, ignored: opts.Ignored, unfit: opts.Unfit}
	if opts.Keys != nil {
		c.names, c.namesErr = opts.Keys.Names(ctx)
	}
	sources := make([]document.Source, len(files))
	for i, f := range files {
		sources[i] = document.Source{File: f, Look: true}
	}
	snaps, err := document.ReadAll(ctx, sources)
	if err != nil {
		return CheckReport{}, err
	}
	for _, snap := range snaps {
		if !snap.Missing() { // It may have been removed meanwhile.
			c.file(snap)
		}
	}
	if len(opts.Names) == 0 {
		c.everythingElse(files, opts)
	}
	slices.SortStableFunc(c.report.Problems, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	if c.report.Problems == nil {
		c.report.Problems = []Problem{}
	}
	return c.report, nil
}

// checker collects problems.
type checker struct {
	store    *Store
	conns    connections
	keys     *secret.Resolver
	names    []string // of stored keys
	namesErr error
	ignored  func(entry []byte) []string
	unfit    func(model, baseURL string) []Problem
	report   CheckReport
}

// finding is where the problems that are being found are.
type finding struct {
	c       *checker
	file    document.File
	profile string
	entry   string
	newer   bool // a newer OpenHands wrote the file: only that changes it
}

func (f finding) add(severity Severity, code, repair, text string, args ...any) {
	f.c.report.Problems = append(f.c.report.Problems, Problem{
		Profile: f.profile, Path: f.file.Path, Entry: f.entry,
		Code: code, Severity: severity, Text: fmt.Sprintf(text, args...), Repair: repair,
	})
}

func (c *checker) file(snap document.Snapshot) {
	c.report.Checked++
	at := finding{c: c, file: snap.File, newer: snap.Newer()}
	if snap.File.Kind == document.Profile {
		at.profile = snap.File.Name()
	}
	at.gates(snap)
	if snap.Doc == nil {
		return
	}
	at.text(snap)
	for _, e := range snap.Entries() {
		at.entry = e.JSONPath()
		at.checkEntry(snap, e)
	}
}

// gates reports why OpenHands does not load the file or why it must not be
// written.
func (f finding) gates(snap document.Snapshot) {
	if g := snap.Gate; g != nil {
		f.add(Error, string(g.Action), f.gateRepair(g), "%s", g.Error())
	}
	switch g := snap.Sealed; {
	case g == nil || snap.Doc == nil:
	case g.Action == canon.ErrorNewer:
		f.newerFile(g)
	default:
		path := quote(f.file.Path)
		f.add(Warning, string(g.Action), fmt.Sprintf("cp %s %s.tmp && mv %s.tmp %s", path, path, path, path),
			"%s: ohgw does not change the file, and OpenHands replaces the link when it writes", g.Error())
	}
}

func (f finding) newerFile(g *document.GateError) {
	f.add(Warning, "newer-openhands", "install a newer ohgw",
		"%s: ohgw reads what it understands of the file and does not change it", g.Error())
}

// inOpenHands is the repair of settings that ohgw does not change.
const inOpenHands = "change the settings in OpenHands"

func (f finding) gateRepair(g *document.GateError) string {
	switch g.Action {
	case canon.ErrorName:
		return fmt.Sprintf("ohgw profiles rename %s %s", quote(f.profile), suggestName(f.profile))
	case canon.ErrorNewer:
		return "install a newer ohgw"
	case canon.ReportLegacyV0:
		return "ohgw profiles add NAME --from-settings"
	case canon.ErrorCorrupt, canon.ErrorNotObject:
		return edit(f.file.Path)
	case canon.ErrorUnreadable:
		return "ls -l " + quote(f.file.Path)
	}
	if f.file.Kind == document.Profile {
		return fmt.Sprintf("ohgw profiles add %s --replace", f.profile)
	}
	return edit(f.file.Path)
}

// text reports what concerns the file as a whole.
func (f finding) text(snap document.Snapshot) {
	if exposed(snap.Mode) {
		f.add(Warning, "readable-by-others", "chmod 600 "+quote(f.file.Path), "other users of this machine can read the file")
	}
	if odd := snap.Doc.Irregular(); odd.Duplicate {
		f.add(Warning, "duplicate-member", edit(f.file.Path), "a member is duplicated; the last one counts, and ohgw does not change the file")
	} else if odd.NaN {
		f.add(Warning, "not-a-number", edit(f.file.Path), "a number is NaN or infinite; ohgw does not change the file")
	}
}

func (f finding) checkEntry(snap document.Snapshot, e document.Entry) {
	if e.Gate != "" {
		f.add(Error, string(e.Gate), f.remake(), "the entry %s", e.Gate.Text())
		return
	}
	if e.BillOnly {
		return
	}
	f.form(e)
	if !f.newer {
		f.fields(e)
	}
	f.fit(e)
	f.connection(e)
	f.keys(e)
	if f.profile != "" && document.ValidName(f.profile) { // No caller uses the key of another one.
		f.missing(f.c.store.summarize(snap, f.c.conns), e)
	}
}

// form reports old forms of the entry.
func (f finding) form(e document.Entry) {
	d := f.c.store.cfg.Models.Decide(e.Canon(f.c.conns.has))
	severity := Warning
	switch d.Action {
	case canon.ReportRetired, canon.ReportLinked:
		severity = Note
	case canon.Migrate, canon.ReportAmbiguous, canon.ReportUnlisted, canon.ReportNearMiss:
	default:
		severity = Error
	}
	repairs := append(RepairsOf(d.Action, f.target()), f.remake())
	if f.newer {
		repairs = []string{inOpenHands}
	}
	if d.Action != canon.Unchanged {
		f.add(severity, string(d.Action), repairs[0], "the entry %s", d.Action.Text())
	}
	for _, w := range d.Warnings {
		f.add(Warning, string(w), f.remake(), "%s", w.Text())
	}
}

// RepairsOf returns the commands that repair an entry in an old form, the likeliest
// first; none when there is no such command. target names the entry for migrate: a
// profile, TargetSettings or TargetCLI.
func RepairsOf(action canon.Action, target string) []string {
	asOpenHands := "ohgw profiles migrate --as-openhands " + quote(target)
	ownProxy := "ohgw profiles migrate --base-url URL " + quote(target)
	switch action {
	case canon.Migrate:
		return []string{"ohgw profiles migrate"}
	case canon.ReportStranded:
		return []string{asOpenHands, ownProxy}
	case canon.ReportAmbiguous:
		return []string{ownProxy, asOpenHands + " --force"}
	case canon.ReportRetired, canon.ReportUnlisted, canon.ReportNearMiss:
		return []string{asOpenHands}
	case canon.ReportLinked:
		return []string{"change the provider connection in OpenHands"}
	}
	return nil
}

// target is how migrate is told what to repair.
func (f finding) target() string {
	switch f.file.Kind {
	case document.Settings:
		return TargetSettings
	case document.CLI:
		return TargetCLI
	}
	return f.profile
}

// The names for migrate of what is not a profile. No profile can be called so.
const (
	TargetSettings = "@settings"
	TargetCLI      = "@cli"
)

func (f finding) remake() string {
	if f.profile == "" {
		return edit(f.file.Path)
	}
	return fmt.Sprintf("ohgw profiles add %s --replace", f.profile)
}

// minWindow is the least context window that OpenHands works with.
const minWindow = 16_384

func (f finding) fields(e document.Entry) {
	for _, name := range badFields(e.Value) {
		if name == "model" || name == "base_url" {
			continue // Reported already.
		}
		f.add(Error, "invalid-field", edit(f.file.Path), "OpenHands rejects the value of %s", name)
	}
	if n, ok := e.Value.Get("max_input_tokens").Int(); ok && n > 0 && n < minWindow {
		f.add(Warning, "small-window", edit(f.file.Path),
			"OpenHands rejects max_input_tokens below %d unless ALLOW_SHORT_CONTEXT_WINDOWS is set", minWindow)
	}
	if f.file.Kind == document.CLI {
		return // Its entries have members of the release of the CLI.
	}
	if unknown := unknownFields(e.Value); len(unknown) > 0 {
		f.add(Note, "unknown-field", edit(f.file.Path),
			"OpenHands ignores %s and drops it when it writes the file", strings.Join(unknown, ", "))
	}
	if f.profile == "" || f.c.ignored == nil {
		return
	}
	if ignored := f.c.ignored(e.Value.Raw()); len(ignored) > 0 {
		f.add(Note, "engine-ignores", "use an agent-server, or "+edit(f.file.Path),
			"the embedded agent ignores %s", strings.Join(ignored, ", "))
	}
}

// fit reports names and addresses that nothing can be called by.
func (f finding) fit(e document.Entry) {
	if f.profile == "" || f.c.unfit == nil || e.Connection() != "" {
		return
	}
	model, _ := e.Value.Get("model").Text()
	base, _ := e.Value.Get("base_url").Text()
	for _, p := range f.c.unfit(model, strings.TrimSpace(base)) {
		f.add(p.Severity, p.Code, cmp.Or(p.Repair, f.remake()), "%s", p.Text)
	}
}

func (f finding) connection(e document.Entry) {
	id := e.Connection()
	switch {
	case id == "":
	case f.c.conns.has(id):
		// OpenHands does not load the profile when this key cannot be read.
		if key := f.c.conns.byID[id].Get("api_key"); keyState(key) == KeyEncrypted {
			text, _ := key.Text()
			if _, _, err := f.c.store.cfg.Ciphers.Decrypt(text); err != nil {
				f.undecryptable(err, fmt.Sprintf("the key of the provider connection %q", id), "change the provider connection in OpenHands")
			}
		}
	case f.c.conns.err != nil:
		f.add(Error, "connection-unreadable", "ls -l "+quote(f.c.store.connectionsPath()), "%v", f.c.conns.err)
	default:
		f.add(Error, "connection-missing", f.remake(), "provider connection not found: %q", id)
	}
}
