package extensions

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/pattern"
)

// FetchError is why a plugin is not found.
type FetchError struct {
	Code string // OpenHands' word, such as "ref_not_found"
	Msg  string
}

// Error is the message.
func (e *FetchError) Error() string { return e.Msg }

// The codes of answers other than 422.
const (
	unavailable = "source_unavailable"
	timeout     = "timeout"
)

// detail is a failed fetch as clients see it.
type detail struct {
	Code string `json:"code"`
	Msg  string `json:"message"`
}

// String is what stands in the answer with a status from 500 on, in OpenHands' form.
func (d detail) String() string {
	return "{'code': '" + d.Code + "', 'message': '" + strings.ReplaceAll(d.Msg, "'", `\'`) + "'}"
}

// explain returns the answer for a fetch that failed, without the values of secrets.
func explain(err error, s secrets) error {
	failed, ok := errors.AsType[*FetchError](err)
	if !ok {
		return err
	}
	status := http.StatusUnprocessableEntity
	switch failed.Code {
	case unavailable:
		status = http.StatusBadGateway
	case timeout:
		status = http.StatusGatewayTimeout
	}
	return &wire.Error{Status: status, Detail: detail{failed.Code, s.hide(failed.Msg)}}
}

// secrets are values for the variables of a source, by name.
type secrets map[string]string

// readSecrets reads the secrets that have a value.
func readSecrets(o *pydantic.Object) secrets {
	found := secrets{}
	in := o.Map("secrets")
	if in == nil {
		return found
	}
	for _, name := range in.Names() {
		var source struct {
			Value *string `json:"value"`
		}
		if json.Unmarshal(in.Raw(name), &source) == nil && source.Value != nil {
			found[name] = *source.Value
		}
	}
	return found
}

var variable = pattern.Of(`\$\{([a-zA-Z_][a-zA-Z0-9_]*)(?::-[^}]*)?\}`)

// fill puts the values into a source and its ref.
func (s secrets) fill(from control.Plugin) (control.Plugin, error) {
	var missing error
	fill := func(text string) string {
		return variable().ReplaceAllStringFunc(text, func(match string) string {
			name := variable().FindStringSubmatch(match)[1]
			value, ok := s[name]
			if !ok && missing == nil {
				missing = &wire.Error{Status: http.StatusUnprocessableEntity, Detail: detail{"missing_secret", "Missing secret: " + name}}
			}
			return value
		})
	}
	from.Source, from.Ref = fill(from.Source), fill(from.Ref)
	return from, missing
}

// hide takes the values out of a text.
func (s secrets) hide(text string) string {
	for _, value := range s {
		if value != "" {
			text = strings.ReplaceAll(text, value, "****")
		}
	}
	return text
}
