package llm

import (
	"errors"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/internal/netcause"
)

// where is what the advice about an LLM without a profile ends with.
const where = " The llm came with a request of the client; POST /api/conversations/ID/switch_llm replaces it."

// ownAdvice returns the next step where the LLM has no profile: it came with a request
// of OpenHands' own API, and no command of ohgw changes it. otherwise is what would be
// said of a profile, and stays where it names no command for one.
func ownAdvice(failed *Error, err error, otherwise string) string {
	if !strings.Contains(otherwise, "ohgw profiles ") && !strings.Contains(otherwise, "ohgw keys ") {
		return otherwise
	}
	gone, isGone := errors.AsType[*absentError](err)
	page := isPage(err)
	switch {
	case isGone && !netcause.IsNoHost(gone.err) && isLoopback(gone.host):
		return "Start the model server at this address, or correct llm.base_url." + where
	case isGone:
		return "Check the network and llm.base_url." + where
	case failed.Classification.Kind == "quota":
		return "Add credit to the account at the provider, or use another llm.api_key." + where
	case page, failed.Status == http.StatusMethodNotAllowed, failed.Status/100 == 3:
		return "Check llm.base_url and the proxy (HTTPS_PROXY, NO_PROXY)." + where
	}
	return ownAdviceOf(failed.Code) + where
}

// ownAdviceOf returns the same for a code alone.
func ownAdviceOf(code string) string {
	switch code {
	case CodeAuthentication:
		return "Check llm.api_key, or if it was empty the key of the profile with this model, and that it belongs to this provider."
	case CodeRateLimit:
		return "Wait and send the message again, raise the provider's limit, or use another llm.model."
	case CodeTimeout, CodeUnavailable, CodeNoResponse:
		return "Try again, or check llm.base_url."
	case CodeNotFound:
		return "Check llm.model and llm.base_url."
	case CodeBadRequest:
		return "Check llm.model and the other members of llm."
	}
	return "Check llm."
}
