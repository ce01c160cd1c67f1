package cli

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

// outcome is what came of asking a model.
type outcome string

// The outcomes. Those that a check of the files knows too have its codes.
const (
	answered      outcome = "ok"
	notLoaded     outcome = "not-loaded"     // OpenHands would not, either
	notAsked      outcome = "not-asked"      // only an agent-server can
	keyMissing    outcome = "key-missing"    // there is no key anywhere
	keyUnreadable outcome = "key-unreadable" // there may be one, which cannot be read now
	keyRefused    outcome = "key-refused"
	modelUnknown  outcome = "model-unknown"
	wrongAddress  outcome = "wrong-address" // something answers that is no LLM
	outOfQuota    outcome = "quota"
	tooOften      outcome = "rate-limit"
	windowSmall   outcome = "context"
	refused       outcome = "refused" // the options of the profile, or the words
	unreachable   outcome = "unreachable"
	brokenDown    outcome = "provider-down"
	timedOut      outcome = "timeout"
)

// severity is "" for an outcome that is no problem.
func (o outcome) severity() profile.Severity {
	switch o {
	case answered:
		return ""
	case notAsked:
		return profile.Warning
	}
	return profile.Error
}

// code is the exit code when that is all that came of all calls.
func (o outcome) code() fault.Code {
	switch o {
	case keyMissing, keyUnreadable, keyRefused:
		return fault.Credential
	case unreachable, brokenDown, timedOut:
		return fault.Unreachable
	}
	return fault.Partly
}

// errLiveTimeout is a model that took longer than --timeout.
var errLiveTimeout = errors.New("no answer within the limit")

func (r *liveResult) fail(o outcome, text, repair string) {
	r.Outcome, r.Text, r.Repair = o, clean(text), repair
}

// explain says what came of a call that ended with err.
func (c *liveCheck) explain(r *liveResult, key *liveKey, err error) {
	r.KeyFrom = key.origin
	failed, isLLM := errors.AsType[*llm.Error](err)
	unfit, isFault := errors.AsType[*fault.Error](err)
	again := "ohgw profiles check --live " + r.Profile
	switch {
	case err == nil:
		r.fail(answered, fmt.Sprintf("answered after %.1f s, with the %s", r.Seconds, key.origin), "")
	case errors.Is(err, errLiveTimeout):
		r.fail(timedOut, err.Error(), again+" --timeout "+(2*c.timeout).String())
	case isFault:
		r.fail(notAsked, "it cannot be asked from here: "+unfit.Msg, unfit.Hint)
	case !isLLM:
		r.fail(refused, err.Error(), "ohgw profiles show "+r.Profile)
	case failed.Code == llm.CodeAuthentication && failed.Status == 0:
		r.noKey(key, failed)
	default:
		o := outcomeOf(failed)
		r.fail(o, said(failed), r.repairOf(o, again))
	}
}

// noKey explains a call that was not made because it had no key.
func (r *liveResult) noKey(key *liveKey, failed *llm.Error) {
	if len(key.skipped) == 0 {
		r.fail(keyMissing, failed.Detail, "ohgw keys set "+r.Profile)
		return
	}
	skipped := key.skipped[0]
	repair := "ohgw keys status"
	if skipped.Origin.Kind == secret.FromProfile || skipped.Origin.Kind == secret.FromConnection {
		repair = "ohgw keys set " + r.Profile
	}
	r.fail(keyUnreadable, fmt.Sprintf("the %s cannot be read: %v", skipped.Origin, skipped.Err), repair)
}

// repairOf is the command that repairs an outcome, or what to do before it.
func (r *liveResult) repairOf(o outcome, again string) string {
	switch o {
	case keyRefused:
		return r.newKey()
	case modelUnknown, windowSmall:
		return "ohgw profiles add " + r.Profile + " --replace"
	case outOfQuota:
		return "add to the account at the provider, or take the key of another one: " + r.newKey()
	case tooOften, brokenDown:
		return "wait a minute, then: " + again
	case unreachable, wrongAddress:
		return "look at the base URL: ohgw profiles show " + r.Profile
	}
	return "ohgw profiles show " + r.Profile
}

// newKey puts another key in the place of the one that was used.
func (r *liveResult) newKey() string {
	switch r.KeyFrom.Kind {
	case secret.FromProfileEntry:
		return "ohgw keys set " + r.Profile + " --replace"
	case secret.FromProviderEntry:
		return "ohgw keys set " + providerMark + secret.ParseEntry(r.KeyFrom.Name).Provider + " --replace"
	}
	return "ohgw keys set " + r.Profile
}

// The words of providers for things that OpenHands has no class for, or
// another one.
var (
	modelWords = regexp.MustCompile(`(?i)model_not_found|deploymentnotfound|(unknown|invalid|not a valid) model|model identifier is invalid|no models loaded|` +
		`\bmodel\b.{0,100}\b(not (be )?(found|exist|available|supported)|does not exist|not exist|no longer available)`)
	quotaWords = regexp.MustCompile(`(?i)insufficient[_ ](quota|balance|credit|funds)|current quota|credit balance|(out of|more) credits|budget has been exceeded|usage limit|billing`)
	// cutWords is an answer after all: the model has spent its few tokens.
	cutWords = regexp.MustCompile(`(?i)max_tokens or model output limit was reached`)
)

// said is what the provider said, without the advice that is behind it in the
// detail.
func said(e *llm.Error) string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return e.Detail
}

// outcomeOf is the class of a failure that a person can act on.
func outcomeOf(e *llm.Error) outcome {
	words := said(e)
	switch {
	case cutWords.MatchString(words):
		return answered
	case e.Status == http.StatusPaymentRequired, e.Classification.Kind == "quota", e.Status != 0 && quotaWords.MatchString(words):
		return outOfQuota
	case e.Code == llm.CodeWindowTooSmall, e.Code == llm.CodeContextWindow:
		return windowSmall
	case e.Code == llm.CodeAuthentication:
		return keyRefused
	case e.Code == llm.CodeRateLimit:
		return tooOften
	case e.Code == llm.CodeTimeout:
		return timedOut
	case e.Status == http.StatusNotFound && strings.Contains(strings.ToLower(words), "model"), e.Status != 0 && modelWords.MatchString(words):
		return modelUnknown
	case e.Status == http.StatusNotFound, e.Status == http.StatusMethodNotAllowed, e.Status/100 == 3, e.Code == llm.CodeNoResponse:
		return wrongAddress
	case e.Code == llm.CodeUnavailable && e.Status == 0:
		return unreachable
	case e.Code == llm.CodeUnavailable:
		return brokenDown
	}
	return refused
}
