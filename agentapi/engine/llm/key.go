package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/converse"
	"github.com/ohgw/ohgw/internal/redact"
)

// credentials are what one call identifies itself with.
type credentials struct {
	key     string
	aws     converse.Credentials
	missing *NoKeyError // why key is empty; nil if that is not known
}

// NoKeyError is an answer of [Config.Key]: there is no secret, and why.
type NoKeyError struct {
	Why    string // it is empty where there is nothing to say: none is stored
	Repair string // a sentence for the user
}

func (e *NoKeyError) Error() string { return "there is no key: " + e.Why }

// tokenPrefix begins every Fernet token: a key that is still encrypted.
const tokenPrefix = "gAAAAA"

// credentials finds the keys of a call.
func (m *model) credentials(ctx context.Context) (credentials, error) {
	var c credentials
	fields := map[string]*string{FieldAPIKey: &c.key}
	if m.route.style == converseStyle {
		fields[FieldAWSAccessKeyID] = &c.aws.AccessKeyID
		fields[FieldAWSSecretAccessKey] = &c.aws.SecretAccessKey
		fields[FieldAWSSessionToken] = &c.aws.SessionToken
	}
	for field, to := range fields {
		v, err := m.cfg.Key(ctx, field)
		if missing, none := errors.AsType[*NoKeyError](err); none {
			if field == FieldAPIKey {
				c.missing = missing
			}
			continue
		}
		if err != nil {
			return credentials{}, m.keyError(ctx, err)
		}
		if strings.HasPrefix(v, tokenPrefix) {
			return credentials{}, newError(CodeAuthentication, fmt.Sprintf(
				"the profile's %s is encrypted, and the secret to decrypt it is not known. Set OH_SECRET_KEY, or store the key again", field), nil)
		}
		*to = strings.TrimSpace(v)
	}
	c.aws.Region = m.route.region
	return c, m.checkKeys(c)
}

func (m *model) keyError(ctx context.Context, err error) error {
	if gone := ctx.Err(); gone != nil {
		return gone
	}
	return newError(CodeAuthentication, "read the profile's key: "+redact.Text(err.Error()), nil)
}

// checkKeys refuses a call that the provider would: it says what to do instead
// of 401.
func (m *model) checkKeys(c credentials) error {
	p := m.route.provider
	switch {
	case c.key != "" || p.keyless || m.route.custom && p.style != converseStyle:
		return nil
	case p.style == converseStyle && c.aws.AccessKeyID != "" && c.aws.SecretAccessKey != "":
		return nil
	case p.style == converseStyle:
		return newError(CodeAuthentication,
			"there are no AWS credentials for this profile. Set aws_access_key_id and aws_secret_access_key in it, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK", nil)
	}
	if m.hasAuthHeader() {
		return nil
	}
	if c.missing != nil && c.missing.Why != "" {
		return newError(CodeAuthentication, fmt.Sprintf("there is no key for models of %q: %s. %s", p.prefix, c.missing.Why, c.missing.Repair), nil)
	}
	if m.cfg.Name == "" {
		return newError(CodeAuthentication, fmt.Sprintf("there is no key for models of %q. Give llm.api_key, or set %s.%s", p.prefix, p.keyVar, where), nil)
	}
	return newError(CodeAuthentication, fmt.Sprintf("there is no key for models of %q. Store one with ohgw keys set %s, or set %s", p.prefix, m.cfg.Name, p.keyVar), nil)
}

// failure returns the error of a call that was made. A provider calls a key wrong
// that it did not get: the user should not replace a good one for that.
func (m *model) failure(err error, c credentials) *Error {
	safe := m.cleaner(c)
	failed := errorOf(err, m.cfg.Name, safe)
	if failed.Code != CodeAuthentication || c.key != "" || c.aws.AccessKeyID != "" || m.hasAuthHeader() {
		return failed
	}
	why, repair := "none is stored for the profile "+m.cfg.Name, "Store one with ohgw keys set "+m.cfg.Name
	if m.cfg.Name == "" {
		why, repair = "the llm has none, and no profile has its model and base_url", "Give llm.api_key."+where
	}
	if c.missing != nil && c.missing.Why != "" {
		why, repair = c.missing.Why, c.missing.Repair
	}
	failed.Detail = "no key was sent: " + why + ". " + strings.TrimRight(repair, ".") + ". The provider said: " + safe(err.Error())
	return failed
}

// hasAuthHeader reports whether the profile brings its own header for a key.
func (m *model) hasAuthHeader() bool {
	for name := range m.cfg.Profile.ExtraHeaders {
		switch strings.ToLower(name) {
		case "authorization", "api-key", "x-api-key", "x-goog-api-key":
			return true
		}
	}
	return false
}

// cleaner takes the call's keys out of a text, and what looks like another.
func (m *model) cleaner(c credentials) func(string) string {
	const shortest = 6 // shorter ones would be found everywhere
	values := append(m.cfg.Profile.Secrets(), c.key, c.aws.AccessKeyID, c.aws.SecretAccessKey, c.aws.SessionToken)
	var pairs []string
	for _, v := range values {
		if len(v) >= shortest {
			pairs = append(pairs, v, redact.Mark)
		}
	}
	replace := strings.NewReplacer(pairs...)
	return func(s string) string { return redact.Text(replace.Replace(s)) }
}
