package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// grantAge is from when on a grant is named: people forget what they have allowed.
const grantAge = 30 * 24 * time.Hour

// checkSandbox looks at what keeps agents from the rights of the user. That there is
// no sandbox where one is wanted is an error of the backend.
func checkSandbox(ctx context.Context, w *World) Result {
	b, err := w.Sandbox(ctx)
	if err != nil {
		return failed(err)
	}
	var r Result
	switch b.Level {
	case "full", "reduced":
		r = b.tried(fine("%s", b.Words))
	case "external":
		return fine("%s", b.Words)
	case "off":
		if b.Reason != "" {
			return Result{}.warn("there is no sandbox, so only the demo runs", b.Reason, b.Fix)
		}
		return Result{}.warn("the agents' commands have your rights", b.Words, "ohgw serve --sandbox on, or remove mode from the section [sandbox] of the config file")
	default:
		return skip("the agent-server runs the agents' commands")
	}
	if b.Level == "reduced" {
		r = r.warn("the sandbox is weaker than it could be", b.Reason, b.Fix)
	}
	if b.GrantsError != nil {
		r = r.warn("the grants cannot be read, and none is used", b.GrantsError.Error(), "repair the file, or remove all grants: ohgw sandbox revoke --all")
	}
	old := 0
	for _, at := range b.Grants {
		if w.Now().Sub(at) > grantAge {
			old++
		}
	}
	if old > 0 {
		r = r.warn(fmt.Sprintf("older than 30 days, and still allowed: %d", old), "", "ohgw sandbox grants; take back what is not needed: ohgw sandbox revoke")
	}
	return r
}

// tried adds how the attempts to break out went.
func (b Sandbox) tried(r Result) Result {
	if b.TestError != nil {
		return r.fail("the sandbox cannot be tested, so no agent runs", b.TestError.Error(), "ohgw sandbox test")
	}
	for _, name := range b.Escaped {
		r = r.fail("the sandbox does not hold: "+name, "", "do not use it, and report this as a security issue")
	}
	r.Text += "; tried and refused: " + strings.Join(b.Refused, ", ")
	return r
}
