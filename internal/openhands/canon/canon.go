// Package canon knows when an LLM entry of OpenHands is written in an old form,
// and what its present form is.
//
// Old releases stored the model "openhands/x" as "litellm_proxy/x" with the URL
// of OpenHands' own proxy. Present ones store "openhands/x" and no URL. Decide
// changes an entry by itself only where OpenHands does so when it loads the
// file; everything that needs a judgement is reported, and AsOpenHands and
// WithBaseURL are the two judgements a person can make.
//
// It works on values; reading and writing files is for others.
package canon

import (
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// The two prefixes of a model that has to do with OpenHands' proxy.
const (
	OpenHands    = "openhands/"
	LiteLLMProxy = "litellm_proxy/"
)

// Action is what is to be done with an entry, or why nothing can be. The names
// are part of the output of ohgw.
type Action string

// The actions. Those that start with "report-" leave the entry to a person;
// those that start with "error-" mean that OpenHands cannot load the file.
const (
	Migrate   Action = "migrate"
	Unchanged Action = "unchanged"

	ReportStranded  Action = "report-stranded"  // no URL, but the name is OpenHands'
	ReportAmbiguous Action = "report-ambiguous" // no URL, and the list never had the name
	ReportRetired   Action = "report-retired"   // OpenHands' URL, name no longer listed
	ReportUnlisted  Action = "report-unlisted"  // OpenHands' URL, name never listed
	ReportNearMiss  Action = "report-near-miss" // OpenHands' host, but spelled differently
	ReportLinked    Action = "report-linked"    // the URL comes from a provider connection
	ReportBadURL    Action = "report-bad-url"   // no URL at all, but OpenHands loads it
	ReportLegacyV0  Action = "report-legacy-v0" // settings of the first OpenHands
	ReportIrregular Action = "report-irregular" // would be migrated, but has duplicates or NaN
	ErrorUnreadable Action = "error-unreadable" // cannot be opened, or is not a file
	ErrorSymlink    Action = "error-symlink"    // a symbolic link: never written through
	ErrorHardlink   Action = "error-hardlink"   // has other names: never replaced
	ErrorName       Action = "error-invalid-name"
	ErrorCorrupt    Action = "error-corrupt"
	ErrorNotObject  Action = "error-not-object"
	ErrorSchemaType Action = "error-schema-type" // schema_version is not an integer
	ErrorNewer      Action = "error-newer"       // schema_version is not known yet
	ErrorModel      Action = "error-missing-model"
	ErrorBadURL     Action = "error-bad-url"
	ErrorSchema     Action = "error-schema" // base_url is neither text nor null
)

// IsReport reports whether a person has to decide.
func (a Action) IsReport() bool { return strings.HasPrefix(string(a), "report-") }

// IsError reports whether the entry cannot be loaded or must not be written.
func (a Action) IsError() bool { return strings.HasPrefix(string(a), "error-") }

// URLState is how a base_url is written.
type URLState byte

// The ways in which a base_url is written. The zero value is "not at all".
const (
	URLAbsent URLState = iota
	URLNull
	URLText
	URLOther // a number, a list …
)

// URL is a base_url as it is written.
type URL struct {
	State URLState
	Text  string
}

// URLOf reads a member.
func URLOf(v jsonedit.Value) URL {
	switch v.Kind() {
	case jsonedit.Missing:
		return URL{}
	case jsonedit.Null:
		return URL{State: URLNull}
	}
	if text, ok := v.Text(); ok || v.Kind() == jsonedit.String {
		// A string with half of a surrogate pair is text to OpenHands; no URL of
		// its proxy has one.
		return URL{State: URLText, Text: text}
	}
	return URL{State: URLOther}
}

// isBlank reports whether there is no URL in it, however that is written.
func (u URL) isBlank() bool {
	return u.State != URLOther && strip(u.Text) == ""
}

// Warning is something about an entry that is not a reason to change it.
type Warning string

// The warnings.
const (
	NullBaseURL  Warning = "null-base-url"  // null or "": releases 1.4.0 and 1.4.1 stumbled over it
	BlankBaseURL Warning = "blank-base-url" // blanks only: sent as it is, cannot work
	PlainHTTP    Warning = "plain-http"     // OpenHands' proxy without TLS: the key would be readable
)

// Entry is an LLM object, as far as it matters here.
type Entry struct {
	Model    string // not empty
	URL      URL
	Linked   bool // its provider_connection_id names a connection that is there
	Tolerant bool // OpenHands loads it even if the URL cannot be split
}

// Decision is what is to be done with an entry.
type Decision struct {
	Action   Action
	Model    string // the model afterwards
	DropURL  bool   // base_url is to be removed
	Standing Standing
	Warnings []Warning
}

// Decide follows the rules for a file without an opinion of the user.
func (l *List) Decide(e Entry) Decision {
	d := Decision{Action: Unchanged, Model: e.Model}
	name, isProxy := strings.CutPrefix(e.Model, LiteLLMProxy)
	isOpenHands := strings.HasPrefix(e.Model, OpenHands)
	if isProxy {
		d.Standing = l.Standing(name)
	}
	if e.URL.State == URLOther {
		d.Action = ErrorSchema
		return d
	}
	if !isProxy && !isOpenHands {
		return d
	}
	split, err := splitURL(e.URL.Text)
	switch {
	case err != nil && e.Tolerant:
		d.Action = ReportBadURL
	case err != nil:
		d.Action = ErrorBadURL
	case isOpenHands:
		d.openHands(e, split)
	default:
		d.liteLLMProxy(e, split, name)
	}
	return d
}

// openHands decides rows 1 to 4: the present form, perhaps with a URL too many.
func (d *Decision) openHands(e Entry, u splitted) {
	switch {
	case u.isAppProxy():
		d.Action, d.DropURL = Migrate, true
	case e.URL.State == URLText && e.URL.Text != "" && e.URL.isBlank():
		d.Warnings = append(d.Warnings, BlankBaseURL)
	case e.URL.State != URLAbsent && e.URL.isBlank():
		d.Warnings = append(d.Warnings, NullBaseURL)
	default:
		d.warnOfHTTP(u)
	}
}

// liteLLMProxy decides rows 5 to 11: an old form, or a proxy of the user's own.
func (d *Decision) liteLLMProxy(e Entry, u splitted, name string) {
	switch {
	case u.isAppProxy() && d.Standing == Current:
		d.Action, d.Model, d.DropURL = Migrate, OpenHands+name, true
	case u.isAppProxy() && d.Standing == Retired:
		d.Action = ReportRetired
	case u.isAppProxy():
		d.Action = ReportUnlisted
	case e.URL.isBlank() && e.Linked:
		d.Action = ReportLinked
	case e.URL.isBlank() && d.Standing == Unlisted:
		d.Action = ReportAmbiguous
	case e.URL.isBlank():
		d.Action = ReportStranded
	case u.isProxyHost():
		d.Action = ReportNearMiss
		d.warnOfHTTP(u)
	}
	if e.URL.Text != "" && e.URL.isBlank() {
		d.Warnings = append(d.Warnings, BlankBaseURL)
	}
}

func (d *Decision) warnOfHTTP(u splitted) {
	if u.isProxyHost() && u.scheme == "http" {
		d.Warnings = append(d.Warnings, PlainHTTP)
	}
}
