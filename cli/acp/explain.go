package acp

import (
	"errors"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/setup"
)

// explain writes an error as an editor shows it: what happened, why, and the command
// to type.
func explain(err error) string {
	text, hint := err.Error(), ""
	if e, ok := errors.AsType[*fault.Error](err); ok {
		text, hint = e.Error(), e.Hint
	}
	if e, ok := errors.AsType[*gateway.Error](err); ok {
		text, hint = e.Message, hintFor(e)
		if e.Err != nil {
			text = strings.TrimSuffix(text, ".") + ": " + netcause.Of(e.Err).Error()
		}
	}
	text = strings.TrimSuffix(setup.Clean(text), ".")
	if hint != "" {
		text += " (" + setup.Clean(hint) + ")"
	}
	return text
}

// hintFor returns what to do about an error of the gateway.
func hintFor(e *gateway.Error) string {
	switch e.Code {
	case "model_not_found":
		return "ohgw models lists the models; ohgw profiles use NAME makes one the default"
	case "llm_error":
		return "run ohgw profiles check and ohgw keys status"
	}
	switch e.Kind {
	case gateway.Unreachable:
		return "start the daemon with ohgw serve; ohgw status shows what runs"
	case gateway.Locked:
		return "set OHGW_API_KEY to a token; ohgw tokens create NAME makes one"
	case gateway.Stranger:
		return "set the correct address with --url or OHGW_URL"
	case gateway.Busy:
		return "try again later"
	case gateway.Failed, gateway.Refused:
	}
	return ""
}
