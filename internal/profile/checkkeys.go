package profile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/llmentry"
	"github.com/ohgw/ohgw/internal/secret"
)

// keys reports what is wrong with the keys that are written in the entry.
func (f finding) keys(e document.Entry) {
	for _, field := range secretFields() {
		what, set := field, f.setKey()+" --field "+field
		if field == llmentry.FieldAPIKey {
			what, set = "key", f.setKey()
		}
		if f.profile == "" {
			set = f.setKey()
		}
		f.key(e.Value.Get(field), what, set)
	}
}

func (f finding) key(member jsonedit.Value, what, set string) {
	text, _ := member.Text()
	switch keyState(member) {
	case KeyPlain:
		f.plaintext(what)
		if _, err := secret.Parse(text); err != nil {
			f.add(Error, "key-malformed", set, "%v", err)
		}
	case KeyEncrypted:
		if _, _, err := f.c.store.cfg.Ciphers.Decrypt(text); err != nil {
			f.undecryptable(err, "the "+what, set)
		}
	}
}

// plaintext reports a key in clear text, with the command that moves it into the
// key store.
func (f finding) plaintext(what string) {
	const move = "ohgw keys import --remove-from-profile "
	switch active, _ := f.c.store.Active(); {
	case f.profile != "":
		f.add(Warning, "key-plaintext", move+quote(f.profile), "the %s is not encrypted in the file", what)
	case f.file.Kind == document.CLI:
		f.add(Note, "key-plaintext", "chmod 600 "+quote(f.file.Path), "the %s is not encrypted in the file: the OpenHands CLI stores it so", what)
	case f.newer:
		f.add(Warning, "key-plaintext", "set OH_SECRET_KEY for OpenHands, and save the settings there", "the %s is not encrypted in the settings", what)
	case document.ValidName(active) && !f.c.store.file(active).Read().Missing():
		f.add(Warning, "key-plaintext", move+quote(active), "the %s of the active profile %s is not encrypted in the settings", what, active)
	default:
		name := f.c.freeName("default")
		f.add(Warning, "key-plaintext", fmt.Sprintf("ohgw profiles add %s --from-settings && ohgw profiles use %s", name, name),
			"the %s is not encrypted in the settings", what)
	}
}

// freeName is a name for a profile that is not taken: the wanted one, or with a
// number.
func (c *checker) freeName(wanted string) string {
	name := wanted
	for n := 2; !c.store.file(name).Read().Missing(); n++ {
		name = fmt.Sprintf("%s-%d", wanted, n)
	}
	return name
}

func (f finding) undecryptable(err error, what, repair string) {
	if errors.Is(err, fernet.ErrNoKey) {
		f.add(Note, "key-no-secret", "set OH_SECRET_KEY_PATH to the file with OpenHands' secret", "%s is encrypted, and OH_SECRET_KEY is not set here", what)
		return
	}
	f.add(Error, "key-undecryptable", repair, "%s cannot be decrypted: %v", what, err)
}

func (f finding) setKey() string {
	if f.profile == "" {
		return edit(f.file.Path)
	}
	return "ohgw keys set " + f.profile
}

// missing reports a profile that has no key anywhere.
func (f finding) missing(summary Summary, e document.Entry) {
	if f.c.keys == nil || summary.Auth == "subscription" || f.c.keys.Keyless(summary.Subject()) {
		return
	}
	subject := summary.Subject()
	if f.c.keys.Locate(subject, f.c.names).Kind != secret.FromNowhere {
		return
	}
	text := "there is no key for it"
	if keyState(e.Value.Get("api_key")) == KeyRedacted {
		text = "its key was replaced by a mask when the profile was saved"
	}
	if variables := f.c.keys.Variables(subject.Model); len(variables) > 0 {
		text += ", and " + strings.Join(variables, ", ") + " is not set here"
	}
	if withheld := f.c.keys.Withheld(subject, f.c.names); withheld.Kind != secret.FromNowhere {
		text = fmt.Sprintf("there is no key for it: the %s is only sent to that provider's hosts", withheld)
	}
	repair := "ohgw keys set " + f.profile
	if err := f.c.keys.Refused(subject, f.c.names); err != nil {
		text = err.Error()
		if elsewhere, ok := errors.AsType[*secret.HostError](err); ok {
			text, repair = elsewhere.Reason(), elsewhere.Command()
		}
	}
	if f.c.namesErr != nil {
		text += fmt.Sprintf(" (the stored keys cannot be listed: %v)", f.c.namesErr)
	}
	f.add(Error, "key-missing", repair, "%s", text)
}
