package modelcheck

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
)

// Outcome is what came of asking a model.
type Outcome string

// The outcomes. Those that a check of the files knows too have its codes.
const (
	Answered      Outcome = "ok"
	NotLoaded     Outcome = "not-loaded"     // OpenHands would not, either
	NotAsked      Outcome = "not-asked"      // only an agent-server can
	Unusable      Outcome = "unusable"       // no request can be made of it
	KeyMissing    Outcome = "key-missing"    // there is no key anywhere
	keyUnreadable Outcome = "key-unreadable" // there may be one, which cannot be read now
	KeyRefused    Outcome = "key-refused"
	ModelUnknown  Outcome = "model-unknown"
	WrongAddress  Outcome = "wrong-address" // something answers that is not an LLM
	OutOfQuota    Outcome = "quota"
	TooOften      Outcome = "rate-limit"
	WindowSmall   Outcome = "context"
	Refused       Outcome = "refused" // the options of the profile, or the words
	Unreachable   Outcome = "unreachable"
	BrokenDown    Outcome = "provider-down"
	TimedOut      Outcome = "timeout"
	Loading       Outcome = "loading" // the server loads the model now
)

// Severity is "" for an outcome that is not a problem.
func (o Outcome) Severity() profile.Severity {
	switch o {
	case Answered:
		return ""
	case NotAsked, Loading:
		return profile.Warning
	}
	return profile.Error
}

// Code is the exit code when that is all that came of all calls.
func (o Outcome) Code() fault.Code {
	switch o {
	case KeyMissing, keyUnreadable, KeyRefused:
		return fault.Credential
	case Unreachable, BrokenDown, TimedOut, Loading:
		return fault.Unreachable
	}
	return fault.Partly
}

// errTimeout is a model that took longer than --timeout.
var errTimeout = errors.New("no answer within the limit")

func (r *Result) fail(o Outcome, text, repair string) {
	r.Outcome, r.Text, r.Repair = o, setup.Clean(text), repair
}

// explain says what came of a call that ended with err.
func (c *Check) explain(r *Result, key *profileKey, err error) {
	r.KeyFrom = key.origin
	failed, isLLM := errors.AsType[*llm.Error](err)
	unfit, isFault := errors.AsType[*fault.Error](err)
	again := "ohgw profiles check --live " + r.Profile
	switch {
	case err == nil:
		r.fail(Answered, fmt.Sprintf("answered in %.1f s, %s", r.Seconds, withKey(key.origin)), "")
	case errors.Is(err, errTimeout):
		r.fail(TimedOut, err.Error(), again+" --timeout "+(2*c.timeout).String())
	case isFault && c.needsServer(key):
		r.fail(NotAsked, unfit.Msg, unfit.Hint)
	case isFault:
		r.fail(Unusable, unfit.Msg, r.command(unfit.Hint))
	case !isLLM:
		r.fail(Refused, err.Error(), "ohgw profiles show "+r.Profile)
	case failed.Code == llm.CodeAuthentication && failed.Status == 0:
		r.noKey(key, failed)
	default:
		o := outcomeOf(failed)
		r.fail(o, said(failed), r.repairOf(o, again))
		if o == Loading {
			r.Text = "the server loads its model now, and answers nothing before"
		}
		if o == Unreachable || strings.Contains(said(failed), "the proxy ") || failed.Status == http.StatusBadRequest && strings.Contains(said(failed), "HTTPS server") {
			r.Repair = addressRepair(key.profile, said(failed))
		}
	}
}

// needsServer reports whether only an agent-server can ask the model.
func (c *Check) needsServer(key *profileKey) bool {
	cfg, err := c.config(key.profile, key)
	return err == nil && llm.NeedsServer(&cfg.Profile)
}

// withKey says which key was used.
func withKey(from secret.Origin) string {
	if from.Kind == secret.FromNowhere {
		return "without a key"
	}
	return "with the " + from.String()
}

// command is a hint with the command that changes the profile.
func (r *Result) command(hint string) string {
	change := "ohgw profiles add " + r.Profile + " --replace"
	if hint == "" {
		return change
	}
	return hint + ": " + change
}

// noKey explains a call that was not made because it had no key.
func (r *Result) noKey(key *profileKey, failed *llm.Error) {
	if len(key.skipped) == 0 {
		r.fail(KeyMissing, failed.Detail, "ohgw keys set "+r.Profile)
		return
	}
	for _, skipped := range key.skipped {
		if elsewhere, ok := errors.AsType[*secret.HostError](skipped.Err); ok {
			r.fail(KeyMissing, elsewhere.Reason(), elsewhere.Command())
			return
		}
		if variable, ok := errors.AsType[*secret.VariableError](skipped.Err); ok {
			r.fail(keyUnreadable, variable.Error(), "unset "+variable.Variable)
			return
		}
	}
	skipped := key.skipped[0]
	repair := "ohgw keys status"
	if skipped.Origin.Kind == secret.FromProfile || skipped.Origin.Kind == secret.FromConnection {
		repair = "ohgw keys set " + r.Profile
	}
	r.fail(keyUnreadable, fmt.Sprintf("the %s cannot be read: %v", skipped.Origin, skipped.Err), repair)
}

// repairOf returns the command that repairs an outcome, or what to do before it.
func (r *Result) repairOf(o Outcome, again string) string {
	switch o {
	case KeyRefused:
		return r.newKey()
	case ModelUnknown, WindowSmall:
		return "ohgw profiles add " + r.Profile + " --replace"
	case OutOfQuota:
		return "add credit to the account at the provider, or use another account's key: " + r.newKey()
	case TooOften, BrokenDown, Loading:
		return "wait a minute, then: " + again
	case Unreachable, WrongAddress:
		return "check the base URL: ohgw profiles show " + r.Profile
	}
	return "ohgw profiles show " + r.Profile
}

// newKey puts another key in the place of the one that was used.
func (r *Result) newKey() string {
	switch r.KeyFrom.Kind {
	case secret.FromProfileEntry:
		return "ohgw keys set " + r.Profile + " --replace"
	case secret.FromProviderEntry:
		return "ohgw keys set " + setup.ProviderMark + secret.ParseEntry(r.KeyFrom.Name).Provider + " --replace"
	}
	return "ohgw keys set " + r.Profile
}

// The words of providers for things that OpenHands has no class for, or
// another one.
var (
	modelWords = pattern.Of(`(?i)model_not_found|deploymentnotfound|(unknown|invalid|not a valid) model|model identifier is invalid|no models loaded|` +
		`\bmodel\b.{0,100}\b(not (be )?(found|exist|available|supported)|does not exist|not exist|no longer available)`)
	quotaWords = pattern.Of(`(?i)insufficient[_ ](quota|balance|credit|funds)|current quota|credit balance|(out of|more) credits|budget has been exceeded|usage limit|billing`)
	// cutWords is an answer after all: the model has spent its few tokens.
	cutWords = pattern.Of(`(?i)max_tokens or model output limit was reached`)
)

// said is what the provider said, without the advice that is behind it in the
// detail.
func said(e *llm.Error) string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return e.Detail
}

// outcomeOf classifies a failure by what a person can do about it.
func outcomeOf(e *llm.Error) Outcome {
	words := said(e)
	switch {
	case cutWords().MatchString(words):
		return Answered
	case e.Status == http.StatusPaymentRequired, e.Classification.Kind == "quota", e.Status != 0 && quotaWords().MatchString(words):
		return OutOfQuota
	case e.Code == llm.CodeWindowTooSmall, e.Code == llm.CodeContextWindow:
		return WindowSmall
	case e.Code == llm.CodeAuthentication:
		return KeyRefused
	case e.Code == llm.CodeRateLimit:
		return TooOften
	case e.Code == llm.CodeTimeout:
		return TimedOut
	case e.Status == http.StatusNotFound && strings.Contains(strings.ToLower(words), "model"), e.Status != 0 && modelWords().MatchString(words):
		return ModelUnknown
	case e.Status == http.StatusNotFound, e.Status == http.StatusMethodNotAllowed, e.Status/100 == 3, e.Code == llm.CodeNoResponse:
		return WrongAddress
	case e.Code == llm.CodeUnavailable && e.Status == 0:
		return Unreachable
	case e.Code == llm.CodeUnavailable:
		return brokenDown(e)
	}
	return Refused
}

// brokenDown is a server that is there and does not answer calls.
func brokenDown(e *llm.Error) Outcome {
	if llm.IsLoading(e) {
		return Loading
	}
	return BrokenDown
}

// Explain says what came of a question to the provider of a model that ended
// with err.
func Explain(model string, err error) Result {
	r := Result{Model: model}
	failed, ok := errors.AsType[*llm.Error](err)
	if !ok {
		r.fail(Refused, err.Error(), "")
		return r
	}
	o := outcomeOf(failed)
	if failed.Code == llm.CodeAuthentication && failed.Status == 0 {
		o = KeyMissing
	}
	r.fail(o, said(failed), "")
	return r
}
