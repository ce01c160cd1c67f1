package canon

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ErrRefused means that a repair does not fit the entry. The message says why.
var ErrRefused = errors.New("refused")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// AsOpenHands decides after a person said that an entry means the model of OpenHands.
// Without the URL of its proxy that is taken only for names that OpenHands has or
// had, unless force says otherwise.
func (l *List) AsOpenHands(e Entry, force bool) (Decision, error) {
	d := l.Decide(e)
	name := strings.TrimPrefix(e.Model, LiteLLMProxy)
	switch d.Action {
	case Migrate:
		return d, nil
	case ReportRetired, ReportUnlisted, ReportStranded, ReportAmbiguous, ReportNearMiss:
	case ReportLinked:
		return d, refuse("its base URL comes from a provider connection; change the connection")
	case Unchanged:
		if strings.HasPrefix(e.Model, OpenHands) {
			return d, nil
		}
		if strings.HasPrefix(e.Model, LiteLLMProxy) {
			return d, refuse("its base URL is another server's")
		}
		return d, refuse("its model does not start with %s", LiteLLMProxy)
	default:
		return d, refuse("it cannot be loaded (%s)", d.Action)
	}
	if name == "" {
		return d, refuse("the model has no name")
	}
	if d.Standing == Unlisted && d.Action != ReportUnlisted && !force {
		return d, refuse("OpenHands never had a model %q", name)
	}
	d.Action, d.Model, d.DropURL = Migrate, OpenHands+name, true
	return d, nil
}

// CheckBaseURL reports whether a person may give an entry this URL: one that has
// none and means a proxy of their own.
func (l *List) CheckBaseURL(e Entry, base string) error {
	switch d := l.Decide(e); d.Action {
	case ReportStranded, ReportAmbiguous:
	case ReportLinked:
		return refuse("its base URL comes from a provider connection; change the connection")
	default:
		return refuse("the profile is not an entry of %s without a URL (%s)", LiteLLMProxy, d.Action)
	}
	if ours, err := IsAppProxy(base); err != nil || ours {
		if err != nil {
			return refuse("the base URL is not a valid URL")
		}
		return refuse("that is OpenHands' proxy: use --as-openhands instead of its URL")
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return refuse("the base URL must look like https://host/path")
	}
	return nil
}
